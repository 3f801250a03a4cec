"""Shrinking: what is left fails, and nothing smaller does."""

from __future__ import annotations

from hypothesis import given

from testbed.generate.program import parse_director
from testbed.generate.shape import Shape, why_not
from testbed.generate.shrink import shrink, smaller
from tests.generate.shapes import shapes

LARGE = "f24r3e+f64r5pda3o64ems1c2i3t2+f520r6i3i3+f8m"


@given(shapes())
def test_smaller_shapes_are_valid_and_shorter_by_something(shape: Shape) -> None:
    found = list(smaller(shape))
    assert shape not in found
    assert all(why_not(each) is None for each in found)
    assert found or str(shape) == "f"


@given(shapes())
def test_what_always_fails_is_shrunk_to_one_empty_function(shape: Shape) -> None:
    assert str(shrink(shape, lambda _: True)) == "f"


def test_a_cause_in_two_facts_is_found() -> None:
    def fails(shape: Shape) -> bool:
        return any(function.frame == 64 and function.calls for function in shape.functions)

    assert str(shrink(parse_director(LARGE), fails)) == "f64c1+f"


def test_a_limit_is_found_and_not_only_halves() -> None:
    def fails(shape: Shape) -> bool:
        return any(function.frame >= 24 and function.saved >= 3 for function in shape.functions)

    assert str(shrink(parse_director(LARGE), fails)) == "f24r3"


def test_nothing_is_asked_twice_nor_too_often() -> None:
    asked: list[Shape] = []

    def fails(shape: Shape) -> bool:
        asked.append(shape)
        return len(asked) % 8 == 0

    shrink(parse_director(LARGE), fails, most_tries=25)
    assert 10 < len(asked) == len(set(asked)) <= 25


def test_what_fails_for_no_smaller_one_stays() -> None:
    shape = parse_director(LARGE)
    assert shrink(shape, lambda _: False) == shape
