"""The catalogues on the terminal: a name and a sentence per line, and what each exists for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text

from testbed.report.narrow_tables import WordTable

if TYPE_CHECKING:  # what is listed is given: nothing else is loaded for one catalogue
    from rich.console import RenderableType

    from testbed.arch import Arch
    from testbed.build.recipes import Recipe
    from testbed.contract.unwinder import Unwinder
    from testbed.program.model import Program
    from testbed.referee import Referee


def programs_table(programs: Mapping[str, Program]) -> WordTable:
    rows = ((p.name, ", ".join(p.sources), p.summary) for p in programs.values())
    return _table(("program", "sources", "what is interesting"), rows)


def unwinders_table(unwinders: Mapping[str, Unwinder]) -> WordTable:
    needs = {u.name: ", ".join(sorted(u.needs | (u.arches or set()))) for u in unwinders.values()}
    return _table(("strategy", "needs", "what it is"), ((n, needs[n] or "-", u.summary) for n, u in unwinders.items()))


def referees_table(referees: Mapping[str, Referee]) -> WordTable:
    rows = ((r.name, ", ".join(u.name for u in r.unwinders), f"{r.summary}\n{_where(r)}") for r in referees.values())
    return _table(("referee", "strategies", "what it is, and where"), rows)


def recipes_table(recipes: Mapping[str, Recipe]) -> WordTable:
    return _table(("recipe", "builds", "how"), ((r.name, r.tool.takes.value, r.summary) for r in recipes.values()))


def arches_table(arches: Mapping[str, Arch]) -> WordTable:
    rows = ((a.name, ", ".join(isa.name for isa in a.isas), ", ".join(a.aliases)) for a in arches.values())
    return _table(("architecture", "instruction sets", "also called"), rows)


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


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> WordTable:
    return WordTable(head, tuple(rows))


def _where(referee: Referee) -> str:
    found = referee.find()
    return str(found) if found else f"not installed: {referee.package}"


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


# The catalogues as plain data, the shape of ``testbed list --json`` (``schema/list.json``): a name and facts each.

CatalogueData = list[dict[str, Any]]


def programs_data(programs: Mapping[str, Program]) -> CatalogueData:
    return [{"name": p.name, "summary": p.summary, "sources": list(p.sources)} for p in programs.values()]


def unwinders_data(unwinders: Mapping[str, Unwinder]) -> CatalogueData:
    return [_unwinder(unwinder) for unwinder in unwinders.values()]


def _unwinder(unwinder: Unwinder) -> dict[str, Any]:
    arches = sorted(unwinder.arches) if unwinder.arches else None
    return {"name": unwinder.name, "summary": unwinder.summary, "arches": arches, "needs": sorted(unwinder.needs)}


def referees_data(referees: Mapping[str, Referee]) -> CatalogueData:
    found: CatalogueData = []
    for referee in referees.values():
        here = referee.find()
        found.append(
            {
                "name": referee.name,
                "summary": referee.summary,
                "strategies": [each.name for each in referee.unwinders],
                "found": str(here) if here else None,
                "package": referee.package,
            }
        )
    return found


def recipes_data(recipes: Mapping[str, Recipe]) -> CatalogueData:
    return [{"name": r.name, "summary": r.summary, "builds": r.tool.takes.value} for r in recipes.values()]


def arches_data(arches: Mapping[str, Arch]) -> CatalogueData:
    return [
        {"name": a.name, "instruction_sets": [isa.name for isa in a.isas], "aliases": list(a.aliases)}
        for a in arches.values()
    ]


def assumptions_data(unwinders: Iterable[Unwinder]) -> CatalogueData:
    return [
        {
            "name": unwinder.name,
            "form": type(unwinder.assumption).__name__ if unwinder.assumption else None,
            "clauses": {clause.name: clause.holds for clause in unwinder.assumption.clauses}
            if unwinder.assumption
            else {},
            "held_to": unwinder.held_to.value,
        }
        for unwinder in unwinders
    ]
