"""Traits about what lies where: the link register, leftovers of calls that are over, code pointers, tail calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from testbed.image import Symbol
from testbed.machine import record
from testbed.truth import observe
from testbed.words.traits import Trait
from tests.machine.snippets import image_of
from tests.truth.watched import agree_in_columns, steps_at, watch

ISAS = pytest.mark.parametrize("isa", ["x86_64", "arm64", "a32", "thumb"])

# main calls first, whose call of leaf leaves a return address on the stack; then it calls roomy, which makes room
# over that place without writing there, and leaf once more, by a jump from hop.
PROGRAM = {
    "x86_64": """
fn main
    push rbx
    call first
back_in_main:
    call roomy
    lea rax, [rip + leaf]
    push rax
pointer_stored:
    pop rax
pointer_gone:
    call hop
    pop rbx
    ret
fn first
    call leaf
    ret
fn roomy
    sub rsp, 0x40
roomy_body:
    nop
    add rsp, 0x40
roomy_end:
    ret
fn hop
    jmp leaf
fn leaf
    mov eax, 42
leaf_return:
    ret
""",
    "arm64": """
fn main
    str x30, [sp, #-16]!
    bl first
back_in_main:
    bl roomy
    adr x0, leaf
    str x0, [sp, #-16]!
pointer_stored:
    add sp, sp, #16
pointer_gone:
    bl hop
    ldr x30, [sp], #16
    ret
fn first
    str x30, [sp, #-16]!
    bl leaf
    ldr x30, [sp], #16
    ret
fn roomy
    sub sp, sp, #0x40
roomy_body:
    nop
    add sp, sp, #0x40
roomy_end:
    ret
fn hop
    b leaf
fn leaf
    mov x0, #42
leaf_return:
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    bl first
back_in_main:
    bl roomy
    adr r0, leaf
    push {r0, r1}
pointer_stored:
    add sp, sp, #8
pointer_gone:
    bl hop
    pop {r4, pc}
fn first
    push {r4, lr}
    bl leaf
    pop {r4, lr}
    bx lr
fn roomy
    sub sp, sp, #0x40
roomy_body:
    nop
    add sp, sp, #0x40
roomy_end:
    bx lr
fn hop
    b leaf
fn leaf
    mov r0, #42
leaf_return:
    bx lr
""",
}
PROGRAM["thumb"] = PROGRAM["a32"]


@pytest.fixture(scope="module", params=["x86_64", "arm64", "a32", "thumb"])
def seen(request: pytest.FixtureRequest) -> dict[str, list[frozenset[Trait]]]:
    """The traits at every visit of each label."""
    truth = watch(request.param, PROGRAM[request.param], "leaf#1 = leaf, first, main, _start")
    labels = (
        "back_in_main",
        "pointer_stored",
        "pointer_gone",
        "roomy_body",
        "roomy_end",
        "leaf",
        "leaf_return",
        "main",
    )
    return {label: [truth.traits(step) for step in steps_at(truth, label)] for label in labels}


def test_a_return_address_left_below_sp_matters_when_sp_goes_below_it_again(
    seen: dict[str, list[frozenset[Trait]]],
) -> None:
    assert [Trait.LEFTOVER in at for at in seen["roomy_body"]] == [True]
    assert [Trait.LEFTOVER in at for at in seen["back_in_main"] + seen["roomy_end"]] == [False, False]
    assert not any(Trait.LEFTOVER in at for at in seen["main"])


def test_a_function_pointer_on_the_stack_is_one_until_sp_passes_it(seen: dict[str, list[frozenset[Trait]]]) -> None:
    assert [Trait.CODE_POINTER in at for at in seen["pointer_stored"]] == [True]
    assert [Trait.CODE_POINTER in at for at in seen["pointer_gone"]] == [False]


def test_a_function_reached_by_a_jump_is_tail_called(seen: dict[str, list[frozenset[Trait]]]) -> None:
    assert [Trait.TAIL_CALLED in at for at in seen["leaf_return"]] == [False, True]
    assert not any(Trait.TAIL_CALLED in at for at in seen["main"] + seen["roomy_body"])


def test_an_outer_activation_that_tail_called_counts_too() -> None:
    program = """
fn main
    push rbx
    call hop
    pop rbx
    ret
fn hop
    jmp target
fn target
    call leaf
    ret
fn leaf
    mov eax, 42
leaf_return:
    ret
"""
    truth = watch("x86_64", program, "leaf = leaf, target, main, _start")
    assert Trait.TAIL_CALLED in truth.traits(steps_at(truth, "leaf_return")[0])


@pytest.mark.parametrize("isa", PROGRAM)
def test_code_without_a_symbol_is_not_told_apart(isa: str) -> None:
    """Only a symbol that reaches over an instruction says in which function it is."""
    image = image_of(isa, PROGRAM[isa])
    whole = observe(record(image, budget=20_000))

    def seen_with(keep: Callable[[Symbol], bool]) -> list[bool]:
        known = replace(image, symbols=tuple(symbol for symbol in image.symbols if keep(symbol)))
        truth = observe(replace(whole.trace, images=tuple(replace(each, image=known) for each in whole.trace.images)))
        agree_in_columns(truth)
        return [Trait.TAIL_CALLED in truth.traits(step) for step in steps_at(whole, "leaf_return")]

    assert seen_with(lambda symbol: True) == [False, True]
    assert seen_with(lambda symbol: symbol.name != "hop") == [False, True]  # another one begins where this one ends
    assert seen_with(lambda symbol: symbol.name != "leaf") == [False, False]
    assert seen_with(lambda symbol: False) == [False, False]


@pytest.mark.parametrize("isa", ["arm64", "a32", "thumb"])
def test_the_link_register_is_live_until_a_call_returns(isa: str) -> None:
    truth = watch(isa, PROGRAM[isa], "leaf#1 = leaf, first, main, _start")

    def link(label: str) -> set[Trait]:
        return set(truth.traits(steps_at(truth, label)[0])) & {Trait.LINK_LIVE, Trait.LINK_STALE}

    assert link("leaf") == link("main") == link("roomy_body") == {Trait.LINK_LIVE}
    assert link("pointer_stored") == {Trait.LINK_STALE}
    assert set(truth.traits(0)) & {Trait.LINK_LIVE, Trait.LINK_STALE} == set(), "zero at the entry says nothing"


def test_without_a_link_register_there_is_nothing_to_say_about_it() -> None:
    truth = watch("x86_64", PROGRAM["x86_64"], "leaf#1 = leaf, first, main, _start")
    assert not any(truth.traits(step) & {Trait.LINK_LIVE, Trait.LINK_STALE} for step in range(len(truth.trace)))


@ISAS
def test_only_the_outermost_activation_has_no_caller(isa: str) -> None:
    truth = watch(isa, PROGRAM[isa], "leaf#1 = leaf, first, main, _start")
    for step in range(len(truth.trace)):
        root = len(truth.stack(step)) == 1
        assert truth.traits(step) & {Trait.ROOT, Trait.CALLED} == {Trait.ROOT if root else Trait.CALLED}
