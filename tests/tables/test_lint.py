"""What `testbed lint` blames, what it leaves alone, and what it proposes."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.cli import cli
from testbed.runs.run import run_program
from testbed.tables.lint import Advice, lint
from unwinders import UNWINDERS

TABLE = {"x86_64": "eh_frame", "arm64": "eh_frame", "arm32": "debug_frame"}


def advice(program: str, arch: str, recipe: str | None = None) -> tuple[Advice, ...]:
    run = run_program(PROGRAMS[program], ARCHES[arch], recipe)
    rows = UNWINDERS[TABLE[arch]].rows
    assert rows is not None
    return lint(run, rows(run.built.image))


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("program", ["red_zone", "leaf_call", "callee_saved", "probe_loop", "realigned", "longjmp"])
def test_a_right_table_is_not_blamed(program: str, arch: str) -> None:
    """`red_zone`: rules that point below SP are legal while the value is there."""
    assert advice(program, arch, "keystone") == ()


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_compilers_with_asynchronous_tables_are_not_blamed(arch: str) -> None:
    assert advice("recursion", arch, "clang-O2") == ()


def test_a_register_that_is_back_is_to_be_restored() -> None:
    said = advice("early_return_wrong", "x86_64", "keystone")
    assert said[0].directives == (".cfi_restore_state",)
    assert said[0].remembered
    assert "rbx is at CFA-0x18" in said[0].sentence
    assert "`.cfi_remember_state` before classify" in said[0].sentence


def test_a_start_without_an_end_of_the_stack_is_told_to_say_so() -> None:
    (first, *_) = advice("end_zero", "arm64", "keystone")
    assert first.where == "_start"
    assert first.directives == (".cfi_undefined x30",)


def test_the_sentence_names_the_row_the_truth_and_the_fix() -> None:
    (said,) = advice("epilogue_cfa_wrong", "x86_64", "keystone")
    assert said.sentence == (
        "work+0xb (ret): the row says CFA = rsp+0x10, the true CFA is rsp+0x8 here: "
        "add `.cfi_def_cfa_offset 0x8` before it"
    )


def test_a_sign_state_is_blamed_even_where_taking_the_signature_off_does_no_harm() -> None:
    """LLVM 20's order (https://github.com/llvm/llvm-project/issues/137802): only who authenticates would notice."""
    (said,) = advice("pac_early", "arm64", "keystone")
    assert said.sentence == (
        "work (paciasp): the row says the return address is signed, and here it is not: "
        "add `.cfi_negate_ra_state` before it"
    )
    assert advice("pac_ret", "arm64", "keystone") == ()


def test_the_command_has_an_exit_status_and_names_the_table() -> None:
    good = CliRunner().invoke(cli, ["lint", "epilogue_cfa", "--arch", "arm32"])
    assert (good.exit_code, good.output.startswith("debug_frame: every row is right")) == (0, True)
    bad = CliRunner().invoke(cli, ["lint", "epilogue_cfa_wrong", "--arch", "arm64"])
    assert (bad.exit_code, ".cfi_def_cfa_offset 0x0" in bad.output) == (1, True)
