"""How much a strategy's limits would explain: the share of sites at which some made-up lie would go unnoticed.

A lie is made up at every frame of every site and of every lying kind that can be told there; the site counts if one of
them is covered by a limit. Where the header or the recipe declares that a table is wrong, missing, synchronous or
without an end, limits have to be wide, so the share is also taken without such sites. Beside it stands at which share
of the sites the strategy really lies, and at which it is not right, since it lies or gives up: a technique that is
wrong by design needs limits about as wide as that, and no wider.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from testbed.build.recipes import RECIPES
from testbed.campaign.kept_answers import answers_at
from testbed.campaign.results import Unit
from testbed.campaign.sampled import sampled_steps
from testbed.campaign.units import run_unit
from testbed.contract.unwinder import Limit, Unwinder
from testbed.program.model import Program
from testbed.referee import FOLDER_OF
from testbed.runs.judging import judge, judge_all
from testbed.runs.run import Run
from testbed.truth.frame_sites import FrameSites, frame_sites, heights
from testbed.verdicts.comparing import outermost_wrong
from testbed.verdicts.trace import FrameTraits
from testbed.words.errors import ToolchainMissing
from testbed.words.traits import Trait

TABLE_DECLARED = frozenset(
    {
        *(Trait.WRONG_TABLE, Trait.NO_TABLE, Trait.SYNCHRONOUS),
        *(Trait.WRONG_INDEX, Trait.OPEN_END, Trait.UNSAID_END),
    }
)
TABLES = ("eh_frame", "eh_frame_hdr", "debug_frame", "orc", "sframe")
TOOLS_WITH_TABLES = (*("lldb", "gdb", "libdw", "drgn", "drgn_debug_frame", "libunwind", "llvm_libunwind_exact"),)
# What takes the row in front of the interrupted instruction where one begins there is wrong by design at those sites;
# its tables are measured by the strategy that asks the same code for the row that begins.
ROW_IN_FRONT: Mapping[str, str] = MappingProxyType({"llvm_libunwind": "llvm_libunwind_exact"})
MOST, OVER = 0.05, 0.10  # the goals: of what believes tables; of others, over the share at which they are not right
DEEPEST = 40  # frames of a stack that are looked at
ASKED_AT = 8  # instructions of a unit that a real unwinder is asked about, if its tables are those of ELF files


@dataclass(frozen=True, slots=True)
class Share:
    """How many ``sites``, and of how many a lie would be ``explained``; ``plain`` ones have no declared tables.

    Of the plain sites some are ``judged`` (none where the strategy is not installed): at ``told`` of these it really
    lies, at ``failed`` it lies or gives up, and ``named`` are those at which its limits would explain a lie, at
    ``needless`` of them though it is right. Steps in transition are no sites.
    """

    sites: int = 0
    explained: int = 0
    plain: int = 0
    plain_explained: int = 0
    judged: int = 0
    told: int = 0
    failed: int = 0
    named: int = 0
    needless: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))

    @property
    def of_all(self) -> float | None:
        return self.explained / self.sites if self.sites else None

    @property
    def of_plain(self) -> float | None:
        return self.plain_explained / self.plain if self.plain else None

    @property
    def of_judged(self) -> float | None:
        """How often it lies."""
        return self.told / self.judged if self.judged else None

    @property
    def not_right(self) -> float | None:
        """How often it lies or gives up."""
        return self.failed / self.judged if self.judged else None

    @property
    def of_named(self) -> float | None:
        """How often it lies where its limits would explain that: 1 if they are as narrow as can be."""
        return self.told / self.named if self.named else None

    @property
    def width(self) -> float | None:
        """At which share of the judged sites its limits would explain a lie."""
        return self.named / self.judged if self.judged else None

    @property
    def too_wide(self) -> float | None:
        """At which share of the judged sites its limits would explain a lie though it is right there."""
        return self.needless / self.judged if self.judged else None


def goal_of(name: str, share: Share) -> str:
    """Whether a strategy's limits are as narrow as they are meant to be: "reached", or what is not, in words.

    Of what believes tables: 5 % of the plain sites. Of others: at the judged sites, ten points over what they lie at;
    where they are wider than that, over what they are not right at. Of a library that is asked for another row than the
    one in force (`ROW_IN_FRONT`) the tables are held to 5 % where it is asked for that one; as it is, it is one of the
    others.
    """
    plain, width, lies, not_right = share.of_plain, share.width, share.of_judged, share.not_right
    if name in ROW_IN_FRONT:
        held = _by_design(width, lies, not_right)
        return f"{held}, as wrong by design; 5 % of its tables: `{ROW_IN_FRONT[name]}`" if held else ""
    if name in (*TABLES, *TOOLS_WITH_TABLES):
        if plain is None or plain <= MOST:
            return "reached" if plain is not None else ""
        known = f", and is not right at {100 * not_right:.1f}" if not_right is not None else ""
        return f"{100 * MOST:.0f} %: not reached{known}"
    return _by_design(width, lies, not_right)


def _by_design(width: float | None, lies: float | None, not_right: float | None) -> str:
    if width is None or lies is None or not_right is None:
        return ""
    if width <= lies + OVER:
        return "reached"
    return (
        "reached, with where it gives up" if width <= not_right + OVER else f"{100 * (lies + OVER):.1f} %: not reached"
    )


def shares(run: Run, unwinders: Iterable[Unwinder], levels: FrameLevels | None = None) -> dict[str, Share]:
    """The share of each strategy that applies to a run. ``levels`` are `frame_levels` of it, where they are known."""
    counted = ~run.watched.transition
    levels = frame_levels(run) if levels is None else levels
    plain = _plain(run, levels)
    found = {}
    for unwinder in unwinders:
        if not unwinder.applies_to(run.built.image):
            continue
        hidden = _hidden(run, unwinder, levels)
        found[unwinder.name] = Share(
            int(counted.sum()), int((hidden & counted).sum()), int(plain.sum()), int((hidden & plain).sum())
        )
    return found


def _plain(run: Run, levels: FrameLevels) -> NDArray[np.bool_]:
    """The sites at which nothing is declared of the tables."""
    declared = np.zeros(len(run), np.bool_)
    for at, traits in levels:
        for trait in TABLE_DECLARED:
            declared[at.step[traits.at(trait)]] = True
    plain: NDArray[np.bool_] = ~(run.watched.transition | declared)
    return plain


FrameLevels = Sequence[tuple[FrameSites, "FrameTraits | _OneByOne"]]


def _hidden(run: Run, unwinder: Unwinder, levels: FrameLevels) -> NDArray[np.bool_]:
    """The steps at which one of a strategy's limits would explain some lie."""
    hidden = np.zeros(len(run), np.bool_)
    lying = [li for li in unwinder.limits_on(run.arch) if any(outcome.lying for outcome in li.outcomes)]
    root = heights(run.watched.activations.parent)[run.watched.node]
    for at, traits in levels:
        hidden[at.step[_covered(traits, at, root[at.step], lying)]] = True
    return hidden


class _OneByOne:
    """As `FrameTraits`, of a run that has no columns."""

    def __init__(self, run: Run, at: FrameSites) -> None:
        self._each = [run.frame_traits(*site) for site in zip(at.step.tolist(), at.depth.tolist(), strict=True)]

    def at(self, trait: Trait) -> NDArray[np.bool_]:
        return np.fromiter((trait in here for here in self._each), np.bool_, len(self._each))


def frame_levels(run: Run) -> FrameLevels:
    """The frames of all steps by depth, and the traits of each."""
    return [(at, _traits(run, at)) for at in _levels(run)]


def _traits(run: Run, at: FrameSites) -> FrameTraits | _OneByOne:
    return FrameTraits(run.watched, at, run.built.traits) if run.in_columns else _OneByOne(run, at)


def _levels(run: Run) -> Sequence[FrameSites]:
    """The frames of all steps, by depth."""
    truth, steps, found = run.watched, np.arange(len(run)), []
    for depth in range(DEEPEST):
        at = frame_sites(truth.trace, truth.activations, truth.node, steps, np.full(len(steps), depth))
        steps = steps[at.depth == depth]
        if not len(steps):
            break
        found.append(frame_sites(truth.trace, truth.activations, truth.node, steps, np.full(len(steps), depth)))
    return found


def _covered(
    traits: FrameTraits | _OneByOne, at: FrameSites, root: NDArray[np.int64], limits: Sequence[Limit]
) -> NDArray[np.bool_]:
    """The frames whose traits make one of the limits cover a lie; ``root`` are the depths of the outermost frames."""
    found = np.zeros(len(at), np.bool_)
    for limit in limits:
        can = np.zeros(len(at), np.bool_)
        for depth in np.unique(root).tolist():
            outermost = max(outermost_wrong(outcome, depth) for outcome in limit.outcomes if outcome.lying)
            can |= (root == depth) & (at.depth + limit.inner >= 0) & (at.depth + limit.inner <= outermost)
        if can.any():
            found |= can & np.logical_and.reduce([traits.at(trait) for trait in (limit.trait, *limit.also)])
    return found


def reads_mach_o_alone(unwinder: Unwinder) -> bool:
    """Does a strategy need a section (``segment,section``) that ELF files cannot have?

    Few units are of that format, so it is measured in all of them, and asked at every instruction.
    """
    return any("," in section for section in unwinder.needs)


def measured_units(every: Iterable[Unit], chosen: Collection[Unit]) -> Iterator[tuple[Unit, bool]]:
    """The units to measure limits at: those ``chosen``, for all strategies; and the other ones of Mach-O files.

    True of a unit that is for all; the others are for what reads such files alone.
    """
    yield from ((unit, True) for unit in chosen)
    others = (unit for unit in every if unit not in chosen and RECIPES[unit.recipe].tool.suffix == "macho")
    yield from ((unit, False) for unit in others)


def asked_steps(run: Run, unwinder: Unwinder) -> tuple[int, ...]:
    """The steps at which a real unwinder is asked: first visits of some instructions, or of all."""
    return sampled_steps(run, len(run) if reads_mach_o_alone(unwinder) else ASKED_AT)


def told(run: Run, unwinder: Unwinder, levels: FrameLevels) -> Share:
    """What a strategy really says at the plain sites of a run; a real unwinder is asked at some of them."""
    plain, hidden = _plain(run, levels), _hidden(run, unwinder, levels)
    if unwinder.name in FOLDER_OF:
        said = answers_at(run, unwinder, asked_steps(run, unwinder))
        verdicts = {step: judge(run, step, answer, unwinder) for step, answer in said.items() if plain[step]}
    else:
        everywhere = judge_all(run, unwinder)
        verdicts = {step: everywhere[step] for step in np.flatnonzero(plain).tolist()}
    return Share(
        judged=len(verdicts),
        told=sum(verdict.outcome.lying for verdict in verdicts.values()),
        failed=sum(not verdict.exact for verdict in verdicts.values()),
        named=sum(hidden[list(verdicts)].tolist()),
        needless=sum(verdict.exact and bool(hidden[step]) for step, verdict in verdicts.items()),
    )


def shares_of_units(
    planned: Iterable[Unit],
    programs: Mapping[str, Program],
    unwinders: Sequence[Unwinder],
    installed: Collection[str],
) -> dict[tuple[str, str], Share]:
    """The share of each (strategy, architecture) over some units; those that cannot be built here are left out.

    Strategies that are ``installed``, by name, are judged as well.
    """
    found: dict[tuple[str, str], Share] = {}
    for unit in planned:
        try:
            run = run_unit(unit, programs)
        except ToolchainMissing:
            continue
        levels = frame_levels(run)
        hidden = shares(run, unwinders, levels)
        for unwinder in unwinders:
            if share := hidden.get(unwinder.name):
                lies = told(run, unwinder, levels) if unwinder.name in installed else Share()
                found[unwinder.name, unit.arch] = found.get((unwinder.name, unit.arch), Share()) + share + lies
    return found
