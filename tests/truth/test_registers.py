"""The registers of outer frames: what the caller will find in them when control is back."""

from __future__ import annotations

import pytest

from testbed.conventions import platform
from testbed.machine import record
from testbed.truth import Truth, observe
from tests.machine.snippets import image_of
from tests.truth.calls import BL_AS_JUMP, RETPOLINE, TAIL
from tests.truth.jumps import LANDING, LONGJMP, MARK
from tests.truth.watched import steps_at, watch

SAVES = {
    "x86_64": """
fn main
    push rbp
    push rbx
    sub rsp, 8
    mov rbp, 0x11
    mov ebx, 0x22
    call callee
    add rsp, 8
    pop rbx
    pop rbp
    ret
fn callee
    push rbp
    push rbx
    push r12
    push r15
    mov ebp, 1
    mov ebx, 2
    mov r12d, 3
    mov r15d, 4
    mov eax, 42
callee_body:
    nop
    pop r15
    pop r12
    pop rbx
    pop rbp
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-32]!
    stp x19, x20, [sp, #16]
    mov x19, #0x11
    bl callee
    ldp x19, x20, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
fn callee
    stp x19, x28, [sp, #-32]!
    stp d8, d15, [sp, #16]
    mov x19, #1
    mov x28, #2
    fmov d8, x19
    fmov d15, x28
    mov x0, #42
callee_body:
    nop
    ldp d8, d15, [sp, #16]
    ldp x19, x28, [sp], #32
    ret
""",
    "a32": """
fn main
    push {r4, r11, lr}
    sub sp, sp, #4
    mov r4, #0x11
    bl callee
    add sp, sp, #4
    pop {r4, r11, pc}
fn callee
    push {r4, r7, r10, r11}
    vpush {d8-d9}
    mov r4, #1
    mov r7, #2
    mov r10, #3
    mov r11, #4
    vmov d8, r4, r7
    vmov d9, r10, r11
    mov r0, #42
callee_body:
    nop
    vpop {d8-d9}
    pop {r4, r7, r10, r11}
    bx lr
""",
}
SAVES["thumb"] = SAVES["a32"]


@pytest.mark.parametrize("isa", SAVES)
def test_a_caller_frame_has_the_registers_before_the_callee_changed_them(isa: str) -> None:
    truth = watch(isa, SAVES[isa], "callee_body = callee, main, _start")
    (body,), (entry,) = steps_at(truth, "callee_body"), steps_at(truth, "callee")
    trace, arch = truth.trace, truth.trace.arch
    inner, outer, root = truth.stack(body).frames
    for name in platform(arch).preserved:
        assert outer.registers[name] == int(trace.column(name)[entry]), name
        assert inner.registers[name] == int(trace.column(name)[body]), name
        assert root.registers[name] == int(trace.column(name)[steps_at(truth, "main")[0]]), name
    changed = [name for name in platform(arch).preserved if outer.registers[name] != inner.registers[name]]
    assert len(changed) >= 4, "the callee did change some"
    assert outer.registers[arch.sp] == inner.cfa
    assert outer.registers[arch.pc] == outer.pc
    assert root.registers[arch.sp] == outer.cfa
    assert root.cfa is None


def returns(truth: Truth) -> int:
    """Check every ordinary return: the caller finds exactly what the truth promised. How many there were."""
    trace, arch = truth.trace, truth.trace.arch
    found = 0
    for step in range(1, len(trace)):
        before, now = int(truth.node[step - 1]), int(truth.node[step])
        activation = truth.activations[before]
        if now != activation.parent or int(trace.pc[step]) != activation.return_address:
            continue
        promised = truth.stack(step - 1).frames[1].registers
        assert promised == {
            name: int(trace.column(name)[step]) for name in (*platform(arch).preserved, arch.sp, arch.pc)
        }, f"step {step}"
        found += 1
    return found


@pytest.mark.parametrize("isa", SAVES)
@pytest.mark.parametrize("program", ["saves", "tail", "longjmp", "landing"])
def test_what_is_promised_to_a_caller_is_what_it_finds(isa: str, program: str) -> None:
    bodies = {"saves": SAVES, "tail": TAIL, "landing": LANDING, "longjmp": LONGJMP}
    body = bodies[program][isa] + (MARK[isa] if program == "longjmp" else "")
    truth = observe(record(image_of(isa, body)))
    assert returns(truth) >= 2


def test_what_is_promised_holds_after_trampolines_and_jumps_that_link() -> None:
    assert returns(observe(record(image_of("x86_64", RETPOLINE)))) == 5
    assert returns(observe(record(image_of("arm64", BL_AS_JUMP["arm64"])))) == 4


@pytest.mark.parametrize("budget", [0, 1, 2, 5])
def test_a_run_that_was_cut_off_has_the_truth_about_its_beginning(budget: int) -> None:
    image = image_of("arm64", TAIL["arm64"])
    part, whole = observe(record(image, budget=budget)), observe(record(image))
    assert len(part.node) == budget
    for step in range(budget):
        assert part.stack(step) == whole.stack(step)
