"""Sources with right and wrong tables, and all that a check says of each.

`declared/NAME.ARCH.S` (or `.c`) holds the code, its header the cases: how some lines are written instead (``-``,
``+``), with which options (``!``), and what is said (``|``), which ``pytest -n0 --update-golden`` writes anew.
Directives that are advised are written into the source, where the words say, and it is checked again.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.fixing import annotated, failing, fixed
from testbed.checks.model import FileCheck, FindingKind, FunctionCheck, HowKnown, TableFinding
from testbed.checks.options import CheckOptions
from testbed.checks.source_edits import patched
from testbed.cli.table_readers import READERS
from testbed.report.check_words import answer, sentence, tried_words
from testbed.runs.by_name import built_file
from testbed.runs.run import run_built
from tests.checks.damaged_sources import stripped
from tests.checks.declared_cases import CASES, DeclaredCase, cases_of, checked
from tests.checks.libraries import FOLDERS
from tests.checks.watched_tables import linted

pytest.importorskip("ziglang", reason="needs pip install ziglang")

_NAMELESS = re.compile(r"\b0x[0-9a-f]{4,}(?=\+| <| \(|\.)")  # functions that are called by their address


def told(case: DeclaredCase, folder: Path) -> Iterator[str]:
    """All that is said of one case, and of its source as is advised."""
    check = checked(case, folder, case.text)[1]
    yield _NAMELESS.sub("no name", answer("it", [check]))
    lines = ["", *case.text.splitlines()]
    for each in check.findings:
        shown = each.consequence.shown if each.consequence else ""
        weight = f"{each.severity.value} `{lines[each.line].strip()}`, {_place(each)}"
        yield "; ".join(filter(None, (weight, _NAMELESS.sub("no name", shown), tried_words(each))))
        yield _NAMELESS.sub("no name", sentence(each))
    yield from (
        f"{_counts(piece)}, {'all' if piece.returned == piece.calls else 'some'} came back" for piece in check.functions
    )
    yield from (f"not called: {_counts(piece)}" for piece in check.parts)
    yield from (f"note: {note}" for note in check.notes)
    yield from (f"could not be checked: {function}: {why}" for function, why in check.failures.items())
    yield from (f"dropped {number}: {why}" for why, number in check.dropped.items())
    if any(each.repair for each in check.findings):
        yield f"as is advised: {answer('it', [checked(case, folder, repaired(case.text, check))[1]])}"


def _place(finding: TableFinding) -> str:
    """What is to change: the statement, and which line of a macro's it is."""
    at = finding.place
    if at is None:
        return "no place"
    within = f" in {at.macro}, {at.macro_line - at.line:+}" if at.macro else ""
    return f"at {at.line - finding.line:+}, {at.column}: `{at.text}`{within}"


def _counts(piece: FunctionCheck) -> str:
    counts = ((what, getattr(piece, what)) for what in ("executed", "forced", "static", "never", "without_row"))
    parts = (f"{number} {what.replace('_', ' ')}" for what, number in counts if number)
    return ", ".join((f"{re.sub('^0x.*', 'no name', piece.name)}: {piece.instructions}", *parts))


def repaired(text: str, check: FileCheck) -> str:
    """The source with all that is advised."""
    repairs = [each.repair for told in check.findings for each in told.each]
    return patched(text, [edit for repair in repairs if repair for edit in repair.edits])


@pytest.mark.whole
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.source.stem}, {case.name}")
def test_what_is_said(case: DeclaredCase, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    said = tuple(told(case, tmp_path))
    if request.config.getoption("--update-golden") and said != case.said:
        kept = "".join(f"{line}\n" for line in case.block.splitlines() if not line.startswith("// |"))
        text = case.source.read_text(encoding="utf-8")
        assert text.count(f"// case: {case.block}") == 1
        marks = "".join(f"// | {line}\n" for line in said)
        case.source.write_text(
            text.replace(f"// case: {case.block.rstrip()}\n", f"// case: {kept}{marks}"), encoding="utf-8"
        )
        return
    assert said == case.said


# Calls within a function that nobody comes back from, in a run of a whole program: what a check says, `lint` says.


CALLS = [
    case
    for case in CASES
    if case.source.stem.partition(".")[0] in ("thunk", "inline_thunk", "refill", "string", "subroutine")
    and "elsewhere" not in case.text
]
START = """.text
.globl _start
.type _start, @function
_start: .cfi_startproc
 .cfi_undefined %rip
 leaq g(%rip), %r11
 call f
 movl $60, %eax
 xorl %edi, %edi
 syscall
.cfi_endproc
.size _start, . - _start
.type g, @function
g: .cfi_startproc
 movl $3, %eax
 ret
.cfi_endproc
.size g, . - g
"""


@pytest.mark.parametrize("case", CALLS, ids=lambda case: f"{case.source.stem}, {case.name}")
def test_a_run_of_a_program_shows_the_same(tmp_path: Path, case: DeclaredCase) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    path, check = checked(case, tmp_path, case.text)
    path.write_text(START + case.text.replace("leaq f(", "leaq g("))
    program = tmp_path / "program"
    subprocess.run(["gcc", "-g", "-nostdlib", "-static", "-no-pie", "-o", program, path], check=True)
    run = run_built(built_file(program))
    assert run.failure == ""
    found = [
        [(each.things, each.repair and each.repair.directives[0].split()[-1]) for each in findings]
        for findings in (linted(run, "eh_frame").findings, check.findings)
    ]
    assert found[0] == found[1]


# Corrections of damaged sources: what `--fix` writes is what the author wrote, to the letter.


FIXED_SOURCES = sorted((Path(__file__).parent / "fixed").glob("*.*.S"))
FIXED = [case for source in FIXED_SOURCES for case in cases_of(source)]


@pytest.mark.whole
@pytest.mark.parametrize("case", FIXED, ids=lambda case: f"{case.source.stem}, {case.name}")
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


def test_what_no_caller_keeps_has_no_part_in_what_is_corrected(tmp_path: Path) -> None:
    """SP is said to hold r11, which nobody keeps: that is wrong behind the pop, and no reason to restore a state."""
    source = next(source for source in FIXED_SOURCES if source.stem == "aligned.x86_64")
    text = source.read_text(encoding="utf-8").split("\n\n", 1)[1]
    text = text.replace(".cfi_restore\t%rbx\n", ".cfi_restore\t%rbx\n.cfi_register\t%r11,%rsp\n")
    path = tmp_path / "code.S"
    path.write_text(text.replace("cfa_offset\t-8", "cfa_offset\t8"), encoding="utf-8")
    check = check_file(path, CheckOptions(arch="x86_64"), READERS)
    new = [edit.new for told in check.findings for each in told.each if each.repair for edit in each.repair.edits]
    assert new == [".cfi_adjust_cfa_offset\t-8"]


@pytest.mark.parametrize("case", {case.source: case for case in FIXED}.values(), ids=lambda case: case.source.stem)
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


DATA = next(case for case in FIXED if case.source.stem == "data.x86_64")
IN_THE_RED_ZONE = """
	.globl	f
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset	%rbx, -16
	movq	%rdi, %rbx
	movq	%r12, -24(%rsp)
	.cfi_offset	%r12, -40
	movq	%rdi, %r12
	.rept	60
	incq	%rbx
	.endr
	movq	-24(%rsp), %r12
	.cfi_restore	%r12
	popq	%rbx
	.cfi_def_cfa_offset 8
	.cfi_restore	%rbx
	ret
	.cfi_endproc
	.size	f, .-f
"""


@pytest.mark.parametrize(
    ("text", "options", "functions"),
    [
        (DATA.source.read_text(encoding="utf-8").split("\n\n", 1)[1], DATA.options, 2),
        (IN_THE_RED_ZONE, CheckOptions(arch="x86_64"), 1),
        (IN_THE_RED_ZONE, CheckOptions(arch="x86_64", runs=2, steps=20), 1),
    ],
    ids=["data", "red zone", "not executed"],
)
def test_a_register_is_given_back_before_its_slot_is_anybodys(
    text: str, options: CheckOptions, functions: int, tmp_path: Path
) -> None:
    """What `annotate` writes has the rows of the author's directives, `.cfi_restore` among them."""
    path = tmp_path / "code.S"
    path.write_text(text, encoding="utf-8")
    assert stripped(path, options) == dict.fromkeys(("right", "annotated", "equal"), functions)


# Defects of Debian's glibc 2.36 that are known from watching whole programs: the command finds them by name.


# By architecture and function: what is found of it. `clone` ends its entry before the system call; `swapcontext` loads
# another context's registers without a directive; arm64's `rawmemchr` keeps the return address in x15 and says so for
# the instructions around, too.
KNOWN = {
    "x86_64": {"swapcontext": FindingKind.WRONG_ROW, "clone": FindingKind.NO_ROW},
    "arm64": {"swapcontext": FindingKind.WRONG_ROW, "rawmemchr": FindingKind.WRONG_ROW},
}


@pytest.mark.parametrize("arch", KNOWN)
def test_known_defects_of_glibc_are_found_by_name(arch: str) -> None:
    path = FOLDERS[arch] / "libc.so.6"
    if not path.exists() or b"GNU C Library (Debian GLIBC 2.36" not in path.read_bytes():
        pytest.skip("needs Debian 12's libc6 (for arm64: libc6-arm64-cross)")
    found = check_file(path, CheckOptions(functions=tuple(KNOWN[arch])), READERS)
    assert {(each.function, each.kind) for each in found.findings} == set(KNOWN[arch].items())
    executed = {each.function for each in found.findings if each.evidence is HowKnown.EXECUTED}
    assert executed == set(KNOWN[arch])
