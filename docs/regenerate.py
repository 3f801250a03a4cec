"""Write what the documents show: the outputs inside README.md, the pages that commands make, the pictures.

`python docs/regenerate.py --help` lists the parts. Nothing in the documents that a command prints is typed by hand: a
test compares.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]
WITH_BLOCKS = (ROOT / "README.md", ROOT / "docs" / "looking.md", ROOT / "docs" / "techniques.md")
_BLOCK = re.compile(r"<!-- (?P<what>output: (?P<command>[^\n]*)|unwinders|precision|tools) -->\n.*?<!-- end -->", re.S)


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
        check=False,
    )
    assert done.returncode in (0, 1), f"{command}: {done.stderr}"
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n")


def with_blocks(text: str) -> str:
    """A document with every generated block made anew."""

    from unwinder_tables import precision, tools, unwinders

    made = {"unwinders": unwinders, "precision": precision, "tools": tools}

    def block(match: re.Match[str]) -> str:
        inner = f"```\n{output_of(match['command'])}\n```" if match["command"] else made[match["what"]]()
        return f"<!-- {match['what']} -->\n{inner}\n<!-- end -->"

    return _BLOCK.sub(block, text)


def _judged(counts: Mapping[str, Any]) -> int:
    return int(counts["sites"]) - int(counts["transition"]) - int(counts.get("undecided", 0))


def traps() -> None:
    """docs/traps.md: what each trap does to the unwinders beside its controls, from the golden counts."""

    from traps_page import ShownCell, traps_markdown

    from programs import PROGRAMS
    from testbed.words.outcome import Outcome
    from tests.golden import OURS, all_cells

    def shown(counts: Mapping[str, Any]) -> dict[tuple[str, Outcome], int]:
        pairs = ((*pair.rpartition(" "), count) for pair, count in counts["failed"].items())
        return {(clause, Outcome(outcome)): count for clause, _, outcome, count in pairs if clause}

    cells = [
        ShownCell(unit, name, _judged(counts), counts["exact"], shown(counts)) for unit, name, counts in all_cells(OURS)
    ]
    (ROOT / "docs" / "traps.md").write_text(traps_markdown(PROGRAMS, cells), encoding="utf-8")


REFEREE_STEPS = 8  # instructions of each unit that every real unwinder is asked about


def findings() -> None:
    """FINDINGS.md: every finding tried again; what is not installed is said to be so."""
    from findings_page import findings_markdown

    from programs import PROGRAMS
    from testbed.campaign.findings import show
    from testbed.cli.unwinders import all_unwinders
    from testbed.referee import REFEREES

    known = all_unwinders()
    shown = [show(referee, each, known, PROGRAMS) for referee in REFEREES.values() for each in referee.findings]
    (ROOT / "FINDINGS.md").write_text(findings_markdown(shown), encoding="utf-8")


def versions() -> None:
    """Of every finding the versions that show it, in its ``findings.toml``; what cannot be asked stays as it was."""
    from findings_page import with_versions

    from programs import PROGRAMS
    from testbed.campaign.findings import in_all_versions
    from testbed.referee import REFEREES
    from testbed.referee.versions import of_tool

    for name in (name for name in REFEREES if of_tool(name)):
        path = ROOT / "testbed" / "referee" / name / "findings.toml"
        now = [in_all_versions(REFEREES[name], each, PROGRAMS, print)[0] for each in REFEREES[name].findings]
        path.write_text(with_versions(path.read_text(encoding="utf-8"), now), encoding="utf-8")


def reports() -> None:
    """docs/reports.md and docs/reports/, from the reports' own files."""
    from reports_page import reports_pages

    from testbed.referee.read_reports import read_reports

    folder = ROOT / "docs" / "reports"
    folder.mkdir(exist_ok=True)
    pages = reports_pages(read_reports())
    for stale in {*folder.glob("*.md")} - {ROOT / "docs" / name for name in pages}:
        stale.unlink()
    for name, page in pages.items():
        (ROOT / "docs" / name).write_text(page, encoding="utf-8")


def referees() -> None:
    """FINDINGS.md, and docs/results/referees.md: how the real unwinders that are installed fare."""
    findings()
    from pictures import testbed
    from referees_page import PAGE, referees_markdown, section_of

    from testbed.referee import REFEREES

    arguments = ["matrix", "--referees", "--one-each", "--steps", str(REFEREE_STEPS), "-j", "1"]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        cells = Path(folder, "matrix.json")
        testbed(*arguments, "-o", str(cells))
        data = json.loads(cells.read_text(encoding="utf-8"))
    page = referees_markdown(data["cells"], REFEREES, " ".join(["testbed", *arguments]))
    print(f"docs/results/referees.md: {time.monotonic() - began:.0f} s", file=sys.stderr)
    PAGE.write_text(f"{page}\n{section_of(PAGE.read_text(encoding='utf-8'))}", encoding="utf-8")


def go() -> None:
    """docs/results/processes-go.md: programs of Go, every step by the clause that fails."""
    from go_page import go_pages

    for page in go_pages():
        (ROOT / "docs" / "results" / "processes-go.md").write_text(page, encoding="utf-8")


def score() -> None:
    """docs/results/scoreboard.md: everybody whose score is known."""
    from pictures import testbed

    introduction = (ROOT / "docs" / "results" / "scoreboard.intro.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        board = Path(folder, "board.md")
        testbed("score", "-o", str(board))
        page = f"{introduction}\n{board.read_text(encoding='utf-8').strip()}\n"
    (ROOT / "docs" / "results" / "scoreboard.md").write_text(page, encoding="utf-8")


def blocks() -> None:
    """README.md and the documents in which outputs of commands stand."""
    for path in WITH_BLOCKS:
        path.write_text(with_blocks(path.read_text(encoding="utf-8")), encoding="utf-8")


def out_of_date() -> list[str]:
    """The documents in which an output is not what its command prints now."""
    texts = {path: path.read_text(encoding="utf-8") for path in WITH_BLOCKS}
    return [str(path.relative_to(ROOT)) for path, text in texts.items() if with_blocks(text) != text]


@dataclass(frozen=True)
class DocumentPart:
    """A part of the documents: how it is made, and what it writes, in words."""

    make: Callable[..., None]
    writes: str
    by_default: bool = True


def _written(module: str, page: str = "") -> Callable[[], None]:
    """What writes the page in docs/results that a module of this folder makes; without one, all that it writes."""

    def make() -> None:
        made = getattr(import_module(module), module if page else "write_all")()
        if page:
            (ROOT / "docs" / "results" / page).write_text(made, encoding="utf-8")

    return make


PARTS = {
    "blocks": DocumentPart(blocks, "what commands print inside README.md, docs/looking.md and docs/techniques.md"),
    "traps": DocumentPart(traps, "docs/traps.md, from the golden counts"),
    "findings": DocumentPart(findings, "FINDINGS.md, with the real unwinders that are installed", by_default=False),
    "reports": DocumentPart(reports, "docs/reports.md and docs/reports/, from the reports' own files"),
    "versions": DocumentPart(
        versions, "findings.toml of the tools of which every version can be asked; downloads them", by_default=False
    ),
    "compilers": DocumentPart(
        _written("compilers_page", "compilers.md"),
        "docs/results/compilers.md, tables of every version of clang, and of GCC; downloads them",
        by_default=False,
    ),
    "referees": DocumentPart(
        referees, "FINDINGS.md and results/referees.md, but its section on processes (python -m tests.process.referees)"
    ),
    "score": DocumentPart(score, "docs/results/scoreboard.md, from the known scores"),
    "pictures": DocumentPart(_written("pictures"), "the pictures of screens and pages; needs chromium"),
    "notebooks": DocumentPart(_written("notebook_outputs"), "notebooks/*.ipynb, executed", by_default=False),
    "chains": DocumentPart(
        _written("chains_page", "chains.md"),
        "results/chains.md, call stacks of real runs, drawn; needs Go",
        by_default=False,
    ),
    "go": DocumentPart(
        go, "results/processes-go.md, every step of programs of Go; needs Go, and brings a newer one", by_default=False
    ),
    "python": DocumentPart(
        _written("python_page", "processes-python.md"),
        "results/processes-python.md, a script with and without -X perf; needs CPython 3.12",
        by_default=False,
    ),
    "proofs": DocumentPart(
        _written("proofs_page", "proofs.md"), "docs/results/proofs.md, both witnesses on everything", by_default=False
    ),
}


def _flags(command: Callable[..., None]) -> Callable[..., None]:
    for name, part in reversed(PARTS.items()):
        also = "" if part.by_default else "  [only if named]"
        command = click.option(f"--{name}", is_flag=True, help=f"{part.writes}{also}")(command)
    return command


@click.command()
@_flags
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; status 1 where README.md, docs/looking.md or docs/techniques.md is out of date.",
)
def main(*, check: bool, **named: bool) -> None:
    """Write the documents that commands make: the parts that are named, or those that take some minutes together.

    What is not installed is left out, and the page says so.
    """
    if check:
        stale = out_of_date()
        for document in stale:
            click.echo(f"{document} is out of date: python docs/regenerate.py --blocks", err=True)
        sys.exit(bool(stale))
    wanted = [name for name in PARTS if named[name.replace("-", "_")]]
    for name in wanted or [name for name, part in PARTS.items() if part.by_default]:
        part = PARTS[name]
        click.echo(f"{name}: {part.writes}", err=True)
        part.make()


if __name__ == "__main__":
    main()
