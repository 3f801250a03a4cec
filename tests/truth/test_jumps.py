"""Non-local transfers: longjmp, landing pads, stack switches, functions that return twice."""

import pytest

from testbed.machine import record
from testbed.trace import Exited
from testbed.truth import observe
from testbed.truth.windows.window import AFTER
from tests.machine.snippets import image_of
from tests.truth.jumps import BL_AS_JUMP, LONGJMP, MARK, SWITCHED
from tests.truth.pieces import agree_in_pieces
from tests.truth.watched import Shown, is_watched, shown_cases, steps_at, watch
from tests.witness.rules import COPIED

# As the compiler makes `__builtin_longjmp`: FP is loaded before SP.
POINTER_FIRST = {
    "x86_64": """
fn main
    push rbp
    mov rbp, rsp
    sub rsp, 32
    mov [rsp], rbp
    lea rax, [rip + landed]
    mov [rsp + 8], rax
    mov [rsp + 16], rsp
    mov rdi, rsp
    call middle
    ud2
landed:
    mov eax, 42
    leave
    ret
fn middle
    push rbp
    mov rbp, rsp
    call jumper
    ud2
fn jumper
    push rbp
    mov rbp, rsp
    sub rsp, 16
body:
    mov rax, [rdi + 8]
    mov rbp, [rdi]
pointed:
    mov rsp, [rdi + 16]
switched:
    jmp rax
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-48]!
    mov x29, sp
    adr x9, landed
    mov x10, sp
    stp x29, x9, [sp, #16]
    str x10, [sp, #32]
    add x0, sp, #16
    bl middle
    udf #0
landed:
    mov x0, #42
    ldp x29, x30, [sp], #48
    ret
fn middle
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl jumper
    udf #0
fn jumper
    stp x29, x30, [sp, #-16]!
    mov x29, sp
body:
    ldp x29, x9, [x0]
pointed:
    ldr x10, [x0, #16]
loaded:
    mov sp, x10
switched:
    br x9
""",
    "a32": """
fn main
    push {FP, lr}
    mov FP, sp
    sub sp, sp, #16
    ADR r1, landed
    mov r2, sp
    str FP, [sp]
    str r1, [sp, #4]
    str r2, [sp, #8]
    mov r0, sp
    bl middle
    udf #0
    .p2align 2
landed:
    mov sp, FP
    mov r0, #42
    pop {FP, pc}
fn middle
    push {FP, lr}
    mov FP, sp
    bl jumper
    udf #0
fn jumper
    push {FP, lr}
    mov FP, sp
body:
    ldr r1, [r0, #4]
    ldr FP, [r0]
pointed:
    ldr r2, [r0, #8]
loaded:
    mov sp, r2
switched:
    bx r1
""",
}
POINTER_FIRST["thumb"] = (
    POINTER_FIRST["a32"].replace("FP", "r7").replace("ADR r1, landed", "adr.w r1, landed\n adds r1, #1")
)
POINTER_FIRST["a32"] = POINTER_FIRST["a32"].replace("FP", "r11").replace("ADR", "adr")

# `middle` keeps its return address in x20: it, and what it calls, have main's SP when they start.
NO_FRAME = MARK["arm64"].replace("stp x29, x30, [sp, #-32]!\n    bl inner", "mov x20, x30\n    bl inner")
MOV_LR_PC = """
fn main
    push {r4, lr}
    mov r4, #0
    adr r1, leaf
    mov lr, pc
    bx r1
back:
dispatch:
    adr lr, table
    ldr pc, [lr, r4, lsl #2]
table:
    .word zero, one, two
zero:
    add r4, r4, #1
    b dispatch
one:
    add r4, r4, #1
    adr r1, leaf
    mov lr, pc
    bx r1
    b dispatch
two:
    pop {r4, pc}
fn leaf
    mov r0, #42
    bx lr
"""
NOT_TAKEN = {
    "a32": """
fn main
    push {r4, lr}
    mov r4, #0
    cmp r4, #0
    blne leaf
not_taken:
    cmp r4, #0
    bleq leaf
    pop {r4, pc}
fn leaf
    mov r0, #42
    bx lr
""",
    "thumb": """
fn main
    push {r4, lr}
    movs r4, #0
    cmp r4, #0
    it ne
    blne leaf
not_taken:
    cmp r4, #0
    it eq
    bleq leaf
    pop {r4, pc}
fn leaf
    movs r0, #42
    bx lr
""",
}
SKIPS = {
    "x86_64": """
fn main
    push rbx
    mov ebx, TURNS
    call parent
back:
    dec ebx
    jz out
    call parent
out:
    pop rbx
    ret
fn parent
    push rbp
    call callee
after:
    pop rbp
    ret
    ud2
fn callee
    sub rsp, 8
    mov eax, 42
    cmp ebx, 2
    je ordinary
skip:
    add rsp, 16
    pop rbp
    ret
ordinary:
    add rsp, 8
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, #TURNS
    bl parent
back:
    subs x19, x19, #1
    b.eq out
    bl parent
out:
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
fn parent
    stp x29, x30, [sp, #-16]!
    bl callee
after:
    ldp x29, x30, [sp], #16
    ret
    udf #0
fn callee
    sub sp, sp, #16
    mov x0, #42
    cmp x19, #2
    b.eq ordinary
skip:
    add sp, sp, #16
    ldp x29, x30, [sp], #16
    ret
ordinary:
    add sp, sp, #16
    ret
""",
}
# SP is a register like others while f counts.
BORROWED = {
    "x86_64": """
fn main
    sub rsp, 8
    call f
back:
    add rsp, 8
    ret
fn f
    mov rdx, rsp
    mov esp, 3
loop:
    dec rsp
    jnz loop
    mov rsp, rdx
in_f:
    mov eax, 42
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    bl f
back:
    pop {r4, pc}
fn f
    mov r1, sp
    mov sp, #12
loop:
    subs sp, sp, #4
    bne loop
    mov sp, r1
in_f:
    mov r0, #42
    bx lr
""",
}
LANDED, BACK = ("landed = main, _start", "leaf = leaf, main, _start"), "back = main, _start"

WATCHED = {
    "longjmp drops to the function that called setjmp": Shown(
        {isa: LONGJMP[isa] + MARK[isa] for isa in LONGJMP},
        ("mark = mark, main, _start", "inner_body = inner, middle, main, _start", *LANDED),
        transition=SWITCHED,
    ),
    "a transition begins where FP is the target's before SP is": Shown(
        POINTER_FIRST,
        ("body = jumper, middle, main, _start", "landed = main, _start"),
        transition={isa: {"pointed", "switched", *({"loaded"} if isa != "x86_64" else ())} for isa in POINTER_FIRST},
    ),
    "longjmp over functions without frames leaves none of them": Shown(
        {"arm64": LONGJMP["arm64"] + NO_FRAME},
        ("inner_body = inner, middle, main, _start", *LANDED),
        transition={"arm64": {"inner+0x4", "inner+0x8", "inner_body", *SWITCHED["arm64"]}},
    ),
    "mov lr, pc is a call, and a jump table through lr is not": Shown(
        {"a32": MOV_LR_PC},
        (
            *("leaf = leaf, main, _start", BACK),
            *("zero = main, _start", "one = main, _start", "two = main, _start"),
        ),
    ),
    "a predicated call that is not taken is none": Shown(
        NOT_TAKEN, ("not_taken = main, _start", "leaf = leaf, main, _start")
    ),
    "a call that came back once is a call even where the callee returns for its caller": Shown(
        {isa: body.replace("TURNS", "2") for isa, body in SKIPS.items()},
        (
            *("callee = callee, parent, main, _start", "callee#2 = callee, parent, main, _start"),
            *("after = parent, main, _start", "skip = callee, parent, main, _start", BACK),
        ),
        transition=None,
    ),
    # the word on the stack would spoil the parent's return, so somebody took it off on purpose
    "where calls push, a call is a call even if it never comes back": Shown(
        {"x86_64": SKIPS["x86_64"].replace("TURNS", "1")},
        ("skip = callee, parent, main, _start", BACK),
        transition=None,
    ),
}


@pytest.mark.parametrize("isa", POINTER_FIRST)
def test_a_transition_begins_where_fp_changed_wherever_the_run_is_cut(isa: str) -> None:
    whole = observe(record(image_of(isa, POINTER_FIRST[isa])))
    for step in steps_at(whole, "pointed"):
        agree_in_pieces(whole, step + AFTER)


@pytest.mark.parametrize(("shown", "isa"), shown_cases(WATCHED))
def test_non_local_transfers_are_watched(shown: Shown, isa: str) -> None:
    is_watched(shown, isa)


@pytest.mark.parametrize("isa", BORROWED)
def test_an_sp_that_points_nowhere_is_on_no_other_stack(isa: str) -> None:
    truth = observe(record(image_of(isa, BORROWED[isa])))
    own, inside = steps_at(truth, "loop")[-1], steps_at(truth, "in_f")[0]
    assert (truth.trace.end, len(truth.activations), truth.node[own]) == (Exited(42), 3, truth.node[inside])
    assert not truth.undecided.any()


def test_a_deep_stack_is_copied_whole() -> None:
    """Who is on it has a row more, and there are more of them than there are steps to come."""
    f = "fn f\nsub rsp, 24\ncall g\nin_f: add rsp, 24\nret\n"
    body = COPIED["x86_64"].replace(f, "fn f\ndec ecx\njz last\ncall f\nlast: call g\n").replace("256", "4096")
    body = body.replace("call f\nback", "mov ecx, 99\ncall f\nback").replace(
        "in_g: ret", "in_g: mov edi, 42\nmov eax, 60\nsyscall"
    )
    truth = observe(record(image_of("x86_64", body), budget=2000))
    copied = truth.stack(steps_at(truth, "in_g")[0])
    assert (truth.trace.end, len(copied)) == (Exited(42), 1 + 99 + 2)
    assert {near.cfa - far.cfa for near, far in zip(copied.frames[1:99], copied.frames[2:100], strict=True)} == {-8}


def test_a_wrapper_that_pops_its_return_address_returns_twice() -> None:
    """musl's sigsetjmp: it calls setjmp with its own return address put away, so it is long gone at the jump."""
    body = """
fn main
    push rbx
    sub rsp, 32
    mov rbx, rsp
    call wrapper
    test eax, eax
    jnz landed
    call middle
    ud2
landed:
    add rsp, 32
    pop rbx
    mov eax, 42
    ret
fn wrapper
    pop qword ptr [rbx + 16]
    call mark
back:
    push qword ptr [rbx + 16]
    jmp finish
fn finish
    nop
    ret
"""
    truth = watch(
        "x86_64",
        body + MARK["x86_64"],
        "mark = mark, wrapper, main, _start",
        "back = wrapper, main, _start",
        "finish = finish, main, _start",
        "inner_body = inner, middle, main, _start",
        "landed = main, _start",
    )
    first, second = steps_at(truth, "back")
    assert truth.node[first] == truth.node[second], "it is the same activation, alive again"


# What tells a call from a jump: it was taken, it came back once.


@pytest.mark.parametrize("isa", BL_AS_JUMP)
def test_bl_used_as_a_jump_opens_nothing(isa: str) -> None:
    truth = watch(
        isa,
        BL_AS_JUMP[isa],
        "far = main, _start",
        "again = main, _start",
        "leaf = leaf, main, _start",
        "last = main, _start",
        "last_return = main, _start",
    )
    assert agree_in_pieces(truth, 4).readings, "what shows that it was none lies in another piece"


def test_a_call_that_is_none_in_the_outermost_function_is_one_in_no_piece() -> None:
    """Position-independent code that carries its data along."""
    body = "fn _start\ncall over\n.quad 42\nover: pop rsi\nmov edi, [rsi]\nmov eax, 60\njmp out\nnop\nout: syscall"
    whole = observe(record(image_of("x86_64", body, start=False)))
    assert (whole.trace.end, len(whole.activations)) == (Exited(42), 1)
    assert agree_in_pieces(whole, 4).readings, "what shows that it is none lies in the next piece"
