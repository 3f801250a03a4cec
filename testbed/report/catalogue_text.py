"""The catalogues on the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from testbed.arch import ARCHES
from testbed.build.compile import OTHER_ZIG
from testbed.build.gnu import is_installed, package_of
from testbed.build.recipes import RECIPES
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.referee import Referee


def print_catalogue(
    console: Console,
    what: str,
    *,
    programs: Mapping[str, Program],
    unwinders: Mapping[str, Unwinder],
    referees: Mapping[str, Referee],
) -> None:
    """Print one catalogue: a name and a sentence per line, and what each exists for."""
    rows: list[tuple[str, str, str]]
    if what == "programs":
        head = ("program", "sources", "what is interesting")
        rows = [(p.name, ", ".join(p.sources), p.summary) for p in programs.values()]
    elif what == "unwinders":
        head = ("strategy", "needs", "what it is")
        rows = [
            (u.name, ", ".join(sorted(u.needs | (u.arches or set()))) or "-", u.summary) for u in unwinders.values()
        ]
    elif what == "referees":
        head = ("referee", "strategies", "what it is, and where")
        rows = [
            (r.name, ", ".join(u.name for u in r.unwinders), f"{r.summary}\n{_where(r)}") for r in referees.values()
        ]
    elif what == "recipes":
        head = ("recipe", "builds", "how")
        rows = [(r.name, r.tool.takes.value, r.summary) for r in RECIPES.values()]
    else:
        head = ("architecture", "instruction sets", "also called")
        rows = [(a.name, ", ".join(isa.name for isa in a.isas), ", ".join(a.aliases)) for a in ARCHES.values()]
    table = Table(*head, box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    if what == "recipes":
        console.print(_needed())


def _needed() -> Text:
    """What has to be installed for recipes beyond the wheels that come with the testbed."""
    lines = [
        "",
        "GCC's recipes need Debian's packages (g++ for gcc, where C++ is built); without them they are skipped:",
    ]
    for arch in ARCHES.values():
        there = "installed" if is_installed(arch) else "not installed"
        lines.append(f"  {arch.name:<7} {package_of(arch)} ({there})")
    lines.append(f"clang-other-* need another ziglang wheel's zig binary, named by {OTHER_ZIG}; only --all has them")
    lines.append("Some recipes build only the programs that show what they are for: testbed matrix --all builds all")
    return Text("\n".join(lines))


def _where(referee: Referee) -> str:
    found = referee.find()
    return str(found) if found else f"not installed: {referee.package}"
