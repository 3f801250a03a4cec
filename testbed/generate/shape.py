"""A call shape: functions, each with a frame of some make, and who calls whom. What it computes is in `evaluate`.

A function calls only functions behind it, and itself as often as its recursion says: every shape ends. ``main`` calls
function 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

# The letters of director strings (`testbed.generate.program`), with the fields of a function that they stand for.

NUMBERED = {"r": "saved", "a": "alloca", "v": "vla", "o": "align", "s": "recursion"}
FLAGS = {"p": "pointer", "d": "sub_first", "e": "early", "m": "ends"}
ORDER = "rpdavoems"


MOST_FUNCTIONS = 8
MOST_FRAME = 32768  # bytes
MOST_SAVED = 6
MOST_RECURSION = 4
MOST_WORDS = 64  # of an alloca or a variable-length array
MOST_CALLS = 4
ALIGNMENTS = (32, 64, 128)


class How(Enum):
    """How a function is called in the middle of another."""

    DIRECT = "c"
    INDIRECT = "i"  # through a pointer


@dataclass(frozen=True, slots=True)
class ShapeCall:
    """One call of a shape: how it is made, and of which function."""

    how: How
    callee: int  # the number of a function


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeFunction:
    """One function. ``frame`` is the bytes of its locals, ``saved`` how many callee-saved registers it uses (in
    assembly, the last of `MOST_SAVED` is the one that others chain frames with).

    ``pointer`` and ``sub_first`` are for assembly only, since compilers decide that: a frame pointer; SP
    moved once, before the registers are stored, instead of by pushing them. ``alloca`` and ``vla`` are words of a
    local whose size is known at run time, ``align`` is the alignment of an over-aligned local in bytes. ``early`` is a
    way out before there is a frame, ``ends`` a second epilogue. ``recursion`` is how deep it calls itself where another
    function calls it. Then come ``calls``, in order. At the end it returns; or it jumps to the function ``tail``; or it
    calls one that does not return (``stops``). ``str(function)`` is its part of the director string.
    """

    frame: int = 0
    saved: int = 0
    pointer: bool = False
    sub_first: bool = False
    alloca: int = 0
    vla: int = 0
    align: int = 0
    early: bool = False
    ends: bool = False
    recursion: int = 0
    calls: tuple[ShapeCall, ...] = ()
    tail: int | None = None
    stops: bool = False

    def __str__(self) -> str:
        text = f"f{self.frame or ''}"
        for letter in ORDER:
            if letter in FLAGS:
                text += letter * getattr(self, FLAGS[letter])
            elif value := getattr(self, NUMBERED[letter]):
                text += f"{letter}{value}"
        text += "".join(f"{call.how.value}{call.callee}" for call in self.calls)
        return text + ("" if self.tail is None else f"t{self.tail}") + "n" * self.stops

    @property
    def dynamic(self) -> bool:
        """True where SP moves by an amount that only the running program knows."""
        return bool(self.alloca or self.vla or self.align)

    @property
    def has_calls(self) -> bool:
        """True where it calls something and goes on after it, or at least has its return address overwritten."""
        return bool(self.calls or self.recursion or self.stops)

    @property
    def callees(self) -> tuple[int, ...]:
        """The other functions that it leads to."""
        return (*(call.callee for call in self.calls), *(() if self.tail is None else (self.tail,)))


@dataclass(frozen=True, slots=True)
class Shape:
    """Functions, the first one called by ``main``. ``str(shape)`` is its director string."""

    functions: tuple[ShapeFunction, ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.functions))


def why_not(shape: Shape) -> tuple[int, str] | None:
    """What is wrong with a shape, as (number of the function, sentence); None: it can be written in C and assembly."""
    count = len(shape.functions)
    if not 1 <= count <= MOST_FUNCTIONS:
        return max(count - 1, 0), f"{count} functions; 1 to {MOST_FUNCTIONS} are possible"
    for number, function in enumerate(shape.functions):
        if sentence := _why_not(function, number, count):
            return number, sentence
    return None


def _why_not(function: ShapeFunction, number: int, count: int) -> str:
    limits = (
        ("a frame", function.frame, MOST_FRAME),
        ("saved registers", function.saved, MOST_SAVED),
        ("an alloca", function.alloca, MOST_WORDS),
        ("a variable-length array", function.vla, MOST_WORDS),
        ("recursion", function.recursion, MOST_RECURSION),
        ("calls", len(function.calls), MOST_CALLS),
    )
    for what, value, most in limits:
        if not 0 <= value <= most:
            return f"{what} of {value}; the most is {most}"
    if function.frame % 8:
        return f"a frame of {function.frame} bytes; a multiple of 8 is needed"
    if function.align and function.align not in ALIGNMENTS:
        return f"an alignment of {function.align}; there are {', '.join(map(str, ALIGNMENTS))}"
    for callee in function.callees:
        if not number < callee < count:
            return f"function {number} calls function {callee}; it can call the functions behind it only"
    if function.tail is not None and function.stops:
        return "a tail call and a call that does not return: one of them can be last"
    if function.saved == MOST_SAVED and (function.pointer or function.dynamic):
        return f"{MOST_SAVED} saved registers include the frame pointer, which this function needs"
    return ""
