"""The catalogues on the terminal, a name and a sentence per line, and as plain data (``schema/list.json``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.padding import Padding
from rich.text import Text

from testbed.report.narrow_tables import WordTable
from testbed.words.traps import TRAPS

if TYPE_CHECKING:  # what is listed is given: nothing else is loaded for one catalogue
    from rich.console import RenderableType

    from testbed.arch import Arch
    from testbed.contract.unwinder import Unwinder
    from testbed.program.model import Program
    from testbed.referee import Referee


class CatalogueForm(NamedTuple):
    """How a catalogue is listed: the heads of its table, a value as a row, and as data."""

    heads: tuple[str, ...]
    row: Callable[[Any], tuple[str, ...]]
    data: Callable[[Any], dict[str, Any]]


def _where(referee: Referee) -> str:
    found = referee.find()
    where = str(found) if found else f"not installed: {referee.package}"
    there = _versions(referee)
    return f"{where}\nversions: {', '.join(there)} (-u {referee.name}@{there[-1]})" if there else where


def _versions(referee: Referee) -> list[str]:
    """The versions that can be asked beside that one; what is not here is brought when it is."""
    from testbed.referee.versions import of_tool

    return [each.version for each in of_tool(referee.name)]


def _assumption(unwinder: Unwinder) -> dict[str, Any]:
    assumed = unwinder.assumption
    return {
        "name": unwinder.name,
        "form": type(assumed).__name__ if assumed else None,
        "clauses": {clause.name: clause.holds for clause in assumed.clauses} if assumed else {},
        "held_to": unwinder.held_to.value,
    }


LISTED: Mapping[str, CatalogueForm] = {
    "programs": CatalogueForm(
        ("program", "sources", "what is interesting"),
        lambda p: (p.name, ", ".join(p.sources), p.summary),
        lambda p: {"name": p.name, "summary": p.summary, "sources": list(p.sources)},
    ),
    "unwinders": CatalogueForm(
        ("strategy", "needs", "what it is"),
        lambda u: (u.name, ", ".join(sorted(u.needs | (u.arches or set()))) or "-", u.summary),
        lambda u: {
            "name": u.name,
            "summary": u.summary,
            "arches": sorted(u.arches) if u.arches else None,
            "needs": sorted(u.needs),
        },
    ),
    "referees": CatalogueForm(
        ("referee", "strategies", "what it is, and where"),
        lambda r: (r.name, ", ".join(u.name for u in r.unwinders), f"{r.summary}\n{_where(r)}"),
        lambda r: {
            "name": r.name,
            "summary": r.summary,
            "strategies": [each.name for each in r.unwinders],
            "found": str(found) if (found := r.find()) else None,
            "package": r.package,
            "versions": _versions(r),
        },
    ),
    "recipes": CatalogueForm(
        ("recipe", "builds", "how"),
        lambda r: (r.name, r.tool.takes.value, r.summary),
        lambda r: {"name": r.name, "summary": r.summary, "builds": r.tool.takes.value},
    ),
    "arches": CatalogueForm(
        ("architecture", "instruction sets", "also called"),
        lambda a: (a.name, ", ".join(isa.name for isa in a.isas), ", ".join(a.aliases)),
        lambda a: {
            "name": a.name,
            "instruction_sets": [isa.name for isa in a.isas],
            "aliases": list(a.aliases),
        },
    ),
    "assumptions": CatalogueForm((), lambda u: (), _assumption),
}


def catalogue_table(what: str, values: Iterable[Any]) -> WordTable:
    """A catalogue, a value per row."""
    return WordTable(LISTED[what].heads, tuple(map(LISTED[what].row, values)))


def needed_by_recipes(arches: Iterable[Arch]) -> str:
    """What has to be installed for recipes beyond the wheels that come with the testbed."""
    from testbed.build.compile import OTHER_ZIG
    from testbed.build.gnu import is_installed, package_of

    lines = [
        "",
        "GCC's recipes need Debian's packages (g++ for gcc, where C++ is built); without them they are skipped:",
    ]
    for arch in arches:
        there = "installed" if is_installed(arch) else "not installed"
        lines.append(f"  {arch.name:<7} {package_of(arch)} ({there})")
    lines.append(f"clang-other-* need another ziglang wheel's zig binary, named by {OTHER_ZIG}; only --all has them")
    lines.append("Some recipes build only the programs that show what they are for: testbed matrix --all builds all")
    return "\n".join(lines)


# Assumptions on the terminal: what must hold of each frame for a technique to be right.


def assumptions_told(unwinder: Unwinder) -> Iterator[RenderableType]:
    """What one technique assumes: its form, and each clause as a sentence."""
    if unwinder.assumption is None:
        yield Text(f"{unwinder.name}: none is stated; {unwinder.held_to.value}")
        return
    form = next(iter((type(unwinder.assumption).__doc__ or "").splitlines()), "")
    yield Text.assemble((unwinder.name, "bold"), f": {form}")
    for clause in unwinder.assumption.clauses:
        yield Padding(Text(f"{clause.name}: {clause.holds}"), (0, 0, 0, 4))


@dataclass(frozen=True, slots=True)
class TrapInCorpus:
    """A trap in the corpus: the programs that show it, and every reference that one of them gives, once."""

    number: int
    programs: tuple[Program, ...]
    references: tuple[str, ...]


def shown_traps(programs: Mapping[str, Program]) -> tuple[TrapInCorpus, ...]:
    """Every trap, whether a program shows it or not."""
    found: dict[int, tuple[dict[str, Program], dict[str, None]]] = {number: ({}, {}) for number in TRAPS}
    for program in programs.values():
        for source in program.sources.values():
            for trap in source.header.traps:
                found[trap.number][0][program.name] = program
                found[trap.number][1].update(dict.fromkeys(trap.references))
    return tuple(TrapInCorpus(number, tuple(p.values()), tuple(r)) for number, (p, r) in found.items())


def traps_table(programs: Mapping[str, Program]) -> WordTable:
    """A line per trap: its number, what goes wrong, the programs, the references."""
    rows = (
        (
            str(trap.number),
            TRAPS[trap.number],
            ", ".join(program.name for program in trap.programs) or "-",
            ", ".join(trap.references) or "-",
        )
        for trap in shown_traps(programs)
    )
    return WordTable(("trap", "what goes wrong", "programs", "happened in"), tuple(rows))
