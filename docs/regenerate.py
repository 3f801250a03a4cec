"""Write what the documents show: the outputs inside README.md, the list of strategies, the pictures.

    python docs/regenerate.py            write README.md, docs/traps.md and docs/*.svg
    python docs/regenerate.py --check    exit with 1 where README.md is out of date

Nothing in the documents that a command prints is typed by hand; a test runs the check.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
_BLOCK = re.compile(r"<!-- (?P<what>output: (?P<command>[^\n]*)|strategies) -->\n.*?<!-- end -->", re.S)


def output_of(command: str) -> str:
    """What a command of ours prints, in 100 columns without colour."""
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    program, *arguments = command.split()
    assert program == "testbed", command
    done = subprocess.run(
        [sys.executable, "-m", "testbed.cli", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n")


def strategies() -> str:
    """The catalogue of strategies as a table."""
    from unwinders import UNWINDERS

    rows = ["| strategy | what it is | exists for |", "|---|---|---|"]
    for unwinder in UNWINDERS.values():
        where = ", ".join(sorted(unwinder.arches)) if unwinder.arches else "all"
        needs = f", files with {', '.join(sorted(unwinder.needs))}" if unwinder.needs else ""
        rows.append(f"| `{unwinder.name}` | {unwinder.summary} | {where}{needs} |")
    return "\n".join(rows)


def readme(text: str) -> str:
    """README.md with every generated block made anew."""

    def block(match: re.Match[str]) -> str:
        inner = f"```\n{output_of(match['command'])}\n```" if match["command"] else strategies()
        return f"<!-- {match['what']} -->\n{inner}\n<!-- end -->"

    return _BLOCK.sub(block, text)


def traps() -> str:
    """docs/traps.md: how the strategies fare on the programs that show a trap."""
    from programs import PROGRAMS
    from testbed.arch import ARCHES
    from testbed.build.recipes import RECIPES
    from testbed.matrix import units
    from testbed.report.traps_text import traps_markdown
    from testbed.results import judge_and_keep
    from unwinders import UNWINDERS

    showing = [p for p in PROGRAMS.values() if any(source.header.traps for source in p.sources.values())]
    strategies = list(UNWINDERS.values())
    planned = units(showing, ARCHES.values(), RECIPES.values())
    cells = [cell for unit in planned for cell in judge_and_keep(unit, PROGRAMS, strategies, fresh=False).cells]
    return traps_markdown(PROGRAMS, cells)


def pictures() -> None:
    """The pictures that README.md shows."""
    command = ["matrix", "--fresh", "--svg", "docs/matrix.svg"]
    subprocess.run([sys.executable, "-m", "testbed.cli", *command], cwd=ROOT, check=True)


def main() -> None:
    current = README.read_text(encoding="utf-8")
    made = readme(current)
    if "--check" in sys.argv[1:]:
        sys.exit(made != current)
    README.write_text(made, encoding="utf-8")
    (ROOT / "docs" / "traps.md").write_text(traps(), encoding="utf-8")
    pictures()


if __name__ == "__main__":
    main()
