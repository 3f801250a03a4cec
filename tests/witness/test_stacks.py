"""What opens an activation, what ends one, and what only looks like it, by where control goes on."""

from __future__ import annotations

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


@pytest.mark.parametrize("isa", TAIL)
def test_a_tail_call_keeps_the_continuation(isa: str) -> None:
    witness(isa, TAIL[isa] + "\n", "in_g = g, main, _start", "back = main, _start")


@pytest.mark.parametrize("isa", INLINE)
def test_a_return_to_a_little_behind_the_call(isa: str) -> None:
    witness(isa, INLINE[isa] + "\n", "in_f = f, main, _start", "back = main, _start")


@pytest.mark.parametrize("isa", BYTES)
def test_an_address_that_is_moved_by_bytes(isa: str) -> None:
    witness(isa, BYTES[isa] + "\n", "in_f = f, main, _start", "back = main, _start")


@pytest.mark.parametrize("isa", BY_HAND)
def test_a_call_in_two_instructions(isa: str) -> None:
    witness(isa, BY_HAND[isa] + "\n", "in_f = f, main, _start", "back = main, _start")


@pytest.mark.parametrize("isa", NO_CALL)
def test_a_jump_written_as_a_return_opens_nothing(isa: str) -> None:
    witness(isa, NO_CALL[isa] + "\n", "there = main, _start")


@pytest.mark.parametrize("isa", PC)
def test_a_call_that_only_asks_for_pc_opens_nothing(isa: str) -> None:
    witness(isa, PC[isa] + "\n", "next = main, _start", "after = main, _start")


def test_code_that_calls_what_follows_it_runs_twice() -> None:
    body = "fn main\nmov eax, 40\ncall next\nnext: add eax, 1\nret\n"
    witness("x86_64", body, "next#1 = main, main, _start", "next#2 = main, _start")


def test_a_retpoline_leaves_its_call_as_it_goes_elsewhere() -> None:
    body = "fn main\nsub rsp, 8\nlea rax, [rip + f]\ncall thunk\nback: add rsp, 8\nret\n"
    body += "fn thunk\ncall over\nspin: jmp spin\nover: mov [rsp], rax\nret\nfn f\nmov eax, 42\nin_f: ret\n"
    witness("x86_64", body, "over = thunk, thunk, main, _start", "in_f = f, main, _start", "back = main, _start")


@pytest.mark.parametrize("isa", LINKED)
def test_a_call_instruction_used_as_a_jump(isa: str) -> None:
    witness(isa, LINKED[isa] + "\n", "in_far = far, main, _start", "back = main, _start")


@pytest.mark.parametrize("isa", MOVED)
def test_a_function_that_moves_its_return_address(isa: str) -> None:
    witness(isa, MOVED[isa] + "\n", "landed = f, main, _start", "back = main, _start")


@pytest.mark.parametrize("isa", LONGJMP)
def test_longjmp_goes_on_where_setjmp_was_called(isa: str) -> None:
    stacks = ("back = main, _start", "jumping = jump, f, main, _start", "out = main, _start")
    witness(isa, LONGJMP[isa] + "\n", *stacks)


@pytest.mark.parametrize("isa", LANDING)
def test_a_landing_ends_what_it_cuts_off(isa: str) -> None:
    witness(isa, LANDING[isa] + "\n", "throwing = throw, f, main, _start", "pad = main, _start")


@pytest.mark.parametrize("isa", BEHIND)
def test_a_landing_pad_right_behind_the_call_is_no_return_that_was_lost(isa: str) -> None:
    witness(isa, BEHIND[isa] + "\n", "throwing = throw, f, main, _start", "pad = main, _start")


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


@pytest.mark.parametrize("isa", UNREAD)
def test_a_call_is_one_though_nobody_reads_its_link_register_and_an_exception_passes_its_parent(isa: str) -> None:
    """As ``bl __cxa_end_cleanup`` of 32-bit ARM: who is called never returns, and lets the next call write over it."""
    witness(isa, UNREAD[isa] + "\n", "throwing = throw, f, main, _start", "pad = main, _start")


@pytest.mark.parametrize("isa", PASSED_OVER)
def test_a_landing_pad_right_behind_a_call_tells_nothing_of_calls_further_in(isa: str) -> None:
    stacks = ("throwing = throw, h, g, f, main, _start", "pad = f, main, _start")
    witness(isa, PASSED_OVER[isa] + "\n", *stacks)


@pytest.mark.parametrize("isa", LEFT)
def test_a_jump_to_another_stack_begins_one_and_a_jump_back_goes_on(isa: str) -> None:
    witness(isa, LEFT[isa] + "\n", "in_f = f, other", "back = main, _start")


@pytest.mark.parametrize("isa", EXIT)
def test_a_program_exits_with_activations_open(isa: str) -> None:
    call, tail = ("call", "jmp") if isa == "x86_64" else ("bl", "b")
    body = f"fn main\n{call} f\nnop\nfn f\n{call} g\nnop\nfn g\nnop\n{tail} h\nfn h\nnop\nin_h: {EXIT[isa]}\n"
    witness(isa, body, "in_h = h, f, main, _start")


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


def test_a_pointer_to_data_on_the_stack_hands_nothing_over() -> None:
    """Nor does what lies above it, though it is an address of code to which control goes later."""
    body = "fn main\nlea rax, [rip + h]\npush rax\nlea rax, [rip + data]\npush rax\njmp g\n"
    body += "fn h\nmov eax, 42\nin_h: ret\nfn g\nin_g: mov rax, [rsp + 8]\nadd rsp, 16\njmp rax\n"
    body += ".bss\n.section .rodata\ndata: .quad 8\n"
    witness("x86_64", body, "in_g = g, _start", "in_h = h, _start")


@pytest.mark.parametrize("isa", MAKER)
def test_a_stack_begins_with_the_caller_that_its_maker_put_there(isa: str) -> None:
    witness(isa, MAKER[isa] + "\n", "in_work = work, gone", "back = main, _start")


@pytest.mark.parametrize("isa", MAKER)
def test_the_maker_says_who_called_though_nobody_returns_there(isa: str) -> None:
    never = MAKER[isa].replace("xor edx, edx", "mov edx, 1").replace("mov x2, #0", "mov x2, #1")
    witness(isa, never + "\n", "in_work = work, gone", "back = main, _start")


@pytest.mark.parametrize("isa", COPIED)
def test_a_stack_that_was_copied_has_new_cfas(isa: str) -> None:
    said = witness(
        isa, COPIED[isa] + "\n", "in_g = g, f, main, _start", "in_f = f, main, _start", "back = main, _start"
    )
    trace = recorded(isa, COPIED[isa] + "\n")
    symbol = trace.images[0].image.symbol_named("top")
    assert symbol is not None
    top, (inside,) = symbol.address, visits(trace, "in_f")
    assert [frame.cfa for frame in said.frames(inside, 0)] == [top - 16, top, None]
    calls = [frame.cfa for frame in said.frames(visits(trace, "f")[0], 0)]
    assert calls == [trace.sp[0] - 16, trace.sp[0], None]


@pytest.mark.parametrize("isa", TWICE)
def test_who_returns_twice_is_there_again_once(isa: str) -> None:
    stacks = ("kept = keep, main, _start", "in_tail = tail, main, _start", "back = main, _start", "out = main, _start")
    witness(isa, TWICE[isa] + "\n", *stacks)


@pytest.mark.parametrize("isa", EXIT)
def test_a_call_in_two_instructions_is_one_though_nobody_comes_back(isa: str) -> None:
    calls = {
        "x86_64": "lea rax, [rip + back]\npush rax\njmp f",
        "arm64": "adr x30, back\nb f",
        "a32": "mov lr, pc\nb f",
        "thumb": "adr r0, back\nadds r0, #1\nmov lr, r0\nb.w f\n.p2align 2",
    }
    body = f"fn main\n{calls[isa]}\nback: nop\nnop\nfn f\nnop\nin_f: {EXIT[isa]}\n"
    witness(isa, body, "in_f = f, main, _start")


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
