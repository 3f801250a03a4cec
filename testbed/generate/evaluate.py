"""What the program of a call shape computes, in plain Python: its exit status, and its call stacks.

Function ``k`` of a shape is called with ``x`` and the depth ``d`` of recursion left; all arithmetic is modulo 2**32::

    early:  if x & 1: return 2 x + K                                      with K = 3 k + 7
            s = x + K
    frame:  w = s;  s += x                                                 both went through memory
    saved:  y_i = s + i         for i = 1..saved
    locals: o = s;  a = s + 2;  v = s + 3                                  aligned, alloca, array
            if d: s += f_k(s, d - 1)
            s += f_j(s, recursion of j)   for each call of j
            s += w + y_1 + y_2 + ... + o + a + v                           those that there are
    ends:   if s & 2: return s + 1
            stop with s   |   return f_t(s, recursion of t)   |   return s

The status is ``(s & 255) | 1``. Nothing here is shared with what writes the programs: it is their oracle.
"""

from __future__ import annotations

from dataclasses import dataclass

from testbed.generate.shape import Shape
from testbed.words.errors import DirectorError

INPUT = 0x52  # what main calls function 0 with: even, so that a way out before the frame is not the only one taken
MOST_ACTIVATIONS = 64
_WORD = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Evaluation:
    """``status`` is the exit status; ``possible`` the function names, innermost first, whenever a function begins.

    A function that has left by a tail call stands there in parentheses: a compiler may have made a call of it.
    """

    status: int
    possible: tuple[tuple[str, ...], ...]

    @property
    def stacks(self) -> tuple[tuple[str, ...], ...]:
        """The same where every tail call is one."""
        return tuple(tuple(name for name in stack if name[0] != "(") for stack in self.possible)


class _Stopped(Exception):
    """A function that does not return was called with ``value``."""

    def __init__(self, value: int) -> None:
        self.value = value


def evaluate(shape: Shape) -> Evaluation:
    """The oracle. Raises DirectorError for a shape that makes more than MOST_ACTIVATIONS calls."""
    stacks: list[tuple[str, ...]] = []
    try:
        result = _call(shape, 0, INPUT, shape.functions[0].recursion, ("main", "_start"), stacks)
    except _Stopped as stopped:
        result = stopped.value
    return Evaluation((result & 0xFF) | 1, tuple(stacks))


def _call(shape: Shape, k: int, x: int, d: int, callers: tuple[str, ...], stacks: list[tuple[str, ...]]) -> int:
    function, constant = shape.functions[k], 3 * k + 7
    stack = (f"f{k}", *callers)
    stacks.append(stack)
    if len(stacks) > MOST_ACTIVATIONS:
        raise DirectorError(str(shape), 0, f"this makes more than {MOST_ACTIVATIONS} calls when it runs")
    if function.early and x & 1:
        return (2 * x + constant) & _WORD
    s = (x + constant) & _WORD
    kept = 0
    if function.frame:
        kept, s = kept + s, (s + x) & _WORD
    kept += sum(s + i for i in range(1, function.saved + 1))
    kept += s if function.align else 0
    kept += s + 2 if function.alloca else 0
    kept += s + 3 if function.vla else 0
    if d:
        s = (s + _call(shape, k, s, d - 1, stack, stacks)) & _WORD
    for call in function.calls:
        depth = shape.functions[call.callee].recursion
        s = (s + _call(shape, call.callee, s, depth, stack, stacks)) & _WORD
    s = (s + kept) & _WORD
    if function.ends and s & 2:
        return (s + 1) & _WORD
    if function.stops:
        stacks.append(("finish", *stack))
        raise _Stopped(s)
    if function.tail is not None:
        gone = (f"(f{k})", *callers)
        return _call(shape, function.tail, s, shape.functions[function.tail].recursion, gone, stacks)
    return s
