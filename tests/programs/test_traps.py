"""The traps are in the corpus, with references, and in what is printed about them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.campaign.matrix import judge_unit
from testbed.campaign.units import units
from testbed.cli import cli
from testbed.program.model import program_from_text
from testbed.report.traps_text import shown_traps, traps_markdown
from testbed.runs.judging import judge_all
from testbed.runs.run import run_program
from testbed.words.errors import BuildError
from testbed.words.outcome import Outcome
from testbed.words.traps import TRAPS
from unwinders import UNWINDERS

pytestmark = pytest.mark.whole


def test_every_trap_has_a_program_and_a_reference() -> None:
    shown = {trap.number: trap for trap in shown_traps(PROGRAMS)}
    assert list(shown) == list(TRAPS) == list(range(1, 40))
    assert all(trap.programs and trap.references for trap in shown.values())


def test_the_list_of_traps_names_programs_and_references() -> None:
    printed = CliRunner().invoke(cli, ["list", "programs", "--traps"])
    assert printed.exit_code == 0
    assert "epilogue_cfa_wrong" in "".join(printed.output.split())
    refused = CliRunner().invoke(cli, ["list", "recipes", "--traps"])
    assert refused.exit_code != 0


def test_the_page_says_who_lies_who_stops_and_who_survives() -> None:
    chosen = [PROGRAMS["epilogue_cfa_wrong"], PROGRAMS["no_table"]]
    strategies = [UNWINDERS[name] for name in ("fp_chain", "eh_frame")]
    planned = units(chosen, [ARCHES["x86_64"]], [RECIPES["keystone"]])
    cells = [cell for unit in planned for cell in judge_unit(unit, PROGRAMS, strategies).cells]
    page = traps_markdown({program.name: program for program in chosen}, cells)
    rows = {line.split(" | ")[0].strip("| "): line.split(" | ") for line in page.splitlines() if line.startswith("| ")}
    assert len(rows) == 1 + len(TRAPS)
    assert rows["6"][2] == "`epilogue_cfa_wrong`"
    assert "`eh_frame` 5 %" in rows["6"][3]
    assert "https://github.com/llvm/llvm-project/issues/110810" in rows["6"][6]
    assert rows["18"][4].startswith("`eh_frame`"), "without a table it stops, and does not lie"
    assert rows["15"][2:6] == ["-"] * 4


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_an_exchanged_index_misleads_the_search_and_not_the_table(arch: str) -> None:
    run = run_program(PROGRAMS["index_exchanged"], ARCHES[arch])
    assert all(verdict.exact for verdict in judge_all(run, UNWINDERS["eh_frame"]))
    verdicts = judge_all(run, UNWINDERS["eh_frame_hdr"])
    inside = {*run.steps_in("work"), *run.steps_in("helper")}
    assert inside == {step for step, verdict in enumerate(verdicts) if verdict.outcome is Outcome.REFUSED}
    assert all(verdicts[step].exact for step in range(len(run)) if step not in inside)


def test_exchanged_functions_have_to_exist() -> None:
    header = "// summary: no such function here\n// exit: 1\n// exchanged: work, helper\n"
    text = f"{header}_start:\n.cfi_startproc\nnop\n.cfi_endproc\n"
    program = program_from_text("x", ARCHES["arm64"], text)
    with pytest.raises(BuildError, match="there is no label 'work'"):
        build(program, ARCHES["arm64"], RECIPES["keystone"])


def test_the_page_in_the_documents_has_today_s_traps_and_programs() -> None:
    """Its numbers are those of the day it was made; `python docs/regenerate.py` makes it anew."""
    page = (Path(__file__).parents[2] / "docs" / "traps.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| \d", line)]
    said = [(row[0].strip("| "), row[1], row[2]) for row in rows]
    assert said == [
        (str(trap.number), TRAPS[trap.number], ", ".join(f"`{p.name}`" for p in trap.programs) or "-")
        for trap in shown_traps(PROGRAMS)
    ]
    assert all("`" in row[3] + row[4] for row in rows if row[2] != "-"), "nobody falls for it"
