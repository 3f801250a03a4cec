"""The catalogues on the terminal: a name and a sentence per line, and what each exists for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from testbed.report.narrow_tables import WordTable

if TYPE_CHECKING:  # what is listed is given: nothing else is loaded for one catalogue
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
