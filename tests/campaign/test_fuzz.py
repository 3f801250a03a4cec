"""Fuzzing: a strategy broken on purpose is found, and shrunk to the smallest shape that shows how."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from click.testing import CliRunner

from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.fuzz import FuzzFinding, cases, failures, judge_case, shrunk
from testbed.campaign.results import Unit
from testbed.cli import cli
from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Unwinder
from testbed.generate.evaluate import Evaluation, evaluate
from testbed.generate.program import parse_director, shape_named
from testbed.generate.shape import Shape
from testbed.generate.shrink import smaller
from testbed.trace import Snapshot
from testbed.words.errors import UsageError
from testbed.words.outcome import Outcome
from unwinders import UNWINDERS
from unwinders.tables.eh_frame import EH_FRAME

FRAME = 0x50  # bytes: the saved link register in 16, and locals of 49 to 64


def _lies_about_one_frame(snapshot: Snapshot) -> Backtrace:
    """eh_frame, but behind the caller's frame of FRAME bytes it claims the end of the stack."""
    said = EH_FRAME.unwind(snapshot)
    for below, frame in enumerate(said.frames[1:]):
        cfa = said.frames[below].cfa
        if cfa is not None and frame.cfa is not None and frame.cfa - cfa == FRAME:
            return Backtrace(said.frames[: below + 2], None)
    return said


LIAR = Unwinder(
    name="liar", summary="wrong at one frame size", unwind=_lies_about_one_frame, assumption=EH_FRAME.assumption
)
LARGE = "f120r3pi1c2+f64r1ms1c2i3+f24a3r2+f8d"  # function 1 has the frame; it is no leaf
CASE = Unit(f"gen:{LARGE}", "arm64", "keystone")


def finding_of(case: Unit, unwinder: Unwinder) -> FuzzFinding:
    (failure,) = failures(judge_case(case, [unwinder]))
    return shrunk(case, shape_named(case.program.partition(":")[2]), failure, [unwinder])


def test_a_strategy_that_lies_at_one_frame_size_is_shrunk_to_that_frame_in_a_function_that_calls() -> None:
    found = finding_of(CASE, LIAR)
    assert (found.failure.unwinder, found.failure.outcome) == ("liar", Outcome.ENDED_EARLY)
    assert str(found.shape) == "f56s1", "one function that calls itself, its frame as small as rounding allows"
    assert found.command == f"testbed run gen:{found.shape} --arch arm64 --recipe keystone --unwinder liar"
    assert not judge_case(replace(CASE, program="gen:f64+f64"), [LIAR]).failed
    for shape in smaller(found.shape):
        assert failures(judge_case(replace(CASE, program=f"gen:{shape}"), [LIAR])) == (), str(shape)


def test_what_no_strategy_gets_wrong_is_no_failure() -> None:
    result = judge_case(CASE, [EH_FRAME])
    assert result.cells[0].sites == result.steps > 50
    assert result.unit == CASE
    assert failures(result) == ()


def test_a_program_that_does_not_do_what_its_oracle_says_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """An oracle that is wrong about functions with two saved registers or more stands for a wrong build."""

    def wrong(shape: Shape) -> Evaluation:
        right = evaluate(shape)
        off = any(function.saved >= 2 for function in shape.functions)
        return replace(right, status=right.status ^ 2) if off else right

    monkeypatch.setattr("testbed.generate.program.evaluate", wrong)
    (failure,) = failures(judge_case(CASE, [EH_FRAME]))
    assert failure.unwinder == "" and "exit status" in failure.sentence
    found = shrunk(CASE, parse_director(LARGE), failure, [EH_FRAME])
    assert str(found.shape) == "fr2"
    assert found.command == "testbed run gen:fr2 --arch arm64 --recipe keystone"


def test_cases_are_every_seed_in_both_languages_by_every_recipe() -> None:
    recipes = [RECIPES["keystone"], RECIPES["keystone-thumb"], RECIPES["clang-O2"]]
    found = [str(case) for case in cases(range(3, 5), [ARCHES["arm32"]], recipes)]
    assert found == [
        *("gen:3-arm32-keystone", "gen:3-arm32-keystone-thumb", "genc:3-arm32-clang-O2"),
        *("gen:4-arm32-keystone", "gen:4-arm32-keystone-thumb", "genc:4-arm32-clang-O2"),
    ]


# The command


def fuzz(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["fuzz", "-j1", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit | UsageError), result.exception
    return result.exit_code, result.stdout


def test_fuzz_judges_seeds_and_says_how_much(tmp_path: Path) -> None:
    saved = tmp_path / "findings.txt"
    status, printed = fuzz("--seeds", "2", "-a", "arm64", "-r", "keystone", "-u", "eh_frame", "--save", str(saved))
    assert status == 0
    assert printed.startswith("seeds 0 to 1: 2 units, ")
    assert printed.endswith("everything explained\n")
    assert not saved.exists()


def test_fuzz_prints_and_saves_the_command_that_shows_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(UNWINDERS["fp_chain"], name="fp_chain", assumption=None)
    monkeypatch.setattr("testbed.cli.strategies.UNWINDERS", MappingProxyType({"fp_chain": broken}))
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))
    saved = tmp_path / "findings.txt"
    where = ("--seeds", "1", "-a", "x86_64", "-r", "keystone", "--save", str(saved))
    status, printed = fuzz(*where)
    assert status == 1
    command = "testbed run gen:f --arch x86_64 --recipe keystone --unwinder fp_chain"
    assert command in printed and "UNEXPLAINED" in printed
    assert command in saved.read_text().splitlines()
    assert not (tmp_path / "cache").exists(), "what nobody builds twice is not kept"
    status, printed = fuzz(*where, "--json")
    found = json.loads(printed)
    assert (status, found["schema"], found["seeds"], found["units"]) == (1, 2, [0, 0], 1)
    assert {each["program"] for each in found["findings"]} >= {"gen:f"}
    assert {each["command"] for each in found["findings"]} == set(saved.read_text().splitlines())


def test_fuzz_stops_when_its_time_is_over() -> None:
    status, printed = fuzz("--minutes", "0.02", "-a", "arm64", "-r", "keystone", "-u", "eh_frame")
    assert status == 0
    assert int(printed.split(" units")[0].split()[-1]) < 200


def test_fuzz_says_what_it_cannot_do() -> None:
    for arguments in (("--seeds", "1", "--minutes", "1"), ("-r", "keystone-thumb", "-a", "arm64")):
        result = CliRunner().invoke(cli, ["fuzz", "-j1", *arguments])
        assert isinstance(result.exception, UsageError)


def test_generate_writes_a_source_that_runs(tmp_path: Path) -> None:
    for name, arguments in (("a.c", ("-l", "c")), ("b.thumb.S", ("-a", "thumb")), ("c.arm64.S", ("-a", "aarch64"))):
        result = CliRunner().invoke(cli, ["generate", "f8c1+f", *arguments, "-o", str(tmp_path / name)])
        assert (result.exit_code, result.stdout) == (0, "")
        assert CliRunner().invoke(cli, ["run", str(tmp_path / name), "-u", "stack_scan"]).exit_code == 0
    printed = CliRunner().invoke(cli, ["generate", "f8c1+f", "-a", "arm64"]).stdout
    assert printed == (tmp_path / "c.arm64.S").read_text()
    refused = CliRunner().invoke(cli, ["generate", "f8", "-l", "c", "-a", "arm64"])
    assert isinstance(refused.exception, UsageError)
