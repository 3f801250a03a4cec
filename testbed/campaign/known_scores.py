"""What known strategies and tools score, kept in a file of the package: nobody has to judge them again to be compared.

::

    {"format": "testbed known scores", "version": 1, "phases": ["entry", ...],
     "sample": ["leaf_call x86_64 keystone", ...],
     "known": {"fp_chain": {"summary": "...", "tool": "", "arches": ["x86_64", ...]}, ...},
     "units": {"leaf_call x86_64 keystone": {"sites": "3 2 14 4 2", "fp_chain": "0 0 14 0 2/0 0 0 1 0", "gdb": "="}}}

Numbers stand by phase: exact sites, then behind the stroke honest stops, then crashes and hangs among these if there
are any. ``=`` is exact everywhere, ``-`` stopped everywhere, as a strategy that needs a section that the file lacks.
Which stops and which lies they were is not kept: all are read as one kind of each (`KEPT_AS`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from testbed.arch import ARCHES
from testbed.campaign.findings import version_of
from testbed.campaign.phase_counts import ByPhase, ScoredUnit, all_the_same
from testbed.campaign.results import Unit
from testbed.contract.unwinder import Unwinder
from testbed.truth.phases import PHASES, Phase
from testbed.verdicts.counts import NOTHING_COUNTED, Counts
from testbed.words.errors import UsageError
from testbed.words.outcome import Outcome

FILE = Path(__file__).with_name("known_scores.json")
FORMAT, VERSION = "testbed known scores", 1
KEPT_AS = (Outcome.EXACT, Outcome.STOPPED, Outcome.CRASHED, Outcome.WRONG)


@dataclass(frozen=True, slots=True)
class KnownUnwinder:
    """A strategy or tool that was judged before; ``tool`` is the version of the tool, "" for a strategy of ours."""

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
