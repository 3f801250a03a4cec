"""The registers of outer frames: what the caller will find in them when control is back."""

from dataclasses import replace

import numpy as np
import pytest

from testbed.conventions import platform
from testbed.machine import record
from testbed.truth import Truth, observe
from tests.machine.snippets import image_of
from tests.truth.jumps import BL_AS_JUMP, COROUTINE, LANDING, LONGJMP, MARK, RETPOLINE, TAIL
from tests.truth.pieces import agree_in_pieces
from tests.truth.watched import Shown, agree, is_watched, labels_where, shown_cases, steps_at, watch
from tests.witness.rules import MAKER
from tests.witness.witnessed import witness

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


# Coroutines, calls on another stack, and landings that leave it.


@pytest.mark.parametrize("isa", COROUTINE)
def test_a_coroutine_runs_on_a_stack_of_its_own_and_both_stay_alive(isa: str) -> None:
    truth = watch(
        isa,
        COROUTINE[isa],
        "switch#1 = switch, main, _start",
        "co = co",
        "spin = co",
        "work_body = work, co",
        "switch#2 = switch, work, co",
        "back_1 = main, _start",
        "resumed = work, co",
        "leaf#1 = leaf, work, co",
        "back_2 = main, _start",
        "leaf#2 = leaf, main, _start",
    )
    assert [a.index for a in truth.activations if a.parent is None] == [0, truth.node[steps_at(truth, "co")[0]]]
    marked = labels_where(truth, truth.transition)
    assert "switched" in marked
    assert all(name.startswith("switched") for name in marked), marked


@pytest.mark.parametrize("isa", MAKER)
def test_the_maker_says_who_called_though_nobody_returns_there(isa: str) -> None:
    never = MAKER[isa].replace("xor edx, edx", "mov edx, 1").replace("mov x2, #0", "mov x2, #1") + "\n"
    watch(isa, MAKER[isa] + "\n", "in_work#1 = work, gone")
    watch(isa, never, "in_work = work, gone")


@pytest.mark.parametrize("isa", COROUTINE)
def test_what_goes_on_on_a_stack_that_another_thread_left_is_undecided(isa: str) -> None:
    """Had another thread run the coroutine meanwhile, nobody here could say who calls there; main is told all along."""
    stores_link = COROUTINE[isa].replace("mov sp, x9", "mov sp, x9\n    nop\n    str x30, [x1]")
    here = watch(isa, stores_link, "co = co")
    trace = replace(here.trace, taken_over=tuple(_arrivals(here)))
    truth = observe(trace)
    marked = labels_where(truth, truth.undecided)
    assert "resumed" in marked and not marked & {"main", "back_1", "back_2"}
    assert {(isa, name) for name in marked} <= {(isa, name) for name in labels_where(here, ~here.undecided)}
    agree(trace)
    for length in (4, 5, 9, 30):
        agree_in_pieces(truth, length)


def test_who_lived_on_a_stack_that_another_thread_left_may_have_gone_on_there() -> None:
    """work comes back to co, where it was called before the other thread was there: that is undecided too."""
    leave = "\n    lea rdi, [rbx + 8]\n    mov rsi, rbx\n    call switch\n    ud2"
    body = COROUTINE["x86_64"].replace("call work\n    ud2", f"call work\nreturned:{leave}")
    body = body.replace(f"resumed:\n    call leaf{leave}", "resumed:\n    call leaf\n    add rsp, 8\n    ret")
    here = watch("x86_64", body, "returned = co", "back_2 = main, _start")
    truth = observe(replace(here.trace, taken_over=tuple(_arrivals(here)[1:])))
    marked = labels_where(truth, truth.undecided)
    assert {"resumed", "returned"} <= marked and not marked & {"co", "work_body", "back_1", "back_2"}


def _arrivals(truth: Truth) -> list[int]:
    """The steps at which SP comes to the coroutine's stack."""
    other = np.abs(truth.trace.sp.astype(np.int64) - int(truth.trace.sp[0])) > 0x10000
    return (np.flatnonzero(~other[:-1] & other[1:]) + 1).tolist()


def test_what_a_call_left_at_the_return_place_is_no_makers() -> None:
    """outer ran there and came back: its return address still lies where co begins."""
    body = "fn main\npush rbx\nmov rbx, rsp\nlea rax, [rip + top]\nmov rsp, rax\ncall outer\nbehind: mov rsp, rbx\n"
    body += "lea rcx, [rip + co]\nlea rdx, [rip + back]\nlea rax, [rip + top - 8]\nmov rsp, rax\njmp rcx\nnop\n"
    body += "back: mov eax, 42\npop rbx\nret\nfn outer\nin_outer: ret\n"
    body += "fn co\ncall last\nnop\nfn last\nnop\nin_last: mov rsp, rbx\njmp rdx\n"
    body += ".bss\n.space 64\ntop: .space 8\n"
    stacks = ("in_outer = outer, main, _start", "in_last = last, co", "back = main, _start")
    watch("x86_64", body, *stacks)
    witness("x86_64", body, *stacks)


def test_a_jump_far_up_a_stack_that_was_left_twice_goes_on_there() -> None:
    """main has a large frame. deep leaves its stack, comes back, and leaves it again; from there last jumps to main."""
    body = "fn main\npush rbx\nmov rbx, rsp\nlea rdx, [rip + back]\nsub rsp, 0x8000\ncall deep\nnop\n"
    body += "back: mov eax, 42\npop rbx\nret\nfn deep\npush r12\nmov r12, rsp\nlea rsp, [rip + top]\ncall leaf\n"
    body += "mov rsp, r12\ncall leaf\nhere: lea rsp, [rip + top]\ncall last\nnop\nfn leaf\nnop\nin_leaf: ret\n"
    body += "fn last\nnop\nin_last: mov rsp, rbx\njmp rdx\n.bss\n.space 1024\ntop: .space 8\n"
    deep = "deep, main, _start"
    stacks = (f"in_leaf = leaf, {deep}", f"here = {deep}", f"in_last = last, {deep}", "back = main, _start")
    watch("x86_64", body, *stacks)
    witness("x86_64", body, *stacks)


MANY_STACKS = """
fn main
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, sp
    adrp x9, their_end
    add x9, x9, :lo12:their_end
    mov sp, x9
    bl outer
back:
    mov sp, x19
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
fn outer
    stp x29, x30, [sp, #-16]!
    mov x1, #3
loop:
    bl leaf
    subs x1, x1, #1
    b.ne loop
    ldp x29, x30, [sp], #16
    ret
fn leaf
    mov x0, #42
    ret
.bss
.p2align 4
theirs: .space 1024
their_end: .space 64
"""


STACK_ON_STACK = """
fn main
    mov x20, sp
    adrp x9, theirs_end
    add x9, x9, :lo12:theirs_end
    mov sp, x9
    b co
    udf #0
fn co
    mov x19, sp
    adrp x9, others_end
    add x9, x9, :lo12:others_end
    mov sp, x9
    bl outer
back:
    mov sp, x20
    mov x0, #42
    mov x8, #93
    svc #0
fn outer
    stp x29, x30, [sp, #-16]!
    mov x1, #3
loop:
    bl leaf
    subs x1, x1, #1
    b.ne loop
    ldp x29, x30, [sp], #16
    ret
fn leaf
    ret
.bss
.p2align 4
theirs: .space 1024
theirs_end: .space 1024
others_end: .space 64
"""


COPY = """back_1:
    lea rsi, [rip + theirs]
    lea rdi, [rip + other]
    mov rax, rdi
    sub rax, rsi
    add [rbx + 8], rax
    mov ecx, 1088
    rep movsb
"""
# The pad's stack pointer lies on the first stack: nothing of the second one remains.
LANDS = MANY_STACKS.replace("    b.ne loop\n", "    adr x9, pad\n    mov sp, x19\n    br x9\n").replace(
    "back:", "back:\n    udf #0\npad:\n    bl leaf\n"
)

WATCHED = {
    "a call on another stack keeps the chain": Shown(
        {"arm64": MANY_STACKS},
        ("loop = outer, main, _start", "leaf = leaf, outer, main, _start", "back = main, _start"),
        transition=None,
    ),
    # both stacks lie in one region, so SP is above the chain's bottom all the time: that is no fresh stack then
    "a call on another stack above the bottom of the first one keeps the chain": Shown(
        {"arm64": STACK_ON_STACK},
        ("loop = outer, co", "leaf = leaf, outer, co", "back = co"),
        uncalled=2,
        transition=None,
    ),
    "a landing leaves the other stack altogether": Shown(
        {"arm64": LANDS},
        ("loop = outer, main, _start", "leaf#2 = leaf, main, _start", "pad = main, _start"),
        transition=None,
    ),
    "a coroutine goes on on a copy that was made of its stack meanwhile": Shown(
        {"x86_64": COROUTINE["x86_64"].replace("back_1:\n", COPY) + ".space 4096\nother: .space 1088\n"},
        ("work_body = work, co", "resumed = work, co", "leaf#1 = leaf, work, co", "back_2 = main, _start"),
        uncalled=2,
        transition=None,
    ),
}


@pytest.mark.parametrize(("shown", "isa"), shown_cases(WATCHED))
def test_other_stacks_are_watched(shown: Shown, isa: str) -> None:
    is_watched(shown, isa)
