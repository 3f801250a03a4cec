"""Corrections of damaged sources: what `--fix` writes is what the author wrote, to the letter.

`fixed/NAME.ARCH.S` holds a right source, its header the damages, as in `declared_cases`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.fixing import annotated, failing, fixed
from testbed.checks.model import FileCheck, HowKnown
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from tests.checks.declared_cases import DeclaredCase, cases_of

pytest.importorskip("ziglang", reason="needs pip install ziglang")

SOURCES = sorted((Path(__file__).parent / "fixed").glob("*.*.S"))
CASES = [case for source in SOURCES for case in cases_of(source)]


@pytest.mark.whole
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.source.stem}, {case.name}")
def test_a_damage_comes_back_as_it_was_written(case: DeclaredCase, tmp_path: Path) -> None:
    original = case.source.read_text(encoding="utf-8").split("\n\n", 1)[1]
    path = tmp_path / "code.S"
    path.write_text(case.text, encoding="utf-8")

    def checked(text: str, functions: Sequence[str]) -> FileCheck:
        return check_file(path, replace(case.options, functions=tuple(functions)), READERS, text=text)

    found = fixed(path, case.text, checked(case.text, ()), checked)
    assert (found.left, replace(found, old=original).diff("code.S")) == ((), "")


LONG = """
	.text
	.globl	long
	.type	long, @function
long:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_adjust_cfa_offset 24
	.rept	60
	incq	(%rsp)
	.endr
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	.cfi_endproc
	.size	long, .-long
"""


def test_what_is_not_executed_is_corrected_by_what_the_instructions_say(tmp_path: Path) -> None:
    path, text = tmp_path / "code.S", LONG.replace("\t.cfi_adjust_cfa_offset -24\n", "")
    path.write_text(text, encoding="utf-8")
    options = CheckOptions(arch="x86_64", runs=2, steps=20)

    def checked(text: str, functions: Sequence[str]) -> FileCheck:
        return check_file(path, replace(options, functions=tuple(functions)), READERS, text=text)

    check = checked(text, ())
    assert {each.evidence for each in failing(check)} == {HowKnown.STATIC}
    assert fixed(path, text, check, checked).new == LONG


@pytest.mark.parametrize("case", {case.source: case for case in CASES}.values(), ids=lambda case: case.source.stem)
def test_what_has_no_directive_gets_right_ones(case: DeclaredCase, tmp_path: Path) -> None:
    original = case.source.read_text(encoding="utf-8").split("\n\n", 1)[1]
    text = re.sub(r"^[ \t]*\.cfi_.*\n|\.cfi_startproc$", "", original, flags=re.M)
    path = tmp_path / "code.S"
    path.write_text(text, encoding="utf-8")

    def checked(text: str, functions: Sequence[str]) -> FileCheck:
        return check_file(path, replace(case.options, functions=tuple(functions)), READERS, text=text)

    found = annotated(path, text, checked(text, ()), checked)
    after = checked(found.new, ())
    assert (found.left, len(found.corrected), [*failing(after)]) == ((), len(after.functions), [])
    assert after.total("never") == after.total("without_row") == 0 and ".cfi_" not in text
