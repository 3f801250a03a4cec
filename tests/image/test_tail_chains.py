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


CERTAIN, AMBIGUOUS, UNKNOWN = Certainty.CERTAIN, Certainty.AMBIGUOUS, Certainty.UNKNOWN
Calls = dict[str, list[str]]
CYCLE: Calls = {"a": ["b"], "b": ["a", "c"], "c": []}

# tail calls, the function that executes, how certain the chain is, its links, what is said of it
CHAINS: list[tuple[Calls, str, Certainty, list[str], str]] = [
    # It runs from the target to before the executing function.
    ({"a": ["b"], "b": ["c"], "c": ["d"], "d": []}, "d", CERTAIN, ["a", "b", "c"], ""),
    ({"a": ["b"], "b": []}, "a", CERTAIN, [], ""),
    # Side branches and cycles that lead elsewhere do not matter.
    ({"a": ["b", "x", "y"], "b": ["c"], "x": ["y"], "y": [], "c": ["x"]}, "c", CERTAIN, ["a", "b"], ""),
    ({"a": ["b", "x"], "b": [], "x": ["y"], "y": ["x"]}, "b", CERTAIN, ["a"], ""),
    # Two ways are ambiguous; a short cut is a second one.
    ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, "d", AMBIGUOUS, [], ""),
    ({"a": ["b", "c"], "b": ["c"], "c": []}, "c", AMBIGUOUS, [], ""),
    # So is a cycle on the way, even where each function is passed once only, and a function that calls itself.
    *((CYCLE, executing, AMBIGUOUS, [], "laps") for executing in ("a", "b", "c")),
    ({"a": ["a", "b"], "b": []}, "b", AMBIGUOUS, [], ""),
    # No listed tail call reaches it.
    ({"a": [], "b": []}, "b", UNKNOWN, [], "no listed tail call leads from a"),
]


@pytest.mark.parametrize(("calls", "executing", "certainty", "expected", "because"), CHAINS)
def test_a_chain_is_certain_ambiguous_or_unknown(
    calls: Calls, executing: str, certainty: Certainty, expected: list[str], because: str
) -> None:
    answer = chain(calls, executing)
    assert (answer.certainty, links(answer)) == (certainty, expected)
    assert because in answer.because


def test_two_ways_are_both_named() -> None:
    answer = chain({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, "d")
    assert sorted(answer.candidates) == [("a", "b"), ("a", "c")]


@pytest.mark.parametrize("where", ["a", "b", "x"])
def test_a_jump_through_a_pointer_anywhere_within_reach_makes_it_unknown(where: str) -> None:
    answer = chain({"a": ["b", "x"], "b": ["c"], "c": [], "x": []}, "c", pointer=where)
    assert (answer.certainty, answer.links) == (UNKNOWN, ())
    assert "a pointer" in answer.because


def test_call_sites_that_are_not_all_listed_prove_nothing() -> None:
    answer = chain({"a": ["b"], "b": []}, "b", unlisted=("a",))
    assert (answer.certainty, answer.links) == (UNKNOWN, ())


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


# the expression of a pointer, whether the call clobbers it, how certain the chain is, what is said of it
POINTERS: list[tuple[bytes, bool, Certainty, str]] = [
    # A pointer that is always the same is followed:
    (b"\x03" + address(TO_LEAF), False, CERTAIN, ""),  # DW_OP_addr
    (b"\x03" + address(AT_CONSTANT) + b"\x06", False, CERTAIN, ""),  # DW_OP_deref of what nobody writes
    (b"\x03" + address(AT_CONSTANT - 0x90) + b"\x23\x90\x01\x06", False, CERTAIN, ""),  # DW_OP_plus_uconst
    # one that may be another is not:
    (b"", False, UNKNOWN, "a pointer"),
    (b"\x55", False, UNKNOWN, "a pointer"),  # DW_OP_reg5
    (b"\x75\x08\x06", False, UNKNOWN, "a pointer"),  # DW_OP_breg5 8, DW_OP_deref
    (b"\xa3\x01\x55", False, UNKNOWN, "a pointer"),  # DW_OP_entry_value of DW_OP_reg5, as gcc writes it
    (b"\x03" + address(AT_VARIABLE) + b"\x06", False, UNKNOWN, "a pointer"),  # a word that a store can change
    (b"\x03" + address(0x9000) + b"\x06", False, UNKNOWN, "a pointer"),  # a word outside the file
    (b"\x03" + address(TO_LEAF) + b"\x9f\x30", False, UNKNOWN, "a pointer"),
    (b"\x06", False, UNKNOWN, "a pointer"),
    (b"\x03" + address(TO_LEAF), True, UNKNOWN, ""),
    (b"\x03" + address(BASE + 0x500), False, UNKNOWN, "0x1500"),  # no function
]


@pytest.mark.parametrize(("expression", "clobbered", "certainty", "because"), POINTERS)
def test_a_jump_through_a_pointer(expression: bytes, clobbered: bool, certainty: Certainty, because: str) -> None:
    answer = through_a_pointer(expression, clobbered=clobbered)
    assert (answer.certainty, links(answer)) == (certainty, ["first"] if certainty is CERTAIN else [])
    assert because in answer.because


def test_a_hundred_functions_in_a_row_and_a_mesh_of_thirty_end_soon() -> None:
    row = {f"f{i}": [f"f{i + 1}"] for i in range(100)}
    assert len(chain(row, "f100").links) == 100
    mesh = {f"f{i}": [f"f{j}" for j in range(i + 1, 31)] for i in range(30)}
    answer = chain(mesh, "f30")
    assert answer.certainty is Certainty.AMBIGUOUS
    assert 2 <= len(answer.candidates) <= 4
