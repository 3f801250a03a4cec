"""The catalogues on the terminal: a name and a sentence per line, and what each exists for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table

if TYPE_CHECKING:  # what is listed is given: nothing else is loaded for one catalogue
    from testbed.arch import Arch
    from testbed.build.recipes import Recipe
    from testbed.contract.unwinder import Unwinder
    from testbed.program.model import Program
    from testbed.referee import Referee


def programs_table(programs: Mapping[str, Program]) -> Table:
    rows = ((p.name, ", ".join(p.sources), p.summary) for p in programs.values())
    return _table(("program", "sources", "what is interesting"), rows)


def unwinders_table(unwinders: Mapping[str, Unwinder]) -> Table:
    needs = {u.name: ", ".join(sorted(u.needs | (u.arches or set()))) for u in unwinders.values()}
    return _table(("strategy", "needs", "what it is"), ((n, needs[n] or "-", u.summary) for n, u in unwinders.items()))


def referees_table(referees: Mapping[str, Referee]) -> Table:
    rows = ((r.name, ", ".join(u.name for u in r.unwinders), f"{r.summary}\n{_where(r)}") for r in referees.values())
    return _table(("referee", "strategies", "what it is, and where"), rows)


def recipes_table(recipes: Mapping[str, Recipe]) -> Table:
    return _table(("recipe", "builds", "how"), ((r.name, r.tool.takes.value, r.summary) for r in recipes.values()))


def arches_table(arches: Mapping[str, Arch]) -> Table:
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


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table(*head, box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    return table


def _where(referee: Referee) -> str:
    found = referee.find()
    return str(found) if found else f"not installed: {referee.package}"
