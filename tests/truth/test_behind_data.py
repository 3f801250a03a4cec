"""Callees that return behind data which stands behind the call, or to one of several cases."""

from __future__ import annotations

import pytest

from tests.truth.watched import watch

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
    assert [a.goes_on - (a.return_address or 0) for a in truth.activations if a.goes_on] == [4, 4, 4]


@pytest.mark.parametrize("isa", BEHIND)
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
    watch(
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
