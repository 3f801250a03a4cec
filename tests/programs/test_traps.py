"""The traps are in the corpus, with references, and in what is printed about them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from docs.traps_page import ShownCell, fates, traps_markdown
from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import units
from testbed.campaign.matrix import judge_unit
from testbed.cli import cli
from testbed.program.model import program_from_text
from testbed.report.catalogue_text import shown_traps
from testbed.runs.judging import judge_all
from testbed.runs.run import run_program
from testbed.words.errors import BuildError
from testbed.words.outcome import Outcome
from testbed.words.traits import TRAPS
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


def sections(page: str) -> dict[int, dict[str, str]]:
    """Of each trap the lines of its section by their first words, and its command."""
    found = {}
    for part in page.split("\n## ")[1:]:
        lines = (line.removeprefix("- ").partition(": ") for line in part.splitlines() if line.startswith("- "))
        command = re.search(r"^testbed .*$", part, re.M)
        assert command is not None, part
        found[int(part.partition(".")[0])] = {key: text for key, _, text in lines} | {"command": command[0]}
    return found


def test_the_page_blames_a_trap_for_what_its_controls_do_not_show() -> None:
    names = ("epilogue_cfa_wrong", "epilogue_cfa", "no_table", "leaf_call", "leaf_no_frame")
    chosen = [PROGRAMS[name] for name in names]
    unwinders = [UNWINDERS[name] for name in ("fp_chain", "eh_frame", "prologue_analysis")]
    planned = units(chosen, [ARCHES["x86_64"]], [RECIPES["keystone"]])
    cells = [ShownCell.of(cell) for unit in planned for cell in judge_unit(unit, PROGRAMS, unwinders).cells]
    found = sections(traps_markdown({program.name: program for program in chosen}, cells))
    assert list(found) == list(TRAPS)
    epilogue = found[6]
    assert epilogue["programs"].startswith("`epilogue_cfa_wrong`, `epilogue_cfa`; controls: `leaf_call`,")
    assert epilogue["programs"].endswith("`epilogue_cfa`")  # the twin with the right table
    assert re.fullmatch(r"`eh_frame` \d %", epilogue["caught"]), "fp_chain lies there as it lies on leaf_call"
    assert epilogue["as ever"] == "`fp_chain`"
    assert epilogue["survive"] == "`prologue_analysis`"
    assert epilogue["command"] == "testbed run epilogue_cfa_wrong --arch x86_64 --recipe keystone -u eh_frame"
    assert "https://github.com/llvm/llvm-project/issues/110810" in epilogue["happened in"]
    assert found[1]["caught"].startswith("`fp_chain`"), "to a chain all code is like that"
    assert found[32]["stops"].startswith("`eh_frame`"), "without a table it stops, and does not lie"
    assert found[15]["caught"] == found[15]["survive"] == "nobody"


def test_without_its_controls_everybody_is_blamed() -> None:
    """The control makes the difference: what `fates` says of an unwinder follows from it."""
    chosen = [PROGRAMS[name] for name in ("epilogue_cfa_wrong", "leaf_call", "leaf_no_frame")]
    planned = units(chosen, [ARCHES["x86_64"]], [RECIPES["keystone"]])
    cells = [
        ShownCell.of(cell)
        for unit in planned
        for cell in judge_unit(unit, PROGRAMS, [UNWINDERS["fp_chain"], UNWINDERS["eh_frame"]]).cells
    ]
    trap = ["epilogue_cfa_wrong"]
    alone, beside = fates(6, trap, [], cells), fates(6, trap, ["leaf_call", "leaf_no_frame"], cells)
    assert [alone[name].word for name in ("fp_chain", "eh_frame")] == ["caught", "caught"]
    assert [beside[name].word for name in ("fp_chain", "eh_frame")] == ["as ever", "caught"]
    assert alone["eh_frame"].lies == beside["eh_frame"].lies > 0
    assert alone["fp_chain"].sites == beside["fp_chain"].sites


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
    """Its numbers are those of the day it was made; `python docs/regenerate.py --traps` makes it anew."""
    page = (Path(__file__).parents[2] / "docs" / "traps.md").read_text(encoding="utf-8")
    found = sections(page)
    for trap in shown_traps(PROGRAMS):
        assert f"## {trap.number}. {TRAPS[trap.number]}\n" in page
        names = ", ".join(f"`{program.name}`" for program in trap.programs)
        assert found[trap.number]["programs"].startswith(f"{names}; controls: ")
        arguments = found[trap.number]["command"].split()[1:]
        assert arguments[0] == "run" and arguments[1] in PROGRAMS
        assert arguments[-1] in UNWINDERS or len(arguments) == 2
