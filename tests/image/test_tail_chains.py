"""Chains of tail calls: which are certain, ambiguous, or not to be known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.image import Segment
from testbed.image.debug import DebugInfo, debug_info
from testbed.image.debug.call_sites import CallSite, CallTarget
from testbed.image.debug.functions import Function
from testbed.image.debug.tail_chains import Certainty, Chain, tail_chain
from tests.image.hand_made import BASE, address, call, first_child, function, image_of, tail_call


def chain(calls: dict[str, list[str]], executing: str, *, unlisted: tuple[str, ...] = (), pointer: str = "") -> Chain:
    """The answer for ``main -> first``, with the tail calls ``calls``; ``pointer`` also jumps through one."""
    every = list(dict.fromkeys(("main", *calls, *(callee for callees in calls.values() for callee in callees))))
    at = {name: BASE + 0x10 * i for i, name in enumerate(every)}

    def sites(name: str) -> tuple[CallSite, ...]:
        if name == "main":
            return (CallSite(at["main"] + 8, None, CallTarget(next(iter(calls)), at[next(iter(calls))]), tail=False),)
        tails = (
            CallSite(None, at[name] + 1 + i, CallTarget(callee, at[callee]), tail=True)
            for i, callee in enumerate(calls.get(name, ()))
        )
        return (*tails, *((CallSite(None, at[name] + 9, None, tail=True),) if name == pointer else ()))

    functions = tuple(
        Function(n, "", ((at[n], at[n] + 0x10),), at[n], (), sites(n), n not in unlisted, (at[n],)) for n in every
    )
    info = DebugInfo(image_of(), functions, ())
    return tail_chain(info, at["main"] + 8, next(f for f in functions if f.name == executing))


def links(answer: Chain) -> list[str]:
    return [link.function.name for link in answer.links]


def test_one_chain_is_certain_and_runs_from_the_target_to_before_the_executing_function() -> None:
    answer = chain({"a": ["b"], "b": ["c"], "c": ["d"], "d": []}, "d")
    assert (answer.certainty, links(answer)) == (Certainty.CERTAIN, ["a", "b", "c"])
    answer = chain({"a": ["b"], "b": []}, "a")
    assert (answer.certainty, links(answer)) == (Certainty.CERTAIN, [])


def test_side_branches_that_lead_elsewhere_do_not_matter() -> None:
    answer = chain({"a": ["b", "x", "y"], "b": ["c"], "x": ["y"], "y": [], "c": ["x"]}, "c")
    assert (answer.certainty, links(answer)) == (Certainty.CERTAIN, ["a", "b"])


def test_two_ways_are_ambiguous_and_both_are_named() -> None:
    answer = chain({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, "d")
    assert (answer.certainty, answer.links) == (Certainty.AMBIGUOUS, ())
    assert sorted(answer.candidates) == [("a", "b"), ("a", "c")]


def test_a_short_cut_is_a_second_way() -> None:
    assert chain({"a": ["b", "c"], "b": ["c"], "c": []}, "c").certainty is Certainty.AMBIGUOUS


@pytest.mark.parametrize("executing", ["a", "b", "c"])
def test_a_cycle_on_the_way_is_ambiguous_even_where_each_function_is_passed_once_only(executing: str) -> None:
    answer = chain({"a": ["b"], "b": ["a", "c"], "c": []}, executing)
    assert (answer.certainty, answer.links) == (Certainty.AMBIGUOUS, ())
    assert "laps" in answer.because


def test_a_cycle_that_does_not_lead_there_does_not_matter() -> None:
    answer = chain({"a": ["b", "x"], "b": [], "x": ["y"], "y": ["x"]}, "b")
    assert (answer.certainty, links(answer)) == (Certainty.CERTAIN, ["a"])


def test_a_function_that_calls_itself_is_a_cycle() -> None:
    assert chain({"a": ["a", "b"], "b": []}, "b").certainty is Certainty.AMBIGUOUS


@pytest.mark.parametrize("where", ["a", "b", "x"])
def test_a_jump_through_a_pointer_anywhere_within_reach_makes_it_unknown(where: str) -> None:
    answer = chain({"a": ["b", "x"], "b": ["c"], "c": [], "x": []}, "c", pointer=where)
    assert (answer.certainty, answer.links) == (Certainty.UNKNOWN, ())
    assert "a pointer" in answer.because


TO_LEAF = BASE + 0x80


AT_CONSTANT, AT_VARIABLE = BASE + 0x200, 0x8000  # words that hold the address of leaf


def through_a_pointer(expression: bytes, *, clobbered: bool = False) -> Chain:
    """The answer for ``main -> first``, which jumps to leaf through a pointer that is computed so."""
    first = first_child()
    jump = tail_call(BASE + 0x48, expression, clobbered=clobbered)
    image = image_of(
        function("first", BASE + 0x40, 0x20, jump),
        function("main", BASE, 0x20, call(first, BASE + 8)),
        function("leaf", TO_LEAF, 0x20),
    )
    [code] = image.segments
    data = code.data[:0x200] + address(TO_LEAF) + code.data[0x208:]
    variables = Segment(AT_VARIABLE, address(TO_LEAF), 8, True, True, False)
    info = debug_info(replace(image, segments=(replace(code, data=data), variables)))
    assert info.problems == ()
    return tail_chain(info, BASE + 8, next(f for f in info.functions if f.name == "leaf"))


@pytest.mark.parametrize(
    "expression",
    [
        b"\x03" + address(TO_LEAF),  # DW_OP_addr
        b"\x03" + address(AT_CONSTANT) + b"\x06",  # DW_OP_deref of what nobody writes
        b"\x03" + address(AT_CONSTANT - 0x90) + b"\x23\x90\x01\x06",  # DW_OP_plus_uconst
    ],
)
def test_a_pointer_that_is_always_the_same_is_followed(expression: bytes) -> None:
    answer = through_a_pointer(expression)
    assert (answer.certainty, links(answer)) == (Certainty.CERTAIN, ["first"])


@pytest.mark.parametrize(
    "expression",
    [
        b"",
        b"\x55",  # DW_OP_reg5
        b"\x75\x08\x06",  # DW_OP_breg5 8, DW_OP_deref
        b"\xa3\x01\x55",  # DW_OP_entry_value of DW_OP_reg5, as gcc writes it
        b"\x03" + address(AT_VARIABLE) + b"\x06",  # a word that a store can change
        b"\x03" + address(0x9000) + b"\x06",  # a word outside the file
        b"\x03" + address(TO_LEAF) + b"\x9f\x30",
        b"\x06",
    ],
)
def test_a_pointer_that_may_be_another_is_not_followed(expression: bytes) -> None:
    answer = through_a_pointer(expression)
    assert (answer.certainty, answer.links) == (Certainty.UNKNOWN, ())
    assert "a pointer" in answer.because


def test_a_target_that_the_call_clobbers_is_not_followed() -> None:
    assert through_a_pointer(b"\x03" + address(TO_LEAF), clobbered=True).certainty is Certainty.UNKNOWN


def test_a_target_that_is_no_function_makes_it_unknown() -> None:
    answer = through_a_pointer(b"\x03" + address(BASE + 0x500))
    assert (answer.certainty, answer.links) == (Certainty.UNKNOWN, ())
    assert "0x1500" in answer.because


def test_call_sites_that_are_not_all_listed_prove_nothing() -> None:
    answer = chain({"a": ["b"], "b": []}, "b", unlisted=("a",))
    assert (answer.certainty, answer.links) == (Certainty.UNKNOWN, ())


def test_a_function_that_no_listed_tail_call_reaches_is_unknown() -> None:
    answer = chain({"a": [], "b": []}, "b")
    assert answer.certainty is Certainty.UNKNOWN
    assert "no listed tail call leads from a" in answer.because


def test_a_hundred_functions_in_a_row_and_a_mesh_of_thirty_end_soon() -> None:
    row = {f"f{i}": [f"f{i + 1}"] for i in range(100)}
    assert len(chain(row, "f100").links) == 100
    mesh = {f"f{i}": [f"f{j}" for j in range(i + 1, 31)] for i in range(30)}
    answer = chain(mesh, "f30")
    assert answer.certainty is Certainty.AMBIGUOUS
    assert 2 <= len(answer.candidates) <= 4
