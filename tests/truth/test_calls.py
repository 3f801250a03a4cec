"""Calls, returns and jumps: what opens an activation, what ends one, and what only looks like it."""

import pytest

from tests.truth.jumps import RETPOLINE, TAIL
from tests.truth.watched import Shown, is_watched, shown_cases

NEXT = {
    "x86_64": "fn main\n sub rsp, 8\n mov edi, 42\n call finish\nfn finish\n mov eax, 60\nexiting:\n syscall",
    "arm64": "fn main\n mov x0, #42\n bl finish\nfn finish\n mov x8, #93\nexiting:\n svc #0",
    "a32": "fn main\n mov r0, #42\n bl finish\nfn finish\n mov r7, #1\nexiting:\n svc #0",
    "thumb": "fn main\n movs r0, #42\n bl finish\nfn finish\n movs r7, #1\nexiting:\n svc #0",
}

PUSH_RET = """
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

PUSH_POP = """
fn main
    push {r4, lr}
    ADR
    push {r1}
    pop {pc}
    udf #0
    .p2align 2
target:
    bl leaf
    pop {r4, pc}
fn leaf
    mov r0, #42
    bx lr
"""
PUSH_POP_PC = {
    "a32": PUSH_POP.replace("ADR", "adr r1, target"),
    "thumb": PUSH_POP.replace("ADR", "adr.w r1, target\n adds r1, #1"),
}

# A jump with SP where it was, before the function returns: nothing later shows that nobody was called.
TAKEN_OFF = """
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

CALL_POP = """
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

RET_N = """
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

# The innermost `down` skips its call: it jumps to the very address that it will return to later.
DOWN = """
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

POPS_BY_HAND = """
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

# `relay` is pushed, lies at SP, and stands right behind the return of `leaf`, and behind a jump in `turns`.
NEXT_FUNCTION = """
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

VENEER = """
fn main
    push {r4, lr}
    CALL
back:
    pop {r4, pc}
fn veneer
    ldr r12, [pc]
    bx r12
    .word leaf
fn leaf
    mov r0, #42
    bx lr
"""
VENEER_CALLS = ("bl veneer", "adr r1, veneer\n    mov lr, pc\n    bx r1", "mov lr, pc\n    b veneer")

# glibc's gconv keeps the function of the next step on top of its frame.
ON_TOP = """fn main
sub rsp, 8
call f
back: add rsp, 8
ret
fn f
sub rsp, 24
lea rcx, [rip + g]
mov [rsp], rcx
jmp inside
nop
inside: call leaf
in_f: add rsp, 24
jmp rcx
fn leaf
in_leaf: ret
fn g
nop
in_g: mov eax, 42
ret
"""
POINTER = """fn main
lea rcx, [rip + g]
push rcx
jmp inside
nop
inside: call leaf
in_main: call g
last: mov eax, 60
syscall
fn leaf
nop
in_leaf: ret
fn g
mov edi, 42
in_g: ret
"""

RETURNS_TO_THE_NEXT = {
    "arm64": "fn main\nstr x30, [sp, #-16]!\nadr x30, back\nb f\nnop\nf: nop\nin_f: ret\n"
    "back: mov x0, #42\nldr x30, [sp], #16\nret\n",
    "a32": "fn main\npush {r4, lr}\nadr lr, back\nb f\nnop\nf: nop\nin_f: bx lr\nback: mov r0, #42\npop {r4, pc}\n",
}
POPS_TO_THE_NEXT = {
    isa: f"fn main\npush {{r4, lr}}\n{to}\nb.w f\nnop\nf: push {{r4, lr}}\nbl leaf\nin_f: pop {{r4, pc}}\n"
    "back: movs r0, #42\npop {r4, pc}\nfn leaf\nbx lr\n"
    for isa, to in (("a32", "adr lr, back"), ("thumb", "adr.w lr, back\norr lr, lr, #1"))
}

PROMISED_AGAIN = """fn main
push rbx
xor ebx, ebx
call f
back: inc ebx
cmp ebx, 2
je out
lea rax, [rip + back]
push rax
jmp f
nop
out: mov eax, 42
pop rbx
ret
fn f
nop
in_f: ret
"""

# A pointer to a function below SP, which a jump later is the top of the frame.
BELOW_SP = """
fn main
    lea rcx, [rip + g]
    mov [rsp - 24], rcx
    jmp inside
    nop
inside:
    sub rsp, 24
    jmp last
    nop
last:
    mov edi, 42
    mov eax, 60
    syscall
fn g
    ud2
"""

# An array is pushed while a callee takes only one of two words off: it comes back to where SP was at an earlier call.
LEFT_OVER = """
fn main
    push rbp
    mov rbp, rsp
    mov ebx, 3
again:
    push rbx
    push rbx
    call one
back:
    dec ebx
    jnz again
    mov eax, 42
    leave
    ret
fn one
    nop
in_one:
    ret 8
"""
IN_LEAF, BACK = "leaf = leaf, main, _start", "back = main, _start"
MEANWHILE = ("inside = main, _start", "in_leaf = leaf, main, _start", "last = main, _start")

WATCHED = {
    "a tail call replaces its caller": Shown(
        TAIL,
        (
            *("main = main, _start", "first_body = first, main, _start"),
            *("second = second, main, _start", "second_body = second, main, _start"),
        ),
        activations=3,  # _start, main, and one for first and second
    ),
    "a call to the next address is a call": Shown(
        NEXT, ("finish = finish, main, _start", "exiting = finish, main, _start")
    ),
    "push label, ret is a jump": Shown(
        {"x86_64": PUSH_RET}, ("pushed = main, _start", "target = main, _start", IN_LEAF)
    ),
    "push label, pop pc is a jump": Shown(PUSH_POP_PC, ("target = main, _start", IN_LEAF)),
    "a pushed address is taken off by the second instruction too": Shown(
        {"x86_64": TAKEN_OFF}, ("there = main, _start", "loop = main, _start")
    ),
    "a retpoline arrives at its target without a frame of its own": Shown(
        {"x86_64": RETPOLINE},
        (
            *("thunk = thunk, main, _start", "set_up = thunk, thunk, main, _start", "target = target, main, _start"),
            *("target#2 = target, main, _start", "target_body = target, main, _start"),
            *("leaf = leaf, target, main, _start", BACK),
        ),
    ),
    "call next, pop is no call": Shown(
        {"x86_64": CALL_POP},
        (
            *("here = main, _start", IN_LEAF, "loop = main, _start"),
            *("there = main, _start", "there_body = main, _start"),
        ),
    ),
    "a return that pops its arguments is no non-local jump": Shown(
        {"x86_64": RET_N}, ("add_body = add, main, _start", BACK, IN_LEAF)
    ),
    "a jump to the own return address is no return before SP is back": Shown(
        {"x86_64": DOWN},
        ("done#1 = down, down, down, main, _start", "done#2 = down, down, main, _start", "done#3 = down, main, _start"),
    ),
    "a callee that pops its arguments by hand makes no transition": Shown(
        {"x86_64": POPS_BY_HAND}, ("add = add, main, _start", "popped = add, main, _start", BACK)
    ),
    "a call may take two instructions": Shown(
        TWO_STEPS,
        (
            *("made = main, _start", "callee = callee, main, _start", "callee_body = callee, main, _start"),
            *("leaf = leaf, callee, main, _start", BACK),
        ),
        activations=4,
    ),
    "a pointer to the next function on the stack makes no call of a return or a jump": Shown(
        {"x86_64": NEXT_FUNCTION},
        (
            *(IN_LEAF, BACK, "again = turns, main, _start", "check = turns, main, _start"),
            "out = out, main, _start",
        ),
    ),
    **{
        f"a call through a veneer is one call: {call.split(chr(10))[-1].strip()}": Shown(
            {"a32": VENEER.replace("CALL", call)}, ("veneer = veneer, main, _start", IN_LEAF, BACK)
        )
        for call in VENEER_CALLS
    },
    "a pointer to a function on top of a frame that a tail call uses is no promise": Shown(
        {"x86_64": ON_TOP},
        (
            *("inside = f, main, _start", "in_leaf = leaf, f, main, _start", "in_f = f, main, _start"),
            *("in_g = g, main, _start", BACK),
        ),
    ),
    "a pointer to a function that is called in the end was no promise": Shown(
        {"x86_64": POINTER}, (*MEANWHILE, "in_g = g, main, _start")
    ),
    "where nobody calls the function behind a pointer, what ran meanwhile is undecided": Shown(
        {"x86_64": POINTER.replace("in_main: call g", "in_main: mov edi, 42")},
        MEANWHILE,
        transition=None,
        undecided=("inside", "in_leaf", "last"),
    ),
    "a return to the next instruction is one": Shown(RETURNS_TO_THE_NEXT, ("in_f = main, main, _start", BACK)),
    "so is one that pops pc": Shown(
        POPS_TO_THE_NEXT, ("in_f = main, main, _start", "leaf = leaf, main, main, _start", BACK), activations=4
    ),
    "a pointer to a function that was there before the last jump is no promise": Shown(
        {"x86_64": BELOW_SP}, ("inside = main, _start", "last = main, _start"), activations=2
    ),
    "a return to where an earlier call came back is one, with any SP": Shown(
        {"x86_64": LEFT_OVER}, ("in_one#3 = one, main, _start", "back#3 = main, _start"), activations=5
    ),
    "an address that a call came back to may be promised there once more": Shown(
        {"x86_64": PROMISED_AGAIN}, ("in_f = f, main, _start", BACK)
    ),
}


@pytest.mark.whole
@pytest.mark.parametrize(("shown", "isa"), shown_cases(WATCHED))
def test_calls_returns_and_jumps_are_told_apart(shown: Shown, isa: str) -> None:
    is_watched(shown, isa)
