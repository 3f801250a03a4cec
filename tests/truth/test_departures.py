"""Tail calls as they are watched: which jumps count, and in what order they are remembered."""

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import recipes_for
from testbed.campaign.prove import prove
from testbed.runs.run import run_program
from testbed.truth import Truth
from testbed.truth.departures import find_departures
from tests.truth.jumps import LONGJMP, MARK
from tests.truth.watched import labels_where, steps_at, watch

# outer gives its frame up and jumps to next; next jumps inside itself, back and forth, with a frame of its own.
JUMPS = {
    "x86_64": """
fn main
    sub rsp, 24
    call outer
    add rsp, 24
    ret
fn outer
    sub rsp, 40
    mov eax, 40
    add rsp, 40
    jmp next
fn next
    sub rsp, 8
    add eax, 1
    cmp eax, 41
    je again
back:
    add rsp, 8
    jmp through
again:
    add eax, 1
    jmp back
fn through
    nop
fn below
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    bl outer
    ldp x29, x30, [sp], #16
    ret
fn outer
    sub sp, sp, #32
    mov x0, #40
    add sp, sp, #32
    b next
fn next
    sub sp, sp, #16
    add x0, x0, #1
    cmp x0, #41
    b.eq again
back:
    add sp, sp, #16
    b through
again:
    add x0, x0, #1
    b back
fn through
    nop
fn below
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    bl outer
    pop {r4, pc}
fn outer
    sub sp, sp, #32
    mov r0, #40
    add sp, sp, #32
    b next
fn next
    sub sp, sp, #16
    add r0, r0, #1
    cmp r0, #41
    beq again
back:
    add sp, sp, #16
    b through
again:
    add r0, r0, #1
    b back
fn through
    nop
fn below
    bx lr
""",
}
JUMPS["thumb"] = JUMPS["a32"].replace("add r0, r0, #1", "adds r0, r0, #1").replace("mov r0", "movs r0")

# A jump to another function with the frame still on the stack, and one into the middle of a function: no tail calls.
NO_CALLS = {
    "x86_64": """
fn main
    mov eax, 42
    sub rsp, 8
    jmp piece
fn piece
    add rsp, 8
    jmp middle
fn other
    ud2
middle:
    ret
""",
    "arm64": """
fn main
    mov x0, #42
    sub sp, sp, #16
    b piece
fn piece
    add sp, sp, #16
    b middle
fn other
    udf #0
middle:
    ret
""",
    "a32": """
fn main
    mov r0, #42
    sub sp, sp, #16
    b piece
fn piece
    add sp, sp, #16
    b middle
fn other
    udf #0
middle:
    bx lr
""",
}
NO_CALLS["thumb"] = NO_CALLS["a32"].replace("mov r0", "movs r0")


def names(truth: Truth, step: int) -> list[tuple[str, list[str]]]:
    """(the function, those that left before it, the last one first) of every frame."""
    image = truth.trace.images[0].image
    by_address = {symbol.address: symbol.name for symbol in image.symbols if symbol.is_function}
    calls = find_departures(truth).calls(step)
    assert len(calls) == len(truth.stack(step))
    return [(by_address[call.function or 0], [by_address[entry] for entry in call.gone]) for call in calls]


@pytest.mark.parametrize("isa", JUMPS)
def test_a_function_that_gave_its_frame_up_and_went_to_another_has_tail_called_it(isa: str) -> None:
    truth = watch(isa, JUMPS[isa], "outer = outer, main, _start", "below = below, main, _start")
    outside = [("main", []), ("_start", [])]
    assert names(truth, steps_at(truth, "outer")[0]) == [("outer", []), *outside]
    assert names(truth, steps_at(truth, "next")[0]) == [("next", ["outer"]), *outside]
    assert names(truth, steps_at(truth, "again")[0]) == [("next", ["outer"]), *outside], "a jump inside is no call"
    assert names(truth, steps_at(truth, "through")[0]) == [("through", ["next", "outer"]), *outside]
    fallen = names(truth, steps_at(truth, "below")[0])
    assert fallen == [("below", ["through", "next", "outer"]), *outside], "falling into the next function is one too"
    assert names(truth, len(truth.trace) - 1) == [("_start", [])], "the history ends with its activation"
    assert find_departures(truth).count == 3


@pytest.mark.parametrize("isa", NO_CALLS)
def test_a_jump_with_a_frame_or_into_the_middle_is_no_tail_call(isa: str) -> None:
    truth = watch(isa, NO_CALLS[isa], "piece = piece, _start", "middle = other, _start")
    assert find_departures(truth).count == 0
    assert names(truth, steps_at(truth, "middle")[0]) == [("other", []), ("_start", [])]


WATCHED = {"tail_call": 2, "tail_chain": 2, "tail_branches": 9, "cxx_names": 1}


@pytest.mark.parametrize("name", ["switch_table", "recursion", "mutual_recursion", "noreturn_last_call", *WATCHED])
def test_the_corpus_has_as_many_as_its_sources_say(name: str) -> None:
    """A switch through a table, a loop and a return are no tail calls; as many on every architecture."""
    program = PROGRAMS[name]
    for arch in ARCHES.values():
        recipe = next(r for r in recipes_for(program, arch) if r.name in ("clang-O2", "clang-asm"))
        assert find_departures(run_program(program, arch, recipe.name).watched).count == WATCHED.get(name, 0), arch


# Jumps between the write of SP and the arrival: of `longjmp`, and of a switch that comes back to a stub.


# `longjmp` asks what else it has to restore when SP is the target's already: glibc's for ARM does.
BRANCH = {
    "x86_64": "switched:\n    jmp past\n    ud2\npast:\n    nop\n",
    "arm64": "switched:\n    b past\n    udf #0\npast:\n    nop\n",
    "a32": "switched:\n    b past\n    udf #0\npast:\n    nop\n",
    "thumb": "switched:\n    b past\n    udf #0\npast:\n    nop\n",
}
BEHIND = {"x86_64": "past+0x1", "arm64": "past+0x4", "a32": "past+0x8", "thumb": "past+0x4"}


@pytest.mark.parametrize("isa", LONGJMP)
def test_longjmp_branches_after_it_has_the_targets_sp(isa: str) -> None:
    body = LONGJMP[isa] + MARK[isa].replace("switched:\n", BRANCH[isa])
    truth = watch(
        isa,
        body,
        "mark = mark, main, _start",
        "inner_body = inner, middle, main, _start",
        "past = inner, middle, main, _start",
        "landed = main, _start",
        "leaf = leaf, main, _start",
    )
    assert {"switched", "past"} <= labels_where(truth, truth.transition)
    assert "landed" not in labels_where(truth, truth.transition)
    assert not prove(truth).dissents


# What is saved of who leaves is the address of a stub, which returns for it: as glibc's `swapcontext` for arm64 does.
STUB = {
    "x86_64": """
fn main
    push rbx
    lea rbx, [rip + slots]
    lea rax, [rip + theirs_end]
    mov [rbx + 16], rax
    lea rax, [rip + other]
    mov [rbx + 24], rax
    mov rdi, rbx
    lea rsi, [rbx + 16]
    call swap
in_main:
    mov rdi, rbx
    lea rsi, [rbx + 16]
    call swap
again:
    mov eax, 42
    pop rbx
    ret
fn swap
    mov [rdi], rsp
    lea rcx, [rip + stub]
    mov [rdi + 8], rcx
    mov rdx, [rsi + 8]
    mov rsp, [rsi]
gone:
    jmp rdx
    ud2
stub:
    nop
    ret
fn other
    call work
    ud2
fn work
    sub rsp, 8
working:
    lea rdi, [rbx + 16]
    mov rsi, rbx
    call swap
worked:
    lea rdi, [rbx + 16]
    mov rsi, rbx
    call swap
    ud2
.bss
.p2align 4
slots: .space 64
theirs: .space 1024
theirs_end: .space 64
""",
    "arm64": """
fn main
    stp x19, x30, [sp, #-16]!
    adrp x19, slots
    add x19, x19, :lo12:slots
    add x9, x19, #1024
    str x9, [x19, #24]
    adr x9, other
    str x9, [x19, #32]
    mov x0, x19
    add x1, x19, #24
    bl swap
in_main:
    mov x0, x19
    add x1, x19, #24
    bl swap
again:
    mov x0, #42
    ldp x19, x30, [sp], #16
    ret
fn swap
    mov x9, sp
    adr x10, stub
    stp x9, x10, [x0]
    str x30, [x0, #16]
    ldp x9, x10, [x1]
    ldr x11, [x1, #16]
    mov sp, x9
gone:
    br x10
    udf #0
stub:
    mov x30, x11
    ret
fn other
    bl work
    udf #0
fn work
    str x30, [sp, #-16]!
working:
    add x0, x19, #24
    mov x1, x19
    bl swap
worked:
    add x0, x19, #24
    mov x1, x19
    bl swap
    udf #0
.bss
.p2align 4
slots: .space 1024
theirs_end: .space 64
""",
    "a32": """
fn main
    push {r4, lr}
    ldr r4, =slots
    ldr r1, =theirs_end
    str r1, [r4, #12]
    ldr r1, =other
    str r1, [r4, #16]
    mov r0, r4
    add r1, r4, #12
    bl swap
in_main:
    mov r0, r4
    add r1, r4, #12
    bl swap
again:
    mov r0, #42
    pop {r4, pc}
    .ltorg
fn swap
    mov r2, sp
    ldr r3, =stub
    THUMB_BIT
    str r2, [r0]
    str r3, [r0, #4]
    str lr, [r0, #8]
    ldr r2, [r1]
    ldr r3, [r1, #4]
    ldr r12, [r1, #8]
    mov sp, r2
gone:
    bx r3
    udf #0
stub:
    mov lr, r12
    bx lr
    .ltorg
fn other
    bl work
    udf #0
fn work
    push {r5, lr}
working:
    add r0, r4, #12
    mov r1, r4
    bl swap
worked:
    add r0, r4, #12
    mov r1, r4
    bl swap
    udf #0
.bss
.p2align 4
slots: .space 64
theirs: .space 1024
theirs_end: .space 64
""",
}
STUB["thumb"] = STUB["a32"].replace("THUMB_BIT", "orr r3, r3, #1")
STUB["a32"] = STUB["a32"].replace("THUMB_BIT", "")


@pytest.mark.parametrize("isa", STUB)
def test_a_stub_goes_on_for_who_was_left(isa: str) -> None:
    truth = watch(
        isa,
        STUB[isa],
        "swap#1 = swap, main, _start",
        "other = other",
        "working = work, other",
        "stub#1 = swap, main, _start",
        "in_main = main, _start",
        "stub#2 = swap, work, other",
        "worked = work, other",
        "stub#3 = swap, main, _start",
        "again = main, _start",
    )
    assert labels_where(truth, truth.transition) == {"gone"}
    assert len([activation for activation in truth.activations if activation.parent is None]) == 2
    assert not prove(truth).dissents
