"""The score card: how unwinders fare by architecture, phase and trap, beside those that are known.

*Points* are the share of exact sites minus the share of lies, in percent: who says nothing has none, and a lie takes
away what a right answer gives. Who has more points ranks higher; with equal points, who lies less.

Compared are sites that all compared ones were asked at. A unit whose file is not the one that the known were judged on,
as other compilers make, is left out of the card; a known unwinder that was not asked about all units of an architecture
is left out of the comparisons there.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from testbed.arch import ARCHES, Arch
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Unit, run_unit, units
from testbed.campaign.findings import version_of
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.runs.run import Run, judge_all
from testbed.truth.phases import PHASES, Phase, phases
from testbed.verdicts.trace import counts_of
from testbed.verdicts.verdict import NOTHING_COUNTED, Counts, SiteKind
from testbed.words.errors import TestbedError, ToolchainMissing, UsageError
from testbed.words.outcome import Outcome

# Verdicts counted by phase: what a score is made of. One unit, judged for some unwinders.
#
# An unwinder that does not exist for a unit's file (it needs a section that is not there) has nothing to say there,
# which is an honest stop at every site: so all who exist for an architecture are compared at the same sites.

ByPhase = tuple[int, ...]
"""A number for each of PHASES."""


@dataclass(frozen=True, slots=True)
class Miss:
    """The first site of a unit at which an unwinder is not exact: the step, where it is, the outcome."""

    step: int
    where: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """A unit judged: ``sites`` by phase, the counts of each unwinder, its first lie and its first stop.

    Or why there is nothing: ``skipped`` (a tool is missing) or ``failed``.
    """

    unit: Unit
    sites: ByPhase = (0,) * len(PHASES)
    counts: Mapping[str, Counts] = field(default_factory=dict)
    lies: Mapping[str, Miss] = field(default_factory=dict)
    stops: Mapping[str, Miss] = field(default_factory=dict)
    skipped: str = ""
    failed: str = ""


def score_unit(
    unit: Unit, programs: Mapping[str, Program], unwinders: Sequence[Unwinder], *, natively: bool | None = None
) -> ScoredUnit:
    """Judge a unit, with every failure as a value: this runs in worker processes."""
    try:
        run = run_unit(unit, programs)
        return _scored(unit, run, unwinders, natively)
    except ToolchainMissing as missing:
        return ScoredUnit(unit, skipped=str(missing))
    except TestbedError as error:
        return ScoredUnit(unit, failed=str(error))
    except Exception:  # a bug of an unwinder: it is this unit's, the score goes on
        return ScoredUnit(unit, failed=traceback.format_exc())


def _scored(unit: Unit, run: Run, unwinders: Sequence[Unwinder], natively: bool | None) -> ScoredUnit:
    phase, transition = phases(run.watched), run.watched.transition
    sites = tuple(np.bincount(phase[~transition], minlength=len(PHASES)).tolist())
    counts: dict[str, Counts] = {}
    lies: dict[str, Miss] = {}
    stops: dict[str, Miss] = {}
    for unwinder in unwinders:
        name = unwinder.name
        if not unwinder.applies_to(run.built.image):
            counts[name] = all_the_same(Outcome.REFUSED, sites)
            continue
        verdicts = judge_all(run, unwinder, natively=natively)
        counts[name] = found = counts_of(verdicts, phase, wholes=True)
        for misses, step in (
            (lies, found.first_step(lambda kind: kind.lying)),
            (stops, found.first_step(lambda kind: kind.stopped)),
        ):
            if step >= 0:
                misses[name] = Miss(step, run.where(int(run.trace.pc[step])), verdicts[step].outcome)
    return ScoredUnit(unit, sites, counts, lies, stops)


def all_the_same(outcome: Outcome, sites: ByPhase) -> Counts:
    """So many sites of each phase, all of one outcome."""
    return Counts(
        {SiteKind(outcome, phase=phase): number for phase, number in zip(PHASES, sites, strict=True) if number}
    )


# The sample of units that a score takes unless it is asked for everything: each trap, and what compilers make.
#
# Everybody who is known was asked about the sample as it was then; a card takes that one, from the file of known
# scores.

# Compiled programs whose frames differ in kind: a structure in memory, calls at a function's end, tail calls.
COMPILED = ("struct_return", "noreturn_last_call", "tail_chain")
COMPILED_BY = ("clang-O2", "clang-O0-fp", "clang-thumb-O2", "gcc-O2")


def sample_units(programs: Mapping[str, Program], arches: Iterable[Arch]) -> Sequence[Unit]:
    """For each architecture and trap the first unit of the first program that shows it; and some compiled programs."""
    chosen: dict[Unit, None] = {}
    for arch in arches:
        covered: set[int] = set()
        for name, program in programs.items():
            there = units([program], [arch], RECIPES.values())
            shown = traps_of(program)
            if there and not shown <= covered:
                covered |= shown
                chosen[there[0]] = None
            if name in COMPILED:
                chosen |= {unit: None for unit in there if unit.recipe in COMPILED_BY}
    return tuple(chosen)


def traps_of(program: Program) -> set[int]:
    """The numbers of the traps that a program shows."""
    return {trap.number for source in program.sources.values() for trap in source.header.traps}


@dataclass(frozen=True, slots=True)
class Placed:
    """One line of a comparison: who, what they scored, and the place among so many (1: the best)."""

    name: str
    share: Counts
    place: int
    of: int


@dataclass(frozen=True, slots=True)
class TrapMiss:
    """The first unit that shows a trap and at which an unwinder lies, or at least stops."""

    unit: Unit
    miss: Miss


@dataclass(frozen=True, eq=False)
class ScoreCard:
    """What was judged now, and what is known. ``traps`` are the numbers of those that each program shows.

    ``names`` are the unwinders that were asked for; the others are ``known``.
    """

    results: tuple[ScoredUnit, ...]
    names: tuple[str, ...]
    known: KnownScores
    traps: Mapping[str, frozenset[int]]

    @cached_property
    def judged(self) -> tuple[ScoredUnit, ...]:
        """The units that could be built and run, and are as they were when the known were judged."""
        return tuple(result for result in self._done if self.known.sites.get(result.unit) == result.sites)

    @cached_property
    def changed(self) -> tuple[Unit, ...]:
        """The units that are left out because they are not as they were."""
        return tuple(result.unit for result in self._done if self.known.sites.get(result.unit) != result.sites)

    @property
    def _done(self) -> list[ScoredUnit]:
        return [result for result in self.results if not result.skipped and not result.failed]

    @cached_property
    def arches(self) -> tuple[str, ...]:
        there = {result.unit.arch for result in self.judged}
        return tuple(name for name in ARCHES if name in there)

    @cache  # noqa: B019 - a card lives as long as the command that shows it
    def everybody(self, arch: str) -> tuple[str, ...]:
        """Who is compared on an architecture: those asked for, then the known that were asked at all its sites.

        A known one that has said nothing there is left out: it reads another format than there is.
        """
        units = self._units(arch)
        asked = (name for name in self.names if any(name in result.counts for result in units))
        others = (name for name in self.known.known if name not in self.names)
        return (*asked, *(name for name in others if self._has_spoken(name, units)))

    def _has_spoken(self, name: str, units: Sequence[ScoredUnit]) -> bool:
        """True where a known one was asked about all units, and did not stop everywhere."""
        found = [self.known.of(name, result.unit, result.sites) for result in units]
        return None not in found and any(each is not None and each.stopped != each.judged for each in found)

    @cache  # noqa: B019
    def counts(self, name: str, arch: str, trap: int | None = None, phase: Phase | None = None) -> Counts:
        """What somebody scores on an architecture: on the programs of a trap, or on all; in one phase, or in all."""
        if phase is not None:
            return self.counts(name, arch, trap).within(phase)
        total = NOTHING_COUNTED
        for result in self._units(arch):
            if trap is None or trap in self.traps[result.unit.program]:
                found = result.counts.get(name) or self.known.of(name, result.unit, result.sites)
                assert found is not None, f"{name} was not asked about {result.unit}"  # see everybody
                total += found
        return total

    def ranking(self, arch: str, *, phase: Phase | None = None, trap: int | None = None) -> tuple[Placed, ...]:
        """Everybody on an architecture, best first; in one phase, on the programs of one trap, or on all."""
        found = {name: self.counts(name, arch, trap, phase) for name in self.everybody(arch)}
        if not any(share.sites for share in found.values()):
            return ()
        order = sorted(found, key=lambda name: (-found[name].points, found[name].lying))
        equal = [(found[name].points, found[name].lying) for name in order]
        return tuple(Placed(name, found[name], equal.index(equal[i]) + 1, len(order)) for i, name in enumerate(order))

    def place(self, name: str, arch: str, *, phase: Phase | None = None, trap: int | None = None) -> Placed | None:
        """Where somebody stands in a ranking; None where there are no sites."""
        return next((each for each in self.ranking(arch, phase=phase, trap=trap) if each.name == name), None)

    def shown_traps(self) -> Sequence[int]:
        """The traps that some judged unit shows."""
        return sorted(set().union(*(self.traps[result.unit.program] for result in self.judged)))

    def first_miss(self, name: str, trap: int) -> TrapMiss | None:
        """The first program of a trap on which somebody lies, else stops; None where it is exact throughout."""
        shown = [result for result in self.judged if trap in self.traps[result.unit.program]]
        for kind in ("lies", "stops"):
            for result in shown:
                misses: Mapping[str, Miss] = getattr(result, kind)
                if name in misses:
                    return TrapMiss(result.unit, misses[name])
        return None

    def _units(self, arch: str) -> list[ScoredUnit]:
        return [result for result in self.judged if result.unit.arch == arch]

    def overall(self, name: str) -> Counts:
        """All sites of all architectures at which somebody was asked."""
        total = NOTHING_COUNTED
        for arch in self.arches:
            if name in self.everybody(arch):
                total += self.counts(name, arch)
        return total


# What known unwinders and tools score, kept in a file of the package: nobody has to judge them again to be compared.
#
# ::
#
#     {"format": "testbed known scores", "version": 1, "phases": ["entry", ...],
#      "sample": ["leaf_call x86_64 keystone", ...],
#      "known": {"fp_chain": {"summary": "...", "tool": "", "arches": ["x86_64", ...]}, ...},
#      "units": {"leaf_call x86_64 keystone": {"sites": "3 2 14 4 2", "fp_chain": "0 0 14 0 2/0 0 0 1 0", "gdb": "="}}}
#
# Numbers stand by phase: exact sites, then behind the stroke honest stops, then crashes and hangs among these if there
# are any. ``=`` is exact everywhere, ``-`` stopped everywhere, as an unwinder that needs a section that the file lacks.
# Which stops and which lies they were is not kept: all are read as one kind of each (`KEPT_AS`).

FILE = Path(__file__).with_name("known_scores.json")
FORMAT, VERSION = "testbed known scores", 1
KEPT_AS = (Outcome.EXACT, Outcome.STOPPED, Outcome.CRASHED, Outcome.WRONG)


@dataclass(frozen=True, slots=True)
class KnownUnwinder:
    """An unwinder or tool that was judged before; ``tool`` is the version of the tool, "" for an unwinder of ours."""

    name: str
    summary: str
    tool: str
    arches: tuple[str, ...]


@dataclass(frozen=True)
class KnownScores:
    """The counts of known unwinders by unit; ``sites`` are those that the unit had when they were judged.

    ``sample`` are the units that everybody was asked about.
    """

    known: Mapping[str, KnownUnwinder]
    sites: Mapping[Unit, ByPhase]
    counts: Mapping[Unit, Mapping[str, Counts]]
    sample: tuple[Unit, ...] = ()

    def of(self, name: str, unit: Unit, sites: ByPhase) -> Counts | None:
        """What a known unwinder scores on a unit, or None: it was not judged on that one, or the unit has changed."""
        return self.counts.get(unit, {}).get(name) if self.sites.get(unit) == sites else None


@cache
def known_scores(path: Path = FILE) -> KnownScores:
    """What the file says. Raises UsageError for another version of it, and for one that is damaged."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if (data["format"], data["version"]) != (FORMAT, VERSION):
            raise UsageError(f"{path} is no {FORMAT} of version {VERSION}; install the package again")
        return _known(data)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}; install the package again") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path} is damaged ({type(error).__name__}: {error}); install the package again") from error


def _known(data: Mapping[str, Any]) -> KnownScores:
    known = {
        name: KnownUnwinder(name, said["summary"], said["tool"], tuple(said["arches"]))
        for name, said in data["known"].items()
    }
    sites, counts = {}, {}
    for key, listed in data["units"].items():
        unit = Unit(*key.split())
        sites[unit] = _numbers(listed["sites"])
        counts[unit] = {name: _read(text, sites[unit]) for name, text in listed.items() if name != "sites"}
    return KnownScores(known, sites, counts, tuple(Unit(*key.split()) for key in data["sample"]))


def write_known(
    scored: Iterable[ScoredUnit],
    unwinders: Iterable[Unwinder],
    path: Path,
    before: KnownScores | None,
    sample: Iterable[Unit] | None = None,
) -> None:
    """Write what was judged now, and of ``before`` what was not: other unwinders on the same units, and other units.

    ``sample`` None: that of ``before``.
    """
    known = dict(before.known) if before else {}
    sites = dict(before.sites) if before else {}
    counts = {unit: dict(each) for unit, each in before.counts.items()} if before else {}
    for unwinder in unwinders:
        arches = tuple(name for name in ARCHES if unwinder.arches is None or name in unwinder.arches)
        tool = version_of(unwinder.tool()) if unwinder.tool else ""
        known[unwinder.name] = KnownUnwinder(unwinder.name, unwinder.summary, tool, arches)
    for result in scored:
        if result.skipped or result.failed:
            continue
        if sites.get(result.unit) != result.sites:
            counts[result.unit] = {}
        sites[result.unit] = result.sites
        there = {n: c for n, c in result.counts.items() if result.unit.arch in known[n].arches}
        counts[result.unit] = counts.get(result.unit, {}) | there
    units: dict[str, dict[str, str]] = {}
    for unit in sorted(sites):
        told = {name: as_kept(counts[unit][name]) for name in known if name in counts[unit]}
        units[_key(unit)] = {"sites": _words(sites[unit]), **told}
    asked = before.sample if sample is None and before else sample or ()
    data = {
        "format": FORMAT,
        "version": VERSION,
        "phases": [phase.value for phase in Phase],
        "sample": [_key(unit) for unit in sorted(asked)],
        "known": {k.name: {"summary": k.summary, "tool": k.tool, "arches": list(k.arches)} for k in known.values()},
        "units": units,
    }
    path.write_text(_lines(data), encoding="utf-8")


def _lines(data: Mapping[str, Any]) -> str:
    """JSON with a line for each unwinder and unit, so that a change is seen as one."""

    def inner(value: Any) -> str:
        if not isinstance(value, dict):
            return json.dumps(value)
        return "{\n" + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()) + "\n }"

    return "{\n" + ",\n".join(f" {json.dumps(key)}: {inner(value)}" for key, value in data.items()) + "\n}\n"


def _key(unit: Unit) -> str:
    return f"{unit.program} {unit.arch} {unit.recipe}"


def as_kept(counts: Counts) -> str:
    """Counts by phase as the file says them."""
    if counts.exact == counts.judged:
        return "="
    if counts.stopped == counts.judged and not counts.dead:
        return "-"
    parts = [counts.within(phase) for phase in PHASES]
    texts = [_words(part.exact for part in parts), _words(part.stopped for part in parts)]
    return "/".join([*texts, _words(part.dead for part in parts)] if counts.dead else texts)


@cache
def _read(text: str, sites: ByPhase) -> Counts:
    if text in ("=", "-"):
        return all_the_same(KEPT_AS["=-".index(text)], sites)
    exact, stopped, *rest = (_numbers(part) for part in text.split("/"))
    dead = rest[0] if rest else (0,) * len(sites)
    split = ((e, s - d, d, n - e - s) for n, e, s, d in zip(sites, exact, stopped, dead, strict=True))
    return sum(map(all_the_same, KEPT_AS, zip(*split, strict=True)), NOTHING_COUNTED)


def _words(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


def _numbers(text: str) -> ByPhase:
    return tuple(int(word) for word in text.split())
