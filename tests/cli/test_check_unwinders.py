"""Unwinders judged where functions are called alone: from the command, in text and JSON, of tables and of programs."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import jsonschema
import pytest

from testbed.report.schemas import schema
from tests.cli.command import Testbed, tells

# Two pushes, of which the table may know one; callee() is judged where both() calls it.
SOURCE = """
    .text
    .globl both
    .type both, @function
both:
    .cfi_startproc
    pushq %rbx
    .cfi_def_cfa_offset 16
    .cfi_offset %rbx, -16
    pushq %rbp
    {row}
    call callee
    cmpq $0x1234567, %rax
    je 1f
    xorl %ebp, %ebp
1:  leaq 1(%rax), %rax
    popq %rbp
    .cfi_def_cfa_offset 16
    popq %rbx
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size both, . - both
    .type callee, @function
callee:
    .cfi_startproc
    xorl %eax, %eax
    ret
    .cfi_endproc
    .size callee, . - callee
    .section .note.GNU-stack, "", @progbits
"""
RIGHT = ".cfi_def_cfa_offset 24\n    .cfi_offset %rbp, -24"

# It opens every image as a file, and says the interrupted frame; of the named functions it claims that it is the root.
PROGRAM = """
import json, sys
say = lambda **what: print(json.dumps(what), flush=True)
low, high = (int(word, 16) for word in sys.argv[1:])
for line in sys.stdin:
    got = json.loads(line)
    if got["type"] == "hello":
        say(type="hello", protocol=1, name="opener", version="1")
    elif got["type"] == "session":
        left = got["images"]
    elif got["type"] == "image":
        assert open(got["path"], "rb").read(4) == b"\\x7fELF"
        bias = int(got["bias"], 16) if left == 2 else bias
        left -= 1
        if not left:
            say(type="ready")
    else:
        pc = got["registers"]["rip"]
        lies = low <= (int(pc, 16) - bias) % 2**64 < high
        end = {"root": True} if lies else {"stopped": "no more"}
        say(type="frames", id=got["id"], frames=[{"pc": pc}], **end)
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("right.s").write_text(SOURCE.format(row=RIGHT))
    Path("wrong.s").write_text(SOURCE.format(row=""))
    Path("program.py").write_text(PROGRAM)


def test_a_right_table_leads_to_the_caller_from_every_instruction(testbed: Testbed) -> None:
    said = tells(testbed, 0, ("check", "right.s", "-u", "eh_frame", "--format", "json"))
    data = json.loads(said.out)
    jsonschema.validate(data, schema("check_unwinders"))
    (counted,) = data["files"][0]["unwinders"]
    assert counted["judged"] == counted["whole"] == 12 and counted["lies"] == []


def test_a_wrong_row_makes_who_reads_it_lie(testbed: Testbed) -> None:
    """At six instructions, from behind the second push to the first pop, and at two of the callee."""
    said = tells(testbed, 1, ("check", "wrong.s", "-u", "eh_frame", "-u", "stack_scan"))
    by_name = {line.split()[0]: line.split() for line in said.out.splitlines() if line.startswith(("eh_", "stack_"))}
    assert by_name["stack_scan"][1] == "12" and by_name["eh_frame"][1:6] == ["4", "33.3", "%", "0", "8"]
    assert "both+0x2: eh_frame: wrong" in said.out
    assert "true both+0x2 < _start+0x3" in said.out


def test_a_program_is_judged_alike(testbed: Testbed) -> None:
    """What it opens are files, also of a source and of who calls; a lie of it fails, an honest stop does not."""

    def command(low: int, high: int) -> str:
        return shlex.join([sys.executable, "program.py", hex(low), hex(high)])

    said = tells(testbed, 0, ("check", "right.s", "--unwinder-cmd", command(0, 0)))
    assert said.out.splitlines()[-1].split() == ["opener", "0", "0", "%", "12", "0", "0", "0"]
    tells(
        testbed,
        1,
        ("check", "right.s", "--unwinder-cmd", command(0, 1 << 40), "-f", "callee"),
        out=["callee: opener: ended_early", "true callee < _start+0x3"],
    )
