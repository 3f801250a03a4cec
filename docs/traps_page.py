"""docs/traps.md: which programs show each trap, where it happened, and how the unwinders fare."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from testbed.campaign.cells import Cell, Unit
from testbed.program.model import Program
from testbed.report.catalogue_text import TrapInCorpus, shown_traps
from testbed.words.outcome import Outcome
from testbed.words.traits import TRAPS

# What a trap does to each unwinder, beside what ordinary code does to it already.
#
# An unwinder that lies on a program of a trap may do so for another reason: its prologue has no frame record yet, as in
# every program. So each trap has *controls*: ordinary programs, and the twins of its own with right tables. Whatever is
# by a clause that fails for the same unwinder there, on the same architecture and as the same outcome, is not
# counted against the trap::
#
#     caught    lies by a clause that does not fail in the controls
#     stops     no such lie, but honest stops by a clause that does not fail there
#     as ever   lies or stops, and all of them by clauses that fail in the controls too
#     survives  exact at every instruction

ORDINARY = ("leaf_call", "leaf_no_frame", "function_pointers", "busy_leaf", "recursion")
# Ordinary programs that show a trap, and so are no controls of it.
WITHOUT: Mapping[int, frozenset[str]] = MappingProxyType({n: frozenset({"leaf_no_frame"}) for n in (2, 17, 18)})
# Unwinders for which all code is what a trap is about: for them it has no controls.
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
    """A cell, as far as traps are concerned: judged sites, exact ones, and counts by (clause, outcome)."""

    unit: Unit
    unwinder: str
    sites: int
    exact: int
    shown: Mapping[tuple[str, Outcome], int]

    @classmethod
    def of(cls, cell: Cell) -> ShownCell:
        return cls(cell.unit, cell.unwinder, cell.judged, cell.exact, cell.shown)


@dataclass(slots=True)
class TrapFate:
    """An unwinder on the programs of a trap: counts of sites, and the unit that shows most of what is counted."""

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
    """Each unwinder that was asked on a trap's programs, without the twins among them that are controls.

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


_HEAD = """# Traps

Mistakes that real unwinders and real tables made, and the programs that show each. Every number comes from runs, over
all architectures and recipes of these programs.

An unwinder may lie on such a program for another reason: its frame record is not linked yet, as in every function. So
beside each trap stand *controls*: ordinary programs, and twins with right tables. What an unwinder gets wrong there by
the same clause is not counted against the trap:

- **caught**: lies by a clause that fails in no control; at that share of the executed instructions
- **stops**: honest stops by such a clause, and no such lie
- **as ever**: not exact, and for no other reason than on the controls
- **survive**: exact at every instruction

The command shows who is caught most: `testbed run` says at which instruction, and why.
"""


def traps_markdown(programs: Mapping[str, Program], cells: Iterable[ShownCell]) -> str:
    """The traps as a Markdown page; ``cells`` are the judged ones of the programs that show them, and of controls."""
    known = list(cells)
    return "\n".join([_HEAD, *("\n".join(_section(trap, known)) for trap in shown_traps(programs))])


def _section(trap: TrapInCorpus, cells: Sequence[ShownCell]) -> Iterator[str]:
    yield f"## {trap.number}. {TRAPS[trap.number]}\n"
    names = [program.name for program in trap.programs]
    controls = controls_of(trap.number, trap.programs)
    yield f"- programs: {_names(names)}; controls: {_names(controls)}"
    if trap.number in ALWAYS:
        yield f"- no controls for {_names(sorted(ALWAYS[trap.number]))}: to these all code is like that"
    found = fates(trap.number, names, controls, cells)
    for word, share_of in (("caught", "lies"), ("stops", "stops")):
        some = sorted((n for n in found if found[n].word == word), key=lambda n: -getattr(found[n], share_of))
        shares = (f"`{name}` {_percent(getattr(found[name], share_of), found[name].sites)}" for name in some)
        yield f"- {word}: {', '.join(shares) or 'nobody'}"
    for word in ("as ever", "survives"):
        yield f"- {word.removesuffix('s')}: {_names(n for n in found if found[n].word == word) or 'nobody'}"
    yield f"- happened in: {', '.join(_link(reference) for reference in trap.references) or '-'}\n"
    yield f"```\n{_command(names, found)}\n```\n"


def _command(names: Sequence[str], found: Mapping[str, TrapFate]) -> str:
    """The run that shows most of what the trap does."""
    caught = [name for name in found if found[name].clearest is not None]
    if not caught:
        return f"testbed run {names[0]}" if names else "testbed list programs --traps"
    worst = max(caught, key=lambda name: (found[name].lies, found[name].stops))
    unit = found[worst].clearest
    assert unit is not None
    return f"testbed run {unit.program} --arch {unit.arch} --recipe {unit.recipe} -u {worst}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 1 else "< 1 %"


def _link(reference: str) -> str:
    if reference.startswith("https://"):
        return f"[{reference.removeprefix('https://').partition('/')[0]}]({reference})"
    repository, _, number = reference.partition("#")
    return f"[{reference}](https://github.com/{repository}/issues/{number})"
