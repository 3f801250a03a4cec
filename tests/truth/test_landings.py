"""Landings: in pads that stand behind calls, and behind a jump that only looks like a return."""

import pytest

from tests.truth.jumps import LANDING, SWITCHED
from tests.truth.watched import Shown, is_watched, shown_cases, steps_at, watch

# Recursion to a depth that is another one each time. The innermost function throws; its pad stands right behind that
# call, so the throw comes back to it. From there each function's pad resumes in the pad of its caller.
PADS_BEHIND_CALLS = {
    "x86_64": """
fn main
    push rbx
    mov ebx, 1
again:
    mov edi, ebx
    mov r12d, ebx
    call deep
caught:
    inc ebx
    cmp ebx, 4
    jne again
    pop rbx
    mov eax, 42
    ret
fn deep
    sub rsp, 8
    dec edi
    js throw
    call deep
    ud2
throw:
    call thrower
pad:
    call resume
    ud2
fn thrower
    nop
    ret
fn resume
    nop
resuming:
    lea rax, [rip + pad]
    lea rcx, [rip + caught]
    sub r12d, 1
    cmovs rax, rcx
    lea rsp, [rsp + 24]
    jmp rax
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, #1
again:
    mov x0, x19
    mov x20, x19
    bl deep
caught:
    add x19, x19, #1
    cmp x19, #4
    b.ne again
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    mov x0, #42
    ret
fn deep
    stp x29, x30, [sp, #-16]!
    subs x0, x0, #1
    b.mi throw
    bl deep
    udf #0
throw:
    bl thrower
pad:
    bl resume
    udf #0
fn thrower
    nop
    ret
fn resume
    stp x29, x30, [sp, #-16]!
resuming:
    adr x9, pad
    adr x10, caught
    subs x20, x20, #1
    csel x9, x10, x9, mi
    add sp, sp, #32
    br x9
""",
}

# The cleanup of `deep` calls who raises on, and never comes back; the pad stands right behind that call. In the next
# round another activation of it is at the same place of the stack, and lands in that pad.
PAD_BEHIND_A_RESUME = {
    "x86_64": """
fn main
    push rbx
    mov ebx, 2
again:
    call deep
caught:
    dec ebx
    jnz again
    pop rbx
    mov eax, 42
    ret
fn deep
    sub rsp, 8
    call thrower
    ud2
cleanup:
    call resume
pad:
    nop
    jmp cleanup
fn thrower
    sub rsp, 24
    call raiser
    ud2
fn raiser
    lea rax, [rip + pad]
    lea rsp, [rsp + 40]
    jmp rax
fn resume
    lea rax, [rip + caught]
    lea rsp, [rsp + 24]
    jmp rax
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, #2
again:
    bl deep
caught:
    subs x19, x19, #1
    b.ne again
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    mov x0, #42
    ret
fn deep
    stp x29, x30, [sp, #-16]!
    bl thrower
    udf #0
cleanup:
    bl resume
pad:
    nop
    b cleanup
fn thrower
    str x30, [sp, #-16]!
    bl raiser
    udf #0
fn raiser
    adr x9, pad
    add sp, sp, #16
    br x9
fn resume
    adr x9, caught
    add sp, sp, #16
    br x9
""",
}

# f stands a little behind its call and goes on inside itself, by a register; then it lands in main, above its entry SP.
INSIDE_THEN_LANDING = {
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    sub sp, sp, #16
    bl f
    udf #0
pad:
    mov x0, #42
    ldp x29, x30, [sp], #16
    ret
fn f
    adr x9, inside
    br x9
    udf #0
inside:
    mov sp, x29
    b pad
""",
    "a32": """
fn main
    push {r11, lr}
    mov r11, sp
    sub sp, sp, #8
    bl f
    udf #0
pad:
    mov r0, #42
    pop {r11, pc}
fn f
    adr r9, inside
    bx r9
    udf #0
inside:
    mov sp, r11
    b pad
""",
}

# f calls itself, and jumps to what stands behind that call, with the link register at it and its frame in place: nobody
# returns from there on, so nothing tells that from a return which made room for its caller.
SELF_THEN_LANDING = {
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    sub sp, sp, #16
    mov x0, #1
    bl f
    udf #0
pad:
    mov x0, #42
    ldp x29, x30, [sp], #16
    ret
fn f
    stp x19, x30, [sp, #-16]!
    cbz x0, again
    mov x0, #0
    bl f
again:
    mov sp, x29
    b pad
""",
    "a32": """
fn main
    push {r11, lr}
    mov r11, sp
    sub sp, sp, #8
    mov r0, #1
    bl f
    udf #0
pad:
    mov r0, #42
    pop {r11, pc}
fn f
    push {r4, lr}
    cmp r0, #0
    beq again
    mov r0, #0
    bl f
again:
    mov sp, r11
    b pad
""",
}

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

# f moves up, with its return address: it lies where SP is now, or in the part of the stack that was its caller's.
UP = """fn main
push rbx
call mark
back: test eax, eax
jnz landed
sub rsp, 48
call f
ud2
landed: mov eax, 42
pop rbx
ret
fn f
pop rcx
add rsp, 16
push rcx
jmp part
fn part
in_f: sub rsp, 8
call h
ud2
fn h
nop
in_h: call far
ud2
fn mark
lea rax, [rip + buffer]
mov [rax], rbx
lea rcx, [rsp + 8]
mov [rax + 8], rcx
mov rcx, [rsp]
mov [rax + 16], rcx
xor eax, eax
ret
fn far
lea rdx, [rip + buffer]
mov rbx, [rdx]
mov rsp, [rdx + 8]
mov eax, 1
jmp [rdx + 16]
.bss
buffer: .skip 64
"""
MOVED_UP = [  # the function that is left by longjmp, and the program
    ("part" if jump else "f", UP.replace("pop rcx", before + "pop rcx").replace("jmp part\nfn part\n", jump))
    for before in ("", "nop\n")
    for jump in ("jmp part\nfn part\n", "")
]
OVER_ARGUMENTS = """fn main
push rbx
push 7
push 8
call f
back: mov eax, 42
pop rbx
ret
fn f
pop rcx
mov [rsp + 8], rcx
lea rdx, [rip + g]
mov [rsp], rdx
in_f: ret
fn g
nop
in_g: ret
"""
BACKWARDS = "fn f" + "".join(OVER_ARGUMENTS.partition("fn f")[::-2])
WITH_ARGUMENTS = MOVED["x86_64"].replace("[rsp + 0x18]", "[rsp + 0x10]").replace("ready:\n    ret", "ready:\n    ret 8")
BACK = "back = main, _start"

WATCHED = {
    "a landing pad is in the function whose stack it has": Shown(
        LANDING,
        (
            *("thrower = thrower, middle, catcher, main, _start", "pad = catcher, main, _start"),
            *("leaf = leaf, catcher, main, _start", "main_back = main, _start"),
        ),
        transition=SWITCHED,
    ),
    # where a pad is, a call of an earlier round would have come back, with the SP of a function of this one
    "recursion lands in pads that stand behind calls": Shown(
        PADS_BEHIND_CALLS,
        (
            *("pad#1 = deep, deep, main, _start", "pad#2 = deep, main, _start"),
            *("pad#3 = deep, deep, deep, main, _start", "pad#4 = deep, deep, main, _start"),
            *("pad#5 = deep, main, _start", "pad#6 = deep, deep, deep, deep, main, _start"),
            "resuming#7 = resume, deep, deep, deep, main, _start",
            *("caught = main, _start", "caught#3 = main, _start"),
        ),
        transition=None,
    ),
    # the callee did not come back elsewhere: its parent's ordinary return is not what ended it
    "a jump to what stands behind the call is no return if a landing follows": Shown(
        INSIDE_THEN_LANDING,
        ("f = f, main, _start", "inside = f, main, _start", "pad = main, _start"),
        activations=3,
        transition=None,
    ),
    "a jump to what stands behind the call of itself may be one, where nobody returns behind it": Shown(
        SELF_THEN_LANDING, ("again = f, main, _start", "pad = main, _start"), transition=None, undecided=("again",)
    ),
    "a function that makes room for its caller returns with a lower SP": Shown(
        ROOM, ("ready = room, main, _start", BACK, "leaf = leaf, main, _start")
    ),
    "a moved return address may be taken with arguments": Shown(
        {"x86_64": WITH_ARGUMENTS},
        ("landed = f, main, _start", "ready = f, main, _start", BACK),
        activations=6,
    ),
    "a callee may never return and its caller be entered again": Shown(
        AGAIN,
        (
            *("inner#1 = inner, middle, main, _start", "inner#2 = inner, middle, main, _start"),
            *("ordinary = inner, middle, main, _start", "after = middle, main, _start", BACK),
        ),
        transition=None,
    ),
    **{
        f"a function that moved up and is left by longjmp was called {i}": Shown(
            {"x86_64": body},
            (f"in_f = {own}, main, _start", f"in_h = h, {own}, main, _start", "landed = main, _start"),
            transition=None,
        )
        for i, (own, body) in enumerate(MOVED_UP)
    },
    "a return address that took the place of arguments goes on as one": Shown(
        {"x86_64": OVER_ARGUMENTS}, ("in_f = f, main, _start", "in_g = g, main, _start", BACK)
    ),
    "and so it does for a call backwards": Shown(
        {"x86_64": BACKWARDS}, ("in_f = f, main, _start", "in_g = g, main, _start", BACK)
    ),
}


@pytest.mark.parametrize(("shown", "isa"), shown_cases(WATCHED))
def test_landings_are_watched(shown: Shown, isa: str) -> None:
    is_watched(shown, isa)


@pytest.mark.parametrize("isa", MOVED)
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


@pytest.mark.parametrize("isa", PAD_BEHIND_A_RESUME)
def test_who_never_returned_does_not_come_back_in_the_place_of_another(isa: str) -> None:
    truth = watch(isa, PAD_BEHIND_A_RESUME[isa], "pad = deep, main, _start", "caught = main, _start")
    called, landed = (truth.node[steps_at(truth, label)].tolist() for label in ("deep", "pad"))
    assert landed == called and len(set(called)) == 2
