"""Functions judged by their own convention: exact by it, where the platform's would call their right tables lies."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck, FindingKind, Severity
from testbed.checks.options import CheckOptions
from testbed.checks.row_checks import check_rows, wrong_things
from testbed.cli.table_readers import READERS
from testbed.conventions.chosen import fitting_nothing, said_of
from testbed.report.check_formats import FORMATS
from testbed.report.check_report import CheckReport, told_beside
from testbed.report.json_data import run_data
from testbed.report.json_forms import schema
from testbed.runs.judging import judge_all
from testbed.runs.program_file import FileFacts, run_file
from testbed.runs.run import Run, run_built
from testbed.verdicts.counts import OUTCOMES
from testbed.verdicts.trace import Verdicts
from testbed.words.errors import UsageError
from testbed.words.outcome import Outcome
from unwinders import UNWINDERS

HERE = Path(__file__).parent
PLATFORMS = {"x86_64": "sysv", "arm64": "aapcs64"}


def run_of(program: str, arch: str, *said: str) -> Run:
    built = build(PROGRAMS[program], ARCHES[arch], RECIPES["keystone"])
    conventions = tuple(map(said_of, said)) or built.image.conventions
    return run_built(replace(built, image=replace(built.image, conventions=conventions)))


def outcomes(run: Run, natively: bool | None = None) -> set[Outcome]:
    verdicts = judge_all(run, UNWINDERS["eh_frame"], natively=natively)
    if isinstance(verdicts, Verdicts):  # what its columns say, which no specification made
        return {OUTCOMES[number] for number in verdicts.outcome.tolist()}
    return {verdict.outcome for verdict in verdicts}


@pytest.mark.parametrize("natively", [False, True])
@pytest.mark.parametrize("arch", PLATFORMS)
@pytest.mark.parametrize("program", ["go_convention", "ocaml_convention"])
def test_right_tables_are_exact_by_their_own_convention_and_lies_by_the_platforms(
    program: str, arch: str, natively: bool
) -> None:
    assert outcomes(run_of(program, arch), natively) == {Outcome.EXACT}
    of_c = run_of(program, arch, PLATFORMS[arch])
    assert outcomes(of_c, natively) == {Outcome.EXACT, Outcome.WRONG_REGISTER}
    assert not any(verdict.unexplained for verdict in judge_all(of_c, UNWINDERS["eh_frame"], natively=natively))


@pytest.mark.parametrize("natively", [False, True])
@pytest.mark.parametrize("arch", PLATFORMS)
@pytest.mark.parametrize("program", ["go_convention", "ocaml_convention"])
def test_assumptions_hold_a_register_to_the_convention_too(program: str, arch: str, natively: bool) -> None:
    run = run_of(program, arch)
    for unwinder in (each for each in UNWINDERS.values() if each.applies_to(run.built.image)):
        for step, verdict in enumerate(judge_all(run, unwinder, natively=natively)):
            assert not verdict.unexplained, (unwinder.name, step)
            assert bool(run.why(verdict, step)) == (verdict.failed is not None), (unwinder.name, step)


def test_what_is_said_is_told_in_text_and_json() -> None:
    run = run_of("go_convention", "x86_64")
    said, shown = run.conventions
    assert str(said) == "1 function by Go ABIInternal, not System V x86_64: it was said"
    assert str(shown) == "1 function by Go ABI0, not System V x86_64: its name ends in .abi0"
    (printed, _) = run_data(run, ())["conventions"]
    assert printed.keys() == schema("run")["properties"]["conventions"]["items"]["properties"].keys()
    assert (printed["name"], printed["functions"], printed["why"]) == ("go", 1, "it was said")
    assert "conventions" not in run_data(run_of("leaf_call", "x86_64"), ())


def checked(source: str, tmp_path: Path, *said: str, flags: Sequence[str] = (), arch: str | None = None) -> FileCheck:
    conventions = tuple(map(said_of, said))
    options = CheckOptions(runs=20, steps=200, arch=arch, flags=tuple(flags), conventions=conventions)
    return check_file(HERE / "sources" / source, options, READERS)


def wrong(check: FileCheck) -> set[str]:
    return {finding.function for finding in check.findings if finding.kind is FindingKind.WRONG_ROW}


@pytest.mark.parametrize(
    ("said", "those"),
    [
        ((), {"helper", "mistaken"}),
        (("helper=sysv-rbx",), {"mistaken"}),  # its callers know; another one's do not
        (("helper=sysv-r12",), {"helper", "mistaken"}),  # something else is said
        (("sysv-rbx",), set()),
        (("sysv-rbx", "mistaken=sysv"), {"mistaken"}),  # the last one that fits
    ],
)
def test_a_helper_that_is_said_to_have_a_contract_is_judged_by_it(
    said: tuple[str, ...], those: set[str], tmp_path: Path
) -> None:
    check = checked("helper.x86_64.S", tmp_path, *said)
    assert wrong(check) == those
    assert all("it was said" in str(each) for each in check.conventions) and bool(check.conventions) == bool(said)


def test_a_file_of_go_is_judged_by_go_and_says_why(tmp_path: Path) -> None:
    """And the frame pointer, which its tables never mention, is not held against them; a wrong CFA is."""
    check = checked("go.x86_64.S", tmp_path)
    assert wrong(check) == {"main.mistaken"}
    (taken,) = check.conventions
    assert (taken.name, taken.functions, taken.why) == ("go", 3, "the file has .gopclntab")
    assert {"main.sum", "main.outer"} <= wrong(checked("go.x86_64.S", tmp_path, "sysv"))


def test_a_function_that_keeps_more_than_the_platform_asks_is_held_to_it(tmp_path: Path) -> None:
    """preserve_most: r10 comes back, or the table, which says nothing of it, is wrong."""
    assert wrong(checked("keeps_more.x86_64.S", tmp_path)) == set()
    assert wrong(checked("keeps_more.x86_64.S", tmp_path, "loses=preserve_most", "keeps=preserve_most")) == {"loses"}


def test_debug_information_says_how_a_function_is_called_and_who_made_it(tmp_path: Path) -> None:
    check = checked("units.x86_64.S", tmp_path)
    assert wrong(check) == {"of_another"}
    assert {(each.name, each.why) for each in check.conventions} == {
        ("ocaml", "ocamlopt made its unit"),
        ("preserve_none", "its debug information says DW_CC_LLVM_PreserveNone"),
    }
    assert wrong(checked("units.x86_64.S", tmp_path, "of_itself=sysv")) == {"of_another", "of_itself"}


@pytest.mark.parametrize("arch", PLATFORMS)
def test_what_clang_writes_into_debug_information_is_read(arch: str, tmp_path: Path) -> None:
    check = checked("preserve_all.c", tmp_path, flags=("-O1", "-g"), arch=arch)
    (taken,) = check.conventions
    assert (taken.name, taken.functions) == ("preserve_all", 1)
    assert taken.why == "its debug information says DW_CC_LLVM_PreserveAll"


def test_the_rows_of_clang_come_late_where_it_saves_vector_registers(tmp_path: Path) -> None:
    """LLVM's X86FrameLowering: the CFA's row of `sub rsp` stands behind the saves of xmm0 to xmm15."""
    check = checked("preserve_all.c", tmp_path, "keeps=preserve_all", flags=("-O2", "-fasynchronous-unwind-tables"))
    finding = next(finding for finding in check.findings if finding.function == "keeps")
    assert finding.severity is Severity.ERROR and finding.things[0].what == "CFA"
    assert check.conventions[0].unwatched[0] == "xmm2"


def test_what_is_said_of_no_function_is_told(tmp_path: Path) -> None:
    (note,) = (note for note in checked("helper.x86_64.S", tmp_path, "helpers=go").notes if "--convention" in note)
    assert "'helpers'" in note and "no such function" in note
    assert not any("--convention" in note for note in checked("helper.x86_64.S", tmp_path, "help*=sysv").notes)


@pytest.mark.parametrize(("file", "is_told"), [("", True), ("{}!", True), ("*!", False), ("libc.so.6!", False)])
def test_what_names_this_file_and_no_function_of_it_is_told(file: str, is_told: bool) -> None:
    """What may be said of another file is not."""
    image = build(PROGRAMS["leaf_call"], ARCHES["x86_64"], RECIPES["keystone"]).image
    missing = file.format(image.path.name) + "no_such"
    assert fitting_nothing(image, [(missing, "sysv")]) == [missing] * is_told
    assert not fitting_nothing(image, [(file.format(image.path.name) + "_start", "sysv")])


def test_a_tail_call_goes_on_under_the_convention_of_the_function_that_was_called(tmp_path: Path) -> None:
    program = tmp_path / "tail_call"
    source = HERE / "sources" / "tail_call.x86_64.S"
    cc = (sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-musl", "-static", "-nostdlib")
    subprocess.run([*cc, source, "-o", program], check=True)
    run = run_file(program, facts=FileFacts(conventions=(("other", "ocaml"),)))
    verdicts = judge_all(run, UNWINDERS["eh_frame"], natively=True)
    lies = [step for step, verdict in enumerate(verdicts) if verdict.outcome is Outcome.WRONG_REGISTER]
    (loaded,) = run.trace.images
    rows = UNWINDERS["eh_frame"].rows
    assert rows is not None
    checks = check_rows(run.watched, rows(loaded.image), loaded)
    assert [wrong_things(mask, run.trace.arch) for mask in checks.wrong[lies].tolist()] == [("rbx",)] * 3
    assert np.flatnonzero(checks.wrong).tolist() == lies, "the rows of `other` too, which were not asked to keep it"


def test_a_convention_of_another_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no convention 'aapcs64' for x86_64"):
        checked("helper.x86_64.S", tmp_path, "aapcs64")


def test_the_json_of_a_check_has_the_conventions_where_there_are_some(tmp_path: Path) -> None:
    def printed(*said: str) -> dict[str, Any]:
        report = CheckReport(told_beside((), [checked("helper.x86_64.S", tmp_path, *said)]), (), (), None, None)
        one: dict[str, Any] = json.loads(FORMATS["json"](report))["files"][0]
        return one

    assert "conventions" not in printed()
    (taken,) = printed("helper=sysv-rbx")["conventions"]
    assert taken["name"] == "sysv-rbx" and taken["title"] == "System V x86_64; changes rbx"
