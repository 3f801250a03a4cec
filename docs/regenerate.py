"""Write what the documents show: the outputs inside README.md, the list of strategies, the pictures.

    python docs/regenerate.py            write README.md, docs/*.md, docs/*.svg, and with a browser docs/*.png
    python docs/regenerate.py --blocks   only what commands print inside README.md and docs/*.md
    python docs/regenerate.py --names    only docs/names.md: needs Debian's binutils (all three) and llvm
    python docs/regenerate.py --tables   only docs/tables-of-libraries.md: needs binutils and GCC's cross compilers
    python docs/regenerate.py --analysis only docs/analysis-of-libraries.md: all functions of the installed libraries
                                         (--armhf DIR: libc6 and libc6-dbg of armhf, unpacked; --most N: N of each)
    python docs/regenerate.py --pictures only the pictures of screens and pages (docs/pictures.py), and the heat map
    python docs/regenerate.py --findings only FINDINGS.md, with the real unwinders that are installed
    python docs/regenerate.py --referees that and docs/referees.md, but for its section on real processes
                                         (python -m tests.process.referees)
    python docs/regenerate.py --limits   only docs/limits.md, with the real unwinders that are installed
    python docs/regenerate.py --proofs   only docs/proofs.md: both witnesses, on the corpus, made programs, processes
    python docs/regenerate.py --odd-code  only docs/odd-code.md: some minutes, each rule is taken out of a copy once
    python docs/regenerate.py --traps    only docs/traps.md, from the golden counts
    python docs/regenerate.py --notebooks  only notebooks/*.ipynb: executed, with outputs that show without scripts
    python docs/regenerate.py --score    only docs/scoreboard.md, from the known scores
    python docs/regenerate.py --check    exit with 1 where what commands print in README.md or docs/*.md is out of date

Nothing in the documents that a command prints is typed by hand; a test runs the check.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
WITH_BLOCKS = (ROOT / "README.md", ROOT / "docs" / "strategies.md")
_BLOCK = re.compile(r"<!-- (?P<what>output: (?P<command>[^\n]*)|strategies|precision) -->\n.*?<!-- end -->", re.S)


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

    from strategy_tables import precision, strategies

    made = {"strategies": strategies, "precision": precision}

    def block(match: re.Match[str]) -> str:
        inner = f"```\n{output_of(match['command'])}\n```" if match["command"] else made[match["what"]]()
        return f"<!-- {match['what']} -->\n{inner}\n<!-- end -->"

    return _BLOCK.sub(block, text)


def names() -> str:
    """docs/names.md: names judged at every site of the corpus, and beside two readers at every executed address."""
    sys.path.insert(0, str(ROOT))
    from programs import PROGRAMS
    from testbed.arch import ARCHES
    from testbed.build.recipes import RECIPES
    from testbed.campaign.units import units
    from testbed.cli.names import COLUMNS, judge_all_names, total_rows
    from tests.image.executed import EXPLAINED, SAME, Compared, compared

    planned = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())
    found = Compared()
    for unit in planned:
        found.add(compared(unit))
    readers = sorted({reader for reader, _ in found.counts})
    reasons = {
        SAME: "function, file, line and every inlined call",
        **{why: said[-1] for why, said in EXPLAINED.items()},
    }
    counts = [(why, text, *(f"{found.counts[reader, why]:,}" for reader in readers)) for why, text in reasons.items()]
    counts.append(("unexplained", "none may be", *(str(len(found.unexplained)) for _ in readers)))
    introduction = (ROOT / "docs" / "names.intro.md").read_text(encoding="utf-8")
    return introduction.format(
        judged=_markdown(COLUMNS, total_rows(judge_all_names(planned))),
        executed=f"{found.executed:,}",
        inlined=f"{found.inlined:,}",
        units=len(planned),
        readers=_markdown(("what is said", "what that is", *readers), counts),
    )


def analysis(arguments: Sequence[str]) -> str:
    """docs/analysis-of-libraries.md: prologue_analysis beside the libraries' own unwind tables."""
    sys.path.insert(0, str(ROOT))
    from tests.unwinders.analysis.sweep import whole_page

    said = dict(pairwise(arguments))
    return whole_page(ROOT / "docs" / "analysis-of-libraries.intro.md", said.get("--armhf"), said.get("--most"))


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def tables_of_libraries() -> str:
    """docs/tables-of-libraries.md: every row of Debian's libraries beside readelf's, and what looking up costs."""
    sys.path.insert(0, str(ROOT))
    from tests.unwinders.tables.libraries import HEAD, installed, named_rows, sweep, swept_rows

    found = [swept for library in installed() for swept in sweep(library)]
    introduction = (ROOT / "docs" / "tables-of-libraries.intro.md").read_text(encoding="utf-8")
    named = _markdown(("architecture", "callee-saved registers", "others"), named_rows(found))
    return introduction.format(libraries=_markdown(HEAD, swept_rows(found)), named=named)


def traps() -> str:
    """docs/traps.md: what each trap does to the strategies beside its controls, from the golden counts."""
    sys.path.insert(0, str(ROOT))
    from programs import PROGRAMS
    from testbed.report.trap_fates import ShownCell
    from testbed.report.traps_text import traps_markdown
    from testbed.words.outcome import Outcome
    from tests.golden import STRATEGIES, all_cells

    def shown(counts: Mapping[str, Any]) -> dict[tuple[str, Outcome], int]:
        pairs = {tuple(pair.rsplit(" ", 1)): count for pair, count in counts["explained"].items()}
        return {(mechanism, Outcome(outcome)): count for (mechanism, outcome), count in pairs.items()}

    cells = [
        ShownCell(unit, name, counts["sites"] - counts["transition"], counts["exact"], shown(counts))
        for unit, name, counts in all_cells(STRATEGIES)
    ]
    return traps_markdown(PROGRAMS, cells)


LIMITS_EVERY = 4  # of so many units one on each architecture, of those that are one of each program there
REFEREE_STEPS = 8  # instructions of each unit that every real unwinder is asked about


def findings() -> None:
    """FINDINGS.md: every finding tried again; what is not installed is said to be so."""
    from programs import PROGRAMS
    from testbed.campaign.findings import show
    from testbed.cli.strategies import all_strategies
    from testbed.referee import REFEREES
    from testbed.report.findings_text import findings_markdown

    known = all_strategies()
    shown = [show(referee, each, known, PROGRAMS) for referee in REFEREES.values() for each in referee.findings]
    (ROOT / "FINDINGS.md").write_text(findings_markdown(shown), encoding="utf-8")


def referees() -> None:
    """docs/referees.md: how the real unwinders that are installed fare."""
    from pictures import testbed

    from testbed.referee import REFEREES
    from testbed.report.referees_text import PAGE, referees_markdown, section_of

    arguments = ["matrix", "--referees", "--one-each", "--steps", str(REFEREE_STEPS), "-j", "1"]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        cells = Path(folder, "matrix.json")
        testbed(*arguments, "--json", str(cells))
        data = json.loads(cells.read_text(encoding="utf-8"))
    page = referees_markdown(data["cells"], REFEREES, " ".join(["testbed", *arguments]))
    print(f"docs/referees.md: {time.monotonic() - began:.0f} s", file=sys.stderr)
    PAGE.write_text(f"{page}\n{section_of(PAGE.read_text(encoding='utf-8'))}", encoding="utf-8")


def limits() -> None:
    """docs/limits.md: what the limits of each strategy would hide."""
    sys.path.insert(0, str(ROOT))
    from limits_page import limits_page

    introduction = (ROOT / "docs" / "limits.intro.md").read_text(encoding="utf-8")
    (ROOT / "docs" / "limits.md").write_text(f"{introduction}\n{limits_page(LIMITS_EVERY)}", encoding="utf-8")


def proofs() -> None:
    """docs/proofs.md: what both witnesses say."""
    sys.path.insert(0, str(ROOT))
    from proofs_page import proofs_page

    introduction = (ROOT / "docs" / "proofs.intro.md").read_text(encoding="utf-8")
    (ROOT / "docs" / "proofs.md").write_text(proofs_page(introduction), encoding="utf-8")


def odd_code() -> None:
    """docs/odd-code.md: code whose stack is easily told wrong, and the rules that hold it."""
    sys.path.insert(0, str(ROOT))
    from odd_code import odd_code_page

    introduction = (ROOT / "docs" / "odd-code.intro.md").read_text(encoding="utf-8")
    (ROOT / "docs" / "odd-code.md").write_text(odd_code_page(introduction), encoding="utf-8")


def score() -> None:
    """docs/scoreboard.md: everybody whose score is known."""
    introduction = (ROOT / "docs" / "scoreboard.intro.md").read_text(encoding="utf-8")
    page = f"{introduction}\n{output_of('testbed score --markdown')}\n"
    (ROOT / "docs" / "scoreboard.md").write_text(page, encoding="utf-8")


def notebooks() -> None:
    """notebooks/*.ipynb, executed."""
    from notebook_outputs import write_all

    write_all()


def pictures() -> None:
    """The pictures that the documents show."""
    from pictures import write_all

    subprocess.run([sys.executable, str(ROOT / "docs" / "heat_map.py")], check=True)
    write_all()


def main() -> None:
    if "--pictures" in sys.argv[1:]:
        pictures()
        return
    if "--analysis" in sys.argv[1:]:
        (ROOT / "docs" / "analysis-of-libraries.md").write_text(analysis(sys.argv[1:]), encoding="utf-8")
        return
    if "--names" in sys.argv[1:]:
        (ROOT / "docs" / "names.md").write_text(names(), encoding="utf-8")
        return
    if "--tables" in sys.argv[1:]:
        (ROOT / "docs" / "tables-of-libraries.md").write_text(tables_of_libraries(), encoding="utf-8")
        return
    if "--findings" in sys.argv[1:]:
        findings()
        return
    if "--limits" in sys.argv[1:]:
        limits()
        return
    if "--notebooks" in sys.argv[1:]:
        notebooks()
        return
    if "--traps" in sys.argv[1:]:
        (ROOT / "docs" / "traps.md").write_text(traps(), encoding="utf-8")
        return
    if "--proofs" in sys.argv[1:]:
        proofs()
        return
    if "--odd-code" in sys.argv[1:]:
        odd_code()
        return
    if "--score" in sys.argv[1:]:
        score()
        return
    if "--referees" in sys.argv[1:]:
        findings()
        referees()
        return
    current = {path: path.read_text(encoding="utf-8") for path in WITH_BLOCKS}
    made = {path: with_blocks(text) for path, text in current.items()}
    if "--check" in sys.argv[1:]:
        sys.exit(made != current)
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    if "--blocks" in sys.argv[1:]:
        return
    (ROOT / "docs" / "traps.md").write_text(traps(), encoding="utf-8")
    (ROOT / "docs" / "names.md").write_text(names(), encoding="utf-8")
    (ROOT / "docs" / "tables-of-libraries.md").write_text(tables_of_libraries(), encoding="utf-8")
    findings()
    referees()
    limits()
    score()
    pictures()


if __name__ == "__main__":
    main()
