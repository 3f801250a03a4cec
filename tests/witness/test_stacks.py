"""What opens an activation, what ends one, and what only looks like it, by where control goes on."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from testbed.machine import record
from testbed.program.header import Signal
from testbed.witness import attest
from tests.machine.snippets import image_of
from tests.witness.rules import (
    BEHIND,
    BY_HAND,
    BYTES,
    COPIED,
    INLINE,
    LANDING,
    LEFT,
    LINKED,
    LONGJMP,
    MAKER,
    MOVED,
    NO_CALL,
    PASSED_OVER,
    PC,
    TAIL,
    TWICE,
    UNREAD,
)
from tests.witness.witnessed import functions, recorded, visits, witness

EXIT = {
    "x86_64": "mov edi, 42\nmov eax, 60\nsyscall",
    "arm64": "mov x0, #42\nmov x8, #93\nsvc #0",
    "a32": "mov r0, #42\nmov r7, #1\nsvc #0",
    "thumb": "movs r0, #42\nmovs r7, #1\nsvc #0",
}


NEXT = "fn main\nmov eax, 40\ncall next\nnext: add eax, 1\nret\n"
RETPOLINE = """fn main
sub rsp, 8\nlea rax, [rip + f]\ncall thunk\nback: add rsp, 8\nret
fn thunk\ncall over\nspin: jmp spin\nover: mov [rsp], rax\nret
fn f\nmov eax, 42\nin_f: ret
"""
# Two pointers on the stack: to data, and to code to which control goes later.
POINTERS = """fn main
lea rax, [rip + h]\npush rax\nlea rax, [rip + data]\npush rax\njmp g
fn h\nmov eax, 42\nin_h: ret
fn g\nin_g: mov rax, [rsp + 8]\nadd rsp, 16\njmp rax
.bss\n.section .rodata\ndata: .quad 8
"""
NEVER_BACK = {
    isa: body.replace("xor edx, edx", "mov edx, 1").replace("mov x2, #0", "mov x2, #1") for isa, body in MAKER.items()
}
OPEN = {  # it exits while f and h are called
    isa: f"fn main\n{call} f\nnop\nfn f\n{call} g\nnop\nfn g\nnop\n{tail} h\nfn h\nnop\nin_h: {EXIT[isa]}\n"
    for isa, (call, tail) in {isa: ("call", "jmp") if isa == "x86_64" else ("bl", "b") for isa in EXIT}.items()
}
IN_TWO = {  # a call in two instructions, and nobody comes back
    isa: f"fn main\n{call}\nback: nop\nnop\nfn f\nnop\nin_f: {EXIT[isa]}\n"
    for isa, call in {
        "x86_64": "lea rax, [rip + back]\npush rax\njmp f",
        "arm64": "adr x30, back\nb f",
        "a32": "mov lr, pc\nb f",
        "thumb": "adr r0, back\nadds r0, #1\nmov lr, r0\nb.w f\n.p2align 2",
    }.items()
}
IN_F, BACK = "in_f = f, main, _start", "back = main, _start"
THROWN = ("throwing = throw, f, main, _start", "pad = main, _start")

# what a program shows: the program by instruction set, and stacks at its labels
STACKS: Mapping[str, tuple[Mapping[str, str], tuple[str, ...]]] = {
    "a tail call keeps the continuation": (TAIL, ("in_g = g, main, _start", BACK)),
    "a return to a little behind the call": (INLINE, (IN_F, BACK)),
    "an address that is moved by bytes": (BYTES, (IN_F, BACK)),
    "a call in two instructions": (BY_HAND, (IN_F, BACK)),
    "a call in two instructions is one though nobody comes back": (IN_TWO, (IN_F,)),
    "a jump written as a return opens nothing": (NO_CALL, ("there = main, _start",)),
    "a call that only asks for pc opens nothing": (PC, ("next = main, _start", "after = main, _start")),
    "code that calls what follows it runs twice": (
        {"x86_64": NEXT},
        ("next#1 = main, main, _start", "next#2 = main, _start"),
    ),
    "a retpoline leaves its call as it goes elsewhere": (
        {"x86_64": RETPOLINE},
        ("over = thunk, thunk, main, _start", IN_F, BACK),
    ),
    "a call instruction used as a jump": (LINKED, ("in_far = far, main, _start", BACK)),
    "a function that moves its return address": (MOVED, ("landed = f, main, _start", BACK)),
    "longjmp goes on where setjmp was called": (
        LONGJMP,
        (BACK, "jumping = jump, f, main, _start", "out = main, _start"),
    ),
    "a landing ends what it cuts off": (LANDING, THROWN),
    "a landing pad right behind the call is no return that was lost": (BEHIND, THROWN),
    # as `bl __cxa_end_cleanup` of 32-bit ARM: who is called never returns, and lets the next call write over it
    "a call is one though nobody reads its link register and an exception passes its parent": (UNREAD, THROWN),
    "a landing pad right behind a call tells nothing of calls further in": (
        PASSED_OVER,
        ("throwing = throw, h, g, f, main, _start", "pad = f, main, _start"),
    ),
    "a jump to another stack begins one and a jump back goes on": (LEFT, ("in_f = f, other", BACK)),
    "a program exits with activations open": (OPEN, ("in_h = h, f, main, _start",)),
    "a pointer on the stack hands nothing over": (
        {"x86_64": POINTERS},
        ("in_g = g, _start", "in_h = h, _start"),
    ),
    "a stack begins with the caller that its maker put there": (MAKER, ("in_work = work, gone", BACK)),
    "the maker says who called though nobody returns there": (NEVER_BACK, ("in_work = work, gone", BACK)),
    "who returns twice is there again once": (
        TWICE,
        ("kept = keep, main, _start", "in_tail = tail, main, _start", BACK, "out = main, _start"),
    ),
}


@pytest.mark.whole
@pytest.mark.parametrize(
    ("isa", "body", "stacks"),
    [
        pytest.param(isa, body, stacks, id=f"{shown} {isa}")
        for shown, (bodies, stacks) in STACKS.items()
        for isa, body in bodies.items()
    ],
)
def test_the_stack_is_where_control_goes_on(isa: str, body: str, stacks: tuple[str, ...]) -> None:
    witness(isa, body + "\n", *stacks)


# f computes the address of the label anew: nothing proves that it returns.
LOST = {
    "x86_64": "fn main\nsub rsp, 8\ncall f\nback: mov eax, 42\nadd rsp, 8\nret\n"
    "fn f\nlea rax, [rip + back]\nadd rsp, 8\njmp rax",
    "arm64": "fn main\nstr x30, [sp, #-16]!\nbl f\nback: mov x0, #42\nldr x30, [sp], #16\nret\n"
    "fn f\nadr x9, back\nbr x9",
    "a32": "fn main\npush {r4, lr}\nbl f\nback: mov r0, #42\npop {r4, pc}\nfn f\nadr r3, back\nbx r3",
}


@pytest.mark.parametrize("isa", LOST)
def test_a_return_by_a_value_that_was_not_followed_is_told(isa: str) -> None:
    assert len(attest(recorded(isa, LOST[isa] + "\n")).unfollowed) == 1


def test_a_jump_to_the_address_right_behind_the_return() -> None:
    """The handler returns to its restorer, which follows it: pc falls through, and it is a return all the same."""
    body = "fn main\nmov x9, x30\nleaf_body: mov x0, #42\nret x9\nfn handler\nin_handler: ret\nfn restorer\n"
    body += "mov x8, #139\nsvc #0\n"
    signal = Signal("leaf_body", 1, "handler", "restorer", False, 1)
    trace = recorded("arm64", body, signals=(signal,))
    said = attest(trace)
    (inside,), (behind,) = visits(trace, "in_handler"), visits(trace, "restorer")
    assert behind == inside + 1
    assert functions(trace, said, inside) == ("handler", "restorer", "main", "_start")
    assert functions(trace, said, behind) == ("restorer", "main", "_start")
    assert functions(trace, said, visits(trace, "leaf_body")[-1]) == ("main", "_start")


@pytest.mark.parametrize("isa", COPIED)
def test_a_stack_that_was_copied_has_new_cfas(isa: str) -> None:
    said = witness(
        isa, COPIED[isa] + "\n", "in_g = g, f, main, _start", "in_f = f, main, _start", "back = main, _start"
    )
    trace = recorded(isa, COPIED[isa] + "\n")
    symbol = trace.images[0].image.symbol_named("top")
    top, (inside,) = symbol.address, visits(trace, "in_f")
    assert [frame.cfa for frame in said.frames(inside, 0)] == [top - 16, top, None]
    calls = [frame.cfa for frame in said.frames(visits(trace, "f")[0], 0)]
    assert calls == [trace.sp[0] - 16, trace.sp[0], None]


def test_a_handler_makes_a_call_from_where_it_interrupted_though_nobody_comes_back() -> None:
    """Go's ``sigpanic``: the word below the interrupted SP is the interrupted pc, and the kernel goes on elsewhere."""
    body = "fn main\nmov eax, 1\nfault: nop\nret\nfn handler\nmov rax, [rsp + 168]\nmov rcx, [rsp + 176]\nsub rax, 8\n"
    body += "mov [rax], rcx\nmov [rsp + 168], rax\nlea rcx, [rip + panic]\nmov [rsp + 176], rcx\nret\n"
    body += f"fn restorer\nmov eax, 15\nsyscall\nfn panic\nnop\nin_panic: {EXIT['x86_64']}\n"
    trace = recorded("x86_64", body, signals=(Signal("fault", 1, "handler", "restorer", False, 1),))
    (inside,) = visits(trace, "in_panic")
    assert functions(trace, attest(trace), inside) == ("panic", "main", "_start")


def test_a_longjmp_over_a_call_in_code_without_symbols_leaves_it_a_call() -> None:
    """SP is loaded with what was there before: nobody adds to it, as who called to learn the pc would."""
    body = "fn main\npush rbx\nmov rbx, rsp\ncall outer\nnop\npad: mov eax, 42\npop rbx\nret\n"
    body += "fn outer\ncall inner\nnop\nfn inner\nmov rcx, rbx\nin_inner: mov rsp, rcx\njmp pad\n"
    (inside,) = visits(recorded("x86_64", body), "in_inner")
    trace = record(replace(image_of("x86_64", body), symbols=()), budget=100)
    assert len(attest(trace).chain(inside)) == 4
