"""Calls, returns and jumps: what opens an activation, what ends one, and what only looks like it."""

from __future__ import annotations

import pytest

from tests.truth.jumps import RETPOLINE, TAIL
from tests.truth.watched import steps_at, watch


@pytest.mark.parametrize("isa", TAIL)
def test_a_tail_call_replaces_its_caller(isa: str) -> None:
    truth = watch(
        isa,
        TAIL[isa],
        "main = main, _start",
        "first_body = first, main, _start",
        "second = second, main, _start",
        "second_body = second, main, _start",
    )
    assert len(truth.activations) == 3, "_start, main, and one activation for first and second"
    assert not truth.transition.any()


NEXT = {
    "x86_64": "fn main\n sub rsp, 8\n mov edi, 42\n call finish\nfn finish\n mov eax, 60\nexiting:\n syscall",
    "arm64": "fn main\n mov x0, #42\n bl finish\nfn finish\n mov x8, #93\nexiting:\n svc #0",
    "a32": "fn main\n mov r0, #42\n bl finish\nfn finish\n mov r7, #1\nexiting:\n svc #0",
    "thumb": "fn main\n movs r0, #42\n bl finish\nfn finish\n movs r7, #1\nexiting:\n svc #0",
}


@pytest.mark.parametrize("isa", NEXT)
def test_a_call_to_the_next_address_is_a_call(isa: str) -> None:
    watch(isa, NEXT[isa], "finish = finish, main, _start", "exiting = finish, main, _start")


def test_push_label_ret_is_a_jump() -> None:
    body = """
fn main
    push rbx
    lea rax, [rip + target]
    push rax
pushed:
    ret
    ud2
target:
    call leaf
    pop rbx
    ret
fn leaf
    mov eax, 42
    ret
"""
    watch("x86_64", body, "pushed = main, _start", "target = main, _start", "leaf = leaf, main, _start")


@pytest.mark.parametrize("isa", ["a32", "thumb"])
def test_push_label_pop_pc_is_a_jump(isa: str) -> None:
    adr = "adr r1, target" if isa == "a32" else "adr.w r1, target\n adds r1, #1"
    body = f"""
fn main
    push {{r4, lr}}
    {adr}
    push {{r1}}
    pop {{pc}}
    udf #0
    .p2align 2
target:
    bl leaf
    pop {{r4, pc}}
fn leaf
    mov r0, #42
    bx lr
"""
    watch(isa, body, "target = main, _start", "leaf = leaf, main, _start")


def test_a_pushed_address_is_taken_off_by_the_second_instruction_too() -> None:
    """A jump with SP where it was, before the function returns: nothing later shows that nobody was called."""
    body = """
fn main
    call there
there:
    mov rdx, [rsp]
    add rsp, 8
    mov ecx, 3
loop:
    dec ecx
    jnz loop
    mov eax, 42
    ret
"""
    truth = watch("x86_64", body, "there = main, _start", "loop = main, _start")
    assert not truth.transition.any()


def test_a_retpoline_arrives_at_its_target_without_a_frame_of_its_own() -> None:
    truth = watch(
        "x86_64",
        RETPOLINE,
        "thunk = thunk, main, _start",
        "set_up = thunk, thunk, main, _start",
        "target = target, main, _start",
        "target_body = target, main, _start",
        "leaf = leaf, target, main, _start",
        "back = main, _start",
    )
    assert len(steps_at(truth, "target")) == 2


def test_call_next_pop_is_no_call() -> None:
    body = """
fn main
    push rbx
    call here
here:
    pop rbx
    call leaf
    mov ecx, 3
loop:
    dec ecx
    jnz loop
    call there
there:
    mov rdx, [rsp]
    add rsp, 8
there_body:
    pop rbx
    ret
fn leaf
    mov eax, 42
    ret
"""
    watch(
        "x86_64",
        body,
        "here = main, _start",
        "leaf = leaf, main, _start",
        "loop = main, _start",
        "there = main, _start",
        "there_body = main, _start",
    )


def test_ret_n_takes_the_arguments_off_and_returns() -> None:
    body = """
fn main
    push rbx
    push 2
    push 40
    call add
back:
    call leaf
    pop rbx
    ret
fn add
    push rbp
    mov rbp, rsp
    mov eax, [rbp + 16]
    add eax, [rbp + 24]
add_body:
    pop rbp
    ret 16
fn leaf
    nop
    ret
"""
    truth = watch("x86_64", body, "add_body = add, main, _start", "back = main, _start", "leaf = leaf, main, _start")
    assert not truth.transition.any(), "a return that pops its arguments is no non-local jump"


def test_a_jump_to_the_own_return_address_is_no_return_before_sp_is_back() -> None:
    """The innermost ``down`` skips its call: it jumps to the very address that it will return to later."""
    body = """
fn main
    sub rsp, 8
    mov edi, 3
    call down
    add rsp, 8
    ret
fn down
    sub rsp, 24
    dec edi
    jz done
    call down
done:
    mov eax, 42
    add rsp, 24
    ret
"""
    watch(
        "x86_64",
        body,
        "done#1 = down, down, down, main, _start",
        "done#2 = down, down, main, _start",
        "done#3 = down, main, _start",
    )


def test_a_callee_that_pops_its_arguments_by_hand_makes_no_transition() -> None:
    body = """
fn main
    push rbx
    push 2
    push 40
    call add
back:
    pop rbx
    ret
fn add
    mov eax, [rsp + 8]
    add eax, [rsp + 16]
    pop rcx
    add rsp, 16
popped:
    jmp rcx
"""
    truth = watch("x86_64", body, "add = add, main, _start", "popped = add, main, _start", "back = main, _start")
    assert not truth.transition.any()


# Calls that take two instructions, and calls through a veneer.


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


@pytest.mark.parametrize("isa", TWO_STEPS)
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
    watch(
        "x86_64",
        body,
        "leaf = leaf, main, _start",
        "back = main, _start",
        "again = turns, main, _start",
        "check = turns, main, _start",
        "out = out, main, _start",
    )


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
    watch("a32", body, "veneer = veneer, main, _start", "leaf = leaf, main, _start", "back = main, _start")


def test_a_pointer_to_a_function_on_top_of_a_frame_that_a_tail_call_uses_is_no_promise() -> None:
    """glibc's gconv keeps the function of the next step there."""
    body = "fn main\nsub rsp, 8\ncall f\nback: add rsp, 8\nret\nfn f\nsub rsp, 24\nlea rcx, [rip + g]\nmov [rsp], rcx\n"
    body += "jmp inside\nnop\ninside: call leaf\nin_f: add rsp, 24\njmp rcx\nfn leaf\nin_leaf: ret\n"
    body += "fn g\nnop\nin_g: mov eax, 42\nret\n"
    stacks = (
        "inside = f, main, _start",
        "in_leaf = leaf, f, main, _start",
        "in_f = f, main, _start",
        "in_g = g, main, _start",
    )
    truth = watch("x86_64", body, *stacks, "back = main, _start")
    assert not truth.undecided.any()


def test_a_pointer_to_a_function_that_nobody_came_back_to_when_the_run_ends_was_no_promise() -> None:
    """Where a call goes to that function, it was a pointer to it; else what ran meanwhile is undecided."""
    body = "fn main\nlea rcx, [rip + g]\npush rcx\njmp inside\nnop\ninside: call leaf\nin_main: call g\n"
    body += "last: mov eax, 60\nsyscall\nfn leaf\nnop\nin_leaf: ret\nfn g\nmov edi, 42\nin_g: ret\n"
    stacks = ("inside = main, _start", "in_leaf = leaf, main, _start", "last = main, _start")
    watch("x86_64", body, *stacks, "in_g = g, main, _start")
    never = body.replace("in_main: call g", "in_main: mov edi, 42")
    watch("x86_64", never, *stacks, undecided=("inside", "in_leaf", "last"))


RETURNS_TO_THE_NEXT = {
    "arm64": "fn main\nstr x30, [sp, #-16]!\nadr x30, back\nb f\nnop\nf: nop\nin_f: ret\n"
    "back: mov x0, #42\nldr x30, [sp], #16\nret\n",
    "a32": "fn main\npush {r4, lr}\nadr lr, back\nb f\nnop\nf: nop\nin_f: bx lr\nback: mov r0, #42\npop {r4, pc}\n",
}


@pytest.mark.parametrize("isa", RETURNS_TO_THE_NEXT)
def test_a_return_to_the_next_instruction_is_one(isa: str) -> None:
    watch(isa, RETURNS_TO_THE_NEXT[isa], "in_f = main, main, _start", "back = main, _start")


def test_an_address_that_a_call_came_back_to_may_be_promised_there_once_more() -> None:
    body = "fn main\npush rbx\nxor ebx, ebx\ncall f\nback: inc ebx\ncmp ebx, 2\nje out\nlea rax, [rip + back]\n"
    body += "push rax\njmp f\nnop\nout: mov eax, 42\npop rbx\nret\nfn f\nnop\nin_f: ret\n"
    watch("x86_64", body, "in_f = f, main, _start", "back = main, _start")
