"""What only later steps show: moved return addresses, returns behind the call, calls in two instructions."""

from __future__ import annotations

import pytest

from testbed.truth import Truth
from testbed.truth.hindsight import Learned
from testbed.truth.transfers import find_transfers
from testbed.truth.truth import path_of
from tests.truth.pieces import agree_in_pieces
from tests.truth.watched import steps_at, watch

ISAS = pytest.mark.parametrize("isa", ["x86_64", "arm64", "a32", "thumb"])


def learned(truth: Truth) -> Learned:
    """What was found out with hindsight; in pieces the same."""
    found = path_of(truth.trace, find_transfers(truth.trace)).learned
    assert agree_in_pieces(truth, 4).learned == found
    return found


# main makes room and hands down its upper end; there f puts its return address, goes up with SP, jumps about, calls
# leaf, and returns with another SP than it was entered with. That happens twice, from one call.
MOVED = {
    "x86_64": """
fn main
    push rbx
    mov ebx, 2
again:
    sub rsp, 0x20
    lea rdi, [rsp + 0x18]
    call f
back:
    nop
    dec ebx
    jnz again
    pop rbx
    ret
fn f
    mov rax, [rsp]
    mov [rdi], rax
    mov rsp, rdi
moved:
    jmp landed
    ud2
landed:
    mov ecx, 2
loop:
    dec ecx
    jnz loop
    call leaf
ready:
    ret
fn leaf
    mov eax, 42
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, #2
again:
    sub sp, sp, #0x20
    add x0, sp, #0x10
    bl f
back:
    nop
    subs x19, x19, #1
    b.ne again
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
fn f
    str x30, [x0]
    mov sp, x0
moved:
    b landed
    udf #0
landed:
    mov x1, #2
loop:
    subs x1, x1, #1
    b.ne loop
    bl leaf
    ldr x30, [sp], #16
ready:
    ret
fn leaf
    mov x0, #42
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    mov r4, #2
again:
    sub sp, sp, #0x10
    add r0, sp, #8
    bl f
back:
    nop
    subs r4, r4, #1
    bne again
    pop {r4, pc}
fn f
    str lr, [r0]
    mov sp, r0
moved:
    b landed
    udf #0
landed:
    mov r1, #2
loop:
    subs r1, r1, #1
    bne loop
    bl leaf
ready:
    pop {r1, pc}
fn leaf
    mov r0, #42
    bx lr
""",
}
MOVED["a32"] = MOVED["a32"].replace("str lr, [r0]", "str lr, [r0, #4]")
MOVED["thumb"] = MOVED["a32"]


@ISAS
def test_a_function_that_moved_its_return_address_returns_by_it(isa: str) -> None:
    truth = watch(
        isa,
        MOVED[isa],
        "f = f, main, _start",
        "moved = f, main, _start",
        "landed = f, main, _start",
        "loop = f, main, _start",
        "leaf = leaf, f, main, _start",
        "ready = f, main, _start",
        "back = main, _start",
    )
    assert len(truth.activations) == 2 + 2 * 2
    assert not truth.transition.any(), "it is no jump out of it"
    assert {a.goes_on for a in truth.activations} == {None}
    inside, before = steps_at(truth, "landed")[0], steps_at(truth, "f")[0]
    assert truth.stack(inside).frames[0].cfa == truth.stack(before).frames[0].cfa, "the CFA is SP before the call"


# skip takes the word behind the call, and returns behind that: twice from one call, and from another one.
BEHIND = {
    "x86_64": """
fn main
    push rbx
    mov ebx, 2
again:
    call skip
    .long 5
after:
    dec ebx
    jnz again
    call skip
    .long 42
last:
    pop rbx
    ret
fn skip
    mov rdx, [rsp]
    mov eax, [rdx]
    add qword ptr [rsp], 4
ready:
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, #2
again:
    bl skip
    .word 5
after:
    subs x19, x19, #1
    b.ne again
    bl skip
    .word 42
last:
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
fn skip
    ldr w0, [x30]
    add x30, x30, #4
ready:
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    mov r4, #2
again:
    bl skip
    .word 5
after:
    subs r4, r4, #1
    bne again
    bl skip
    .word 42
last:
    pop {r4, pc}
fn skip
    ldr r0, [lr]
    add lr, lr, #4
ready:
    bx lr
""",
    "thumb": """
fn main
    push {r4, lr}
    movs r4, #2
    .p2align 2
again:
    nop.w
    bl skip
    .word 5
after:
    subs r4, r4, #1
    bne again
    .p2align 2
    bl skip
    .word 42
last:
    pop {r4, pc}
fn skip
    sub.w r1, lr, #1
    ldr r0, [r1]
    add.w lr, lr, #4
ready:
    bx lr
""",
}
# The same with the address in another register, and on the stack.
SKIP = {
    "x86_64": "    mov rdx, [rsp]\n    mov eax, [rdx]\n    add qword ptr [rsp], 4\nready:\n    ret\n",
    "arm64": "    add x30, x30, #4\nready:\n    ret\n",
    "a32": "    ldr r0, [lr]\n    add lr, lr, #4\nready:\n    bx lr\n",
    "thumb": "    add.w lr, lr, #4\nready:\n    bx lr\n",
}
BY_REGISTER = {
    "x86_64": """
    pop rsi
    mov ecx, 4
loop:
    inc rsi
    dec ecx
    jnz loop
    mov eax, [rsi - 4]
ready:
    jmp rsi
""",
    "arm64": """
    add x9, x30, #4
ready:
    br x9
""",
}
BY_STACK = {
    "a32": """
    push {r1, lr}
    ldr r0, [lr]
    ldr r1, [sp, #4]
    add r1, r1, #4
    str r1, [sp, #4]
ready:
    pop {r1, pc}
""",
    "thumb": """
    push {r1, lr}
    ldr r1, [sp, #4]
    adds r1, #4
    str r1, [sp, #4]
ready:
    pop {r1, pc}
""",
}
BEHIND_BY = [(isa, BEHIND[isa].replace(SKIP[isa], way[isa])) for way in (BY_REGISTER, BY_STACK) for isa in way]


def behind(isa: str, body: str) -> None:
    truth = watch(
        isa,
        body,
        "skip = skip, main, _start",
        "ready = skip, main, _start",
        "after = main, _start",
        "last = main, _start",
    )
    assert len(truth.activations) == 2 + 3
    assert not learned(truth).no_calls
    assert [a.goes_on - (a.return_address or 0) for a in truth.activations if a.goes_on] == [4, 4, 4]


@ISAS
def test_a_function_that_returns_behind_data_returns_to_its_caller(isa: str) -> None:
    behind(isa, BEHIND[isa])


@pytest.mark.parametrize(("isa", "body"), BEHIND_BY)
def test_it_does_so_wherever_it_keeps_the_address(isa: str, body: str) -> None:
    assert body != BEHIND[isa]
    behind(isa, body)


# What GCC calls for a small switch where a table of bytes is all there is (ARMv6-M): it returns to a case. A case may
# lie before another one, all from one call; the helper itself saves a register meanwhile.
SWITCH = """
fn main
    push {r4, r5, r6, lr}
    movs r5, #0
    movs r4, #4
next:
    subs r4, r4, #1
    bmi done
    movs r0, r4
    bl case
    .byte 2, 3, 4, 5
zero:
    b.n next
one:
    b.n next
two:
    b.n next
three:
    bl case_of_three
    b.n next
done:
    mov r0, r5
    pop {r4, r5, r6, pc}
fn case_of_three
    movs r5, #42
    bx lr
fn case
    push {r1}
    mov r1, lr
    lsrs r1, r1, #1
    lsls r1, r1, #1
    ldrb r1, [r1, r0]
    lsls r1, r1, #1
    add lr, lr, r1
    pop {r1}
ready:
    bx lr
"""


def test_a_switch_helper_returns_to_the_case() -> None:
    truth = watch(
        "thumb",
        SWITCH,
        "case = case, main, _start",
        "ready = case, main, _start",
        "zero = main, _start",
        "one = main, _start",
        "two = main, _start",
        "three = main, _start",
        "case_of_three = case_of_three, main, _start",
        "done = main, _start",
    )
    assert len(learned(truth).elsewhere) == 1


# The callee makes room on its caller's stack: it returns with SP far below the CFA, and the caller goes on so.
ROOM = {
    "x86_64": """
fn main
    push rbp
    mov rbp, rsp
    call room
back:
    call leaf
    leave
    ret
fn room
    pop rcx
    sub rsp, 64
ready:
    jmp rcx
fn leaf
    mov eax, 42
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl room
back:
    bl leaf
    mov sp, x29
    ldp x29, x30, [sp], #16
    ret
fn room
    sub sp, sp, #64
ready:
    ret
fn leaf
    mov x0, #42
    ret
""",
    "a32": """
fn main
    push {r11, lr}
    mov r11, sp
    bl room
back:
    bl leaf
    mov sp, r11
    pop {r11, pc}
fn room
    sub sp, sp, #64
ready:
    bx lr
fn leaf
    mov r0, #42
    bx lr
""",
}
ROOM["thumb"] = ROOM["a32"].replace("r11", "r7")


@ISAS
def test_a_function_that_makes_room_for_its_caller_returns_with_a_lower_sp(isa: str) -> None:
    truth = watch(isa, ROOM[isa], "ready = room, main, _start", "back = main, _start", "leaf = leaf, main, _start")
    assert len(learned(truth).elsewhere) == 1
    assert not truth.transition.any()


# A call in two instructions: the return address is made first, then comes a jump.
TWO_STEPS = {
    "x86_64": """
fn main
    push rbx
    lea rax, [rip + back]
    push rax
made:
    jmp callee
back:
    pop rbx
    ret
fn callee
    sub rsp, 8
    call leaf
callee_body:
    add rsp, 8
    ret
fn leaf
    mov eax, 42
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    adr x30, back
made:
    b callee
back:
    ldp x29, x30, [sp], #16
    ret
fn callee
    stp x29, x30, [sp, #-16]!
    bl leaf
callee_body:
    ldp x29, x30, [sp], #16
    ret
fn leaf
    mov x0, #42
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    adr lr, back
made:
    b callee
back:
    pop {r4, pc}
fn callee
    push {r4, lr}
    bl leaf
callee_body:
    pop {r4, pc}
fn leaf
    mov r0, #42
    bx lr
""",
    "thumb": """
fn main
    push {r4, lr}
    adr.w lr, back
    orr lr, lr, #1
made:
    b.w callee
    .p2align 2
back:
    pop {r4, pc}
fn callee
    push {r4, lr}
    bl leaf
callee_body:
    pop {r4, pc}
fn leaf
    mov r0, #42
    bx lr
""",
}


@ISAS
def test_a_call_may_take_two_instructions(isa: str) -> None:
    truth = watch(
        isa,
        TWO_STEPS[isa],
        "made = main, _start",
        "callee = callee, main, _start",
        "callee_body = callee, main, _start",
        "leaf = leaf, callee, main, _start",
        "back = main, _start",
    )
    assert len(truth.activations) == 4
    assert not truth.transition.any()


def test_a_pointer_to_the_next_function_on_the_stack_makes_no_call_of_a_return_or_a_jump() -> None:
    """`relay` is pushed, lies at SP, and stands right behind the return of `leaf`, and behind a jump in `turns`."""
    body = """
fn main
    push rbx
    lea rax, [rip + relay]
    push rax
    call leaf
back:
    pop rbx
    call turns
    pop rbx
    ret
fn leaf
    ret
fn relay
    nop
    ret
fn turns
    lea rax, [rip + behind]
    push rax
    mov eax, 42
    mov ecx, 3
    jmp check
again:
    dec ecx
check:
    test ecx, ecx
    jz out
    jmp again
fn behind
    nop
    ret
fn out
    pop rcx
    ret
"""
    truth = watch(
        "x86_64",
        body,
        "leaf = leaf, main, _start",
        "back = main, _start",
        "again = turns, main, _start",
        "check = turns, main, _start",
        "out = out, main, _start",
    )
    assert len(learned(truth).no_calls) == 1


def test_a_moved_return_address_may_be_taken_with_arguments() -> None:
    body = MOVED["x86_64"].replace("[rsp + 0x18]", "[rsp + 0x10]").replace("ready:\n    ret", "ready:\n    ret 8")
    truth = watch("x86_64", body, "landed = f, main, _start", "ready = f, main, _start", "back = main, _start")
    assert len(truth.activations) == 2 + 2 * 2


@pytest.mark.parametrize("call", ["bl veneer", "adr r1, veneer\n    mov lr, pc\n    bx r1", "mov lr, pc\n    b veneer"])
def test_a_call_through_a_veneer_is_one_call(call: str) -> None:
    body = f"""
fn main
    push {{r4, lr}}
    {call}
back:
    pop {{r4, pc}}
fn veneer
    ldr r12, [pc]
    bx r12
    .word leaf
fn leaf
    mov r0, #42
    bx lr
"""
    truth = watch("a32", body, "veneer = veneer, main, _start", "leaf = leaf, main, _start", "back = main, _start")
    assert learned(truth) == Learned()


# inner jumps back to the mark the first time, and returns the second time: middle is entered again in between.
AGAIN = {
    "x86_64": """
fn main
    push rbx
    push rbp
    sub rsp, 24
    mov rbx, rsp
    xor ebp, ebp
    call mark
    inc ebp
    call middle
back:
    add rsp, 24
    pop rbp
    pop rbx
    mov eax, 42
    ret
fn mark
    lea rax, [rsp + 8]
    mov [rbx], rax
    mov rax, [rsp]
    mov [rbx + 8], rax
    ret
fn middle
    sub rsp, 8
    call inner
after:
    add rsp, 8
    ret
fn inner
    cmp ebp, 2
    je ordinary
    mov rdx, [rbx + 8]
    mov rsp, [rbx]
    jmp rdx
ordinary:
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-48]!
    stp x19, x20, [sp, #16]
    add x19, sp, #32
    mov x20, #0
    bl mark
    add x20, x20, #1
    bl middle
back:
    ldp x19, x20, [sp, #16]
    ldp x29, x30, [sp], #48
    mov x0, #42
    ret
fn mark
    mov x9, sp
    stp x9, x30, [x19]
    ret
fn middle
    stp x29, x30, [sp, #-16]!
    bl inner
after:
    ldp x29, x30, [sp], #16
    ret
fn inner
    cmp x20, #2
    b.eq ordinary
    ldp x9, x10, [x19]
    mov sp, x9
    br x10
ordinary:
    ret
""",
}


@pytest.mark.parametrize("isa", AGAIN)
def test_a_callee_may_never_return_and_its_caller_be_entered_again(isa: str) -> None:
    truth = watch(
        isa,
        AGAIN[isa],
        "inner#1 = inner, middle, main, _start",
        "inner#2 = inner, middle, main, _start",
        "ordinary = inner, middle, main, _start",
        "after = middle, main, _start",
        "back = main, _start",
    )
    assert learned(truth) == Learned()
