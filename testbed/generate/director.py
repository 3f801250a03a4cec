"""Director strings: a call shape in a few printable characters.

::

    shape     = function {"+" function}
    function  = "f" [frame] {option} {call} [end]
    option    = "r" N   callee-saved registers used      | "p"   a frame pointer (assembly)
              | "a" N   words of alloca                  | "d"   SP is moved first, then registers stored (assembly)
              | "v" N   words of a variable-length array | "e"   a way out before the frame is set up
              | "o" N   alignment of a local             | "m"   a second epilogue
              | "s" N   calls itself, so deep
    call      = "c" N   a call of function N             | "i" N a call through a pointer
    end       = "t" N   a tail call of function N        | "n"   a call that does not return

``f64r2c1t2+f0e+f`` has three functions; ``str`` of a shape gives each option once, in the order above.
"""

from __future__ import annotations

import re

from testbed.generate.letters import FLAGS, NUMBERED, ORDER
from testbed.generate.shape import How, Shape, ShapeCall, ShapeFunction, why_not
from testbed.words.errors import DirectorError

_CALLS = {how.value: how for how in How}
_PART = re.compile(r"(?P<letter>[a-z])(?P<number>0|[1-9]\d{0,5})?")
_NEEDS_NUMBER = (*NUMBERED, *_CALLS, "t")


def parse_director(text: str) -> Shape:
    """The shape that a director string spells. Raises DirectorError with the position of what is wrong."""
    starts, functions, position = [], [], 0
    for word in text.split("+"):
        starts.append(position)
        functions.append(_function(text, position, position + len(word)))
        position += len(word) + 1
    shape = Shape(tuple(functions))
    if wrong := why_not(shape):
        raise DirectorError(text, starts[wrong[0]], wrong[1])
    return shape


def _function(text: str, start: int, end: int) -> ShapeFunction:
    fields: dict[str, int | bool] = {}
    calls: list[ShapeCall] = []
    last = ""
    position = start
    while position < end:
        match = _PART.match(text, position, end)
        if match is None:
            raise DirectorError(text, position, f"{text[position]!r} is no letter of the grammar")
        letter, digits = match["letter"], match["number"]
        number = int(digits or 0)
        known = letter == "f" or letter in (*_NEEDS_NUMBER, *FLAGS, "n")
        if not known:
            raise DirectorError(text, position, f"no option {letter!r}; there are f {' '.join(ORDER)} c i t n")
        if (letter == "f") != (position == start):
            raise DirectorError(text, position, "a function begins with one 'f'")
        if letter in _NEEDS_NUMBER and digits is None:
            raise DirectorError(text, position, f"{letter!r} needs a number")
        if letter in (*FLAGS, "n") and digits is not None:
            raise DirectorError(text, position, f"{letter!r} takes no number")
        if last:
            raise DirectorError(text, position, f"nothing can follow {last!r}: it is the end of its function")
        if letter in _CALLS:
            calls.append(ShapeCall(_CALLS[letter], number))
        elif calls and letter not in "tn":
            raise DirectorError(text, position, f"the option {letter!r} belongs before the calls")
        else:
            name = {"f": "frame", "t": "tail", "n": "stops", **NUMBERED, **FLAGS}[letter]
            if name in fields or (letter in NUMBERED and number == 0):
                raise DirectorError(text, position, f"{letter!r} is given twice, or with 0")
            fields[name] = True if letter in (*FLAGS, "n") else number
            last = letter if letter in "tn" else ""
        position = match.end()
    if start == end:
        raise DirectorError(text, start, "a function is missing: it begins with 'f'")
    return ShapeFunction(calls=tuple(calls), **fields)  # type: ignore[arg-type]
