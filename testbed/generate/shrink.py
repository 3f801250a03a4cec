"""Smaller shapes: from one that fails to one that fails and has no smaller one that does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from testbed.generate.evaluate import evaluate
from testbed.generate.shape import ALIGNMENTS, How, Shape, ShapeCall, ShapeFunction, why_not
from testbed.words.errors import DirectorError

MOST_TRIES = 400


def shrink(shape: Shape, fails: Callable[[Shape], bool], *, most_tries: int = MOST_TRIES) -> Shape:
    """A shape that still fails, and none of whose one-step smaller ones (`smaller`) does.

    ``fails`` is asked at most ``most_tries`` times, never twice for the same shape; then the smallest found counts.
    """
    asked: set[Shape] = {shape}
    while True:
        for candidate in smaller(shape):
            if candidate in asked:
                continue
            if len(asked) > most_tries:
                return shape
            asked.add(candidate)
            if fails(candidate):
                shape = candidate
                break
        else:
            return shape


def smaller(shape: Shape) -> Iterator[Shape]:
    """The valid shapes that have one thing less than this one, those that lack most first."""
    for candidate in _candidates(shape):
        if candidate.functions and why_not(candidate) is None and _ends_soon(candidate):
            yield candidate


def _ends_soon(shape: Shape) -> bool:
    try:
        evaluate(shape)
    except DirectorError:
        return False
    return True


def _candidates(shape: Shape) -> Iterator[Shape]:
    functions = shape.functions
    for number in range(len(functions) - 1, -1, -1):
        yield _without(shape, number)
    for number, function in enumerate(functions):
        for less in _less(function, number):
            yield Shape((*functions[:number], less, *functions[number + 1 :]))


def _without(shape: Shape, gone: int) -> Shape:
    """The shape without one function: the calls of it are gone too, the others' targets renumbered."""

    def moved(callee: int) -> int:
        return callee - (callee > gone)

    return Shape(
        tuple(
            replace(
                function,
                calls=tuple(ShapeCall(call.how, moved(call.callee)) for call in function.calls if call.callee != gone),
                tail=None if function.tail in (None, gone) else moved(function.tail),
            )
            for number, function in enumerate(shape.functions)
            if number != gone
        )
    )


def _less(function: ShapeFunction, number: int) -> Iterator[ShapeFunction]:
    calls = function.calls
    for i in range(len(calls)):
        yield replace(function, calls=calls[:i] + calls[i + 1 :])
    if function.tail is not None:
        yield replace(function, tail=None)
    for flag in ("stops", "ends", "early", "sub_first", "pointer"):
        if getattr(function, flag):
            yield replace(function, **{flag: False})  # type: ignore[arg-type]
    for name, values in (
        ("align", (0, *ALIGNMENTS)),
        ("alloca", _numbers(function.alloca, 1)),
        ("vla", _numbers(function.vla, 1)),
        ("recursion", _numbers(function.recursion, 1)),
        ("saved", _numbers(function.saved, 1)),
        ("frame", _numbers(function.frame, 8)),
    ):
        for value in values:
            if value < getattr(function, name):
                yield replace(function, **{name: value})  # type: ignore[arg-type]
    for i, call in enumerate(calls):
        if call.how is How.INDIRECT:
            yield replace(function, calls=(*calls[:i], ShapeCall(How.DIRECT, call.callee), *calls[i + 1 :]))
        if call.callee > number + 1:
            yield replace(function, calls=(*calls[:i], ShapeCall(call.how, call.callee - 1), *calls[i + 1 :]))


def _numbers(value: int, unit: int) -> tuple[int, ...]:
    """Zero, one unit, the half, one unit less."""
    return (0, unit, value // 2 // unit * unit, value - unit)
