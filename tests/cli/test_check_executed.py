"""`testbed check --executed`: exit statuses, JSON, and runs and tables that are broken."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.report.schemas import schema
from testbed.runs.run import run_program
from tests.cli.command import Testbed, tells

STOPS = """\
// summary: its epilogue has no row, and then it goes where no code is
// exit: 0
.intel_syntax noprefix
.globl _start
.type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    call work
    xor eax, eax
    jmp rax
    .cfi_endproc
.size _start, . - _start
.type work, @function
work:
    .cfi_startproc
    push rbx
    .cfi_def_cfa_offset 16
    .cfi_offset rbx, -16
    pop rbx
    ret
    .cfi_endproc
.size work, . - work
"""


def test_many_functions_without_a_row_are_one_finding(testbed: Testbed, tmp_path: Path) -> None:
    names = [f"bare{k}" for k in range(6)]
    calls = "".join(f"    call {name}\n" for name in names)
    path = tmp_path / "bare.x86_64.S"
    bodies = "".join(
        f".type {name}, @function\n{name}:\n    nop\n    ret\n.size {name}, . - {name}\n" for name in names
    )
    start, _, _ = STOPS.partition("    call work\n")
    ends = "    mov edi, 0\n    mov eax, 60\n    syscall\n    .cfi_endproc\n.size _start, . - _start\n"
    path.write_text(f"{start}{calls}{ends}{bodies}")
    out = testbed("check", str(path), "--executed", "-t", "eh_frame").out
    assert f"no row covers 6 functions that are called: {', '.join(names[:5])} and bare5: add `.cfi_startproc`" in out
    assert "11 more instructions in 5 more functions by the same cause" in out
    assert out.count("\n") == 2


def test_json_follows_its_schema(testbed: Testbed) -> None:
    said = testbed("check", "early_return_wrong", "--executed", "--arch", "x86_64", "--format", "json")
    data = json.loads(said.out)
    jsonschema.Draft202012Validator.check_schema(schema("check_executed"))
    jsonschema.validate(data, schema("check_executed"))
    assert (said.status, data["status"], data["failure"]) == (1, 1, None)
    table = data["tables"][0]
    assert (table["strategy"], table["table"]) == ("eh_frame", ".eh_frame")
    assert table["wrong"] == sum(finding["instructions"] for finding in table["findings"])
    assert table["findings"][0]["repair"]["directives"] == [".cfi_restore_state"]
    for spoiled in ({"tables": None}, {"surprise": 1}, {"status": 3}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data | spoiled, schema("check_executed"))


def test_a_run_that_stopped_early_is_looked_at_as_far_as_it_went(testbed: Testbed, tmp_path: Path) -> None:
    source = tmp_path / "stops.x86_64.S"
    source.write_text(STOPS)
    tells(
        testbed,
        1,
        ("check", str(source), "--executed", "-t", "eh_frame"),
        out=["work+0x2 (ret): the row says CFA = rsp+16, the true CFA is rsp+8 here"],
        err=["only the", "steps before its end are looked at"],
    )
    as_json = json.loads(testbed("check", str(source), "--executed", "-t", "eh_frame", "--format", "json").out)
    assert "pc 0x0" in as_json["failure"]
    source.write_text(STOPS.replace("    ret\n", "    .cfi_def_cfa_offset 8\n    ret\n"))
    right = testbed("check", str(source), "--executed", "-t", "eh_frame")
    assert (right.status, "only the" in right.err, "every row is right" in right.out) == (2, True, True)


@pytest.mark.parametrize("length", [0xFFFF_FFF0, 0x7FFF_FFFF, 3])
def test_a_malformed_table_is_a_finding_and_no_traceback(testbed: Testbed, tmp_path: Path, length: int) -> None:
    run = run_program(PROGRAMS["leaf_call"], ARCHES["arm64"], "keystone")
    content = bytearray(run.built.path.read_bytes())
    at = run.built.image.sections[".eh_frame"].offset
    content[at : at + 4] = length.to_bytes(4, "little")
    broken = tmp_path / "broken"
    broken.write_bytes(content)
    said = tells(
        testbed,
        1,
        ("check", str(broken), "--executed", "-t", "eh_frame"),
        out=["eh_frame: ", "the row says nothing that can be read, .eh_frame"],
    )
    assert "every row is right" not in said.out


def test_lines_come_from_debug_information(testbed: Testbed, tmp_path: Path) -> None:
    source = tmp_path / "debugged.c"
    source.write_text(
        "// summary: a\n// exit: 0\n"
        'void __attribute__((naked, noinline)) odd(void) { asm volatile("push rbx\\n pop rbx\\n ret"); }\n'
        "int main(void) {\n    odd();\n    return 0;\n}\n"
    )
    data = json.loads(
        testbed(
            "check", str(source), "--executed", "-a", "x86_64", "-r", "clang-O0", "-t", "eh_frame", "--format", "json"
        ).out
    )
    (finding,) = data["tables"][0]["findings"]
    assert (Path(finding["source"]).name, finding["line"], finding["where"]) == ("debugged.c", 3, "odd+0x1")


def test_a_run_that_was_cut_disagrees_with_no_header(testbed: Testbed) -> None:
    said = tells(
        testbed, 2, ("check", "leaf_call", "--executed", "--arch", "x86_64", "--budget", "5"), err=["only the 5 steps"]
    )
    assert "declares" not in said.err and "never executed" not in said.err
