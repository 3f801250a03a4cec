"""What a trap does to each strategy, beside what ordinary code does to it already.

A strategy that lies on a program of a trap may do so for another reason: its prologue has no frame record yet, as in
every program. So each trap has *controls*: ordinary programs, and the twins of its own with right tables. Whatever is
explained by a mechanism that the same strategy shows there, on the same architecture and as the same outcome, is not
counted against the trap::

    caught    lies by a mechanism that the controls do not show
    stops     no such lie, but honest stops by a mechanism that the controls do not show
    as ever   lies or stops, and all of them by mechanisms that the controls show too
    survives  exact at every instruction
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from testbed.campaign.results import Cell, Unit
from testbed.program.model import Program
from testbed.words.outcome import Outcome

ORDINARY = ("leaf_call", "leaf_no_frame", "function_pointers", "busy_leaf", "recursion")
# Ordinary programs that show a trap, and so are no controls of it.
WITHOUT: Mapping[int, frozenset[str]] = MappingProxyType({n: frozenset({"leaf_no_frame"}) for n in (2, 17, 18)})
# Strategies for which all code is what a trap is about: for them it has no controls.
ALWAYS: Mapping[int, frozenset[str]] = MappingProxyType(
    {
        # Every function begins without a frame record.
        1: frozenset(
            {
                *("fp_chain", "fp_chain_entry", "bs_backtrace", "qi_stack_frame"),
                *("glibc_backtrace_fp", "builtin_return_address"),
            }
        ),
        # Every function has one row for all of it.
        14: frozenset({"ehabi"}),
    }
)


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A cell, as far as traps are concerned: judged sites, exact ones, and counts by (mechanism, outcome)."""

    unit: Unit
    unwinder: str
    sites: int
    exact: int
    shown: Mapping[tuple[str, Outcome], int]

    @classmethod
    def of(cls, cell: Cell) -> ShownCell:
        return cls(cell.unit, cell.unwinder, cell.sites - cell.transition, cell.exact, cell.shown)


@dataclass(slots=True)
class TrapFate:
    """A strategy on the programs of a trap: counts of sites, and the unit that shows most of what is counted."""

    sites: int = 0
    exact: int = 0
    lies: int = 0
    stops: int = 0
    by_unit: Counter[Unit] = field(default_factory=Counter)

    @property
    def word(self) -> str:
        if self.lies or self.stops:
            return "caught" if self.lies else "stops"
        return "survives" if self.exact == self.sites else "as ever"

    @property
    def clearest(self) -> Unit | None:
        """The unit at which most of its lies are, else of its stops."""
        return self.by_unit.most_common(1)[0][0] if self.by_unit else None


def controls_of(number: int, programs: Sequence[Program]) -> tuple[str, ...]:
    """The names of a trap's controls: ordinary programs, and the twins with right tables of its own."""
    ordinary = (name for name in ORDINARY if name not in WITHOUT.get(number, ()))
    twins = (source.header.twin for program in programs for source in program.sources.values() if source.header.twin)
    return tuple(dict.fromkeys((*ordinary, *twins)))


def fates(number: int, trap: Sequence[str], controls: Sequence[str], cells: Iterable[ShownCell]) -> dict[str, TrapFate]:
    """Each strategy that was asked on a trap's programs, without the twins among them that are controls.

    ``cells`` are those of its programs and controls, or more.
    """
    always = ALWAYS.get(number, frozenset())
    ordinary: dict[tuple[str, str], set[tuple[str, Outcome]]] = defaultdict(set)
    mine = []
    for cell in cells:
        if cell.unit.program in controls and cell.unwinder not in always:
            ordinary[cell.unwinder, cell.unit.arch].update(cell.shown)
        if cell.unit.program in trap and (cell.unit.program not in controls or cell.unit.program in ORDINARY):
            mine.append(cell)
    found: dict[str, TrapFate] = defaultdict(TrapFate)
    for cell in mine:
        fate = found[cell.unwinder]
        fate.sites += cell.sites
        fate.exact += cell.exact
        own = {p: count for p, count in cell.shown.items() if p not in ordinary[cell.unwinder, cell.unit.arch]}
        lies = sum(count for (_, outcome), count in own.items() if outcome.lying)
        stops = sum(count for (_, outcome), count in own.items() if not outcome.lying)
        fate.lies += lies
        fate.stops += stops
        if lies or stops:
            fate.by_unit[cell.unit] += lies * 1_000_000 + stops
    return dict(found)
