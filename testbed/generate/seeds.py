"""A call shape from a number: the same one on every machine and with every version of Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

from testbed.generate.evaluate import evaluate
from testbed.generate.shape import ALIGNMENTS, How, Shape, ShapeCall, ShapeFunction, why_not
from testbed.program.model import Language
from testbed.words.errors import DirectorError

# The names of generated programs: what a user types, and what the program is called.
#
# ::
#
#     name = ("gen" | "genc") ":" (SEED | DIRECTOR) {"," FLAG}
#
# as in ``gen:12``, ``genc:f64c1+f`` and ``genc:12,-fno-plt,-mno-red-zone``: flags are for the compiler of a C program.

_NO_LETTER = re.compile(r"\W")

PREFIXES = {"gen": Language.ASSEMBLY, "genc": Language.C}


def is_generated(name: str) -> bool:
    """True for ``gen:...`` and ``genc:...``."""
    prefix, colon, _ = name.partition(":")
    return bool(colon) and prefix in PREFIXES


def parts_of(name: str) -> tuple[str, str, tuple[str, ...]]:
    """The prefix, the seed or director string, and the flags of a name."""
    prefix, _, rest = name.partition(":")
    shape, *flags = rest.split(",")
    return prefix, shape, tuple(flags)


def named(prefix: str, shape: object, flags: tuple[str, ...] = ()) -> str:
    """The name of a shape, or a seed, with flags."""
    return ",".join((f"{prefix}:{shape}", *flags))


def called(name: str) -> str:
    """The name of the program that ``gen:SEED`` or ``gen:DIRECTOR`` stands for: ``gen_SEED``, a file's name."""
    return _NO_LETTER.sub("_", name)


T = TypeVar("T")
_FRAMES = (0, 0, 8, 16, 24, 40, 64, 120, 256, 520, 4104)
_MASK = (1 << 64) - 1


def shape_of_seed(seed: int) -> Shape:
    """The shape of a number: the first of its sequence that can be written and makes few calls."""
    dice = dice_of(seed)
    while True:
        count = 1 + next(dice) % 5
        shape = Shape(tuple(_function(dice, number, count) for number in range(count)))
        if why_not(shape) is None and _is_short(shape):
            return shape


def _is_short(shape: Shape) -> bool:
    try:
        return len(evaluate(shape).stacks) <= 24
    except DirectorError:
        return False


def dice_of(seed: int) -> Iterator[int]:
    """SplitMix64: `random` promises equal sequences for one version of Python only."""
    state = seed & _MASK
    while True:
        state = (state + 0x9E37_79B9_7F4A_7C15) & _MASK
        mixed = ((state ^ (state >> 30)) * 0xBF58_476D_1CE4_E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D0_49BB_1331_11EB) & _MASK
        yield mixed ^ (mixed >> 31)


def one_of(dice: Iterator[int], values: Sequence[T]) -> T:
    """One of some values, by the next number of the dice."""
    return values[next(dice) % len(values)]


def _once_in(dice: Iterator[int], n: int) -> bool:
    return next(dice) % n == 0


def _function(dice: Iterator[int], number: int, count: int) -> ShapeFunction:
    behind = range(number + 1, count)
    calls = (
        tuple(ShapeCall(one_of(dice, tuple(How)), one_of(dice, behind)) for _ in range(next(dice) % 3))
        if behind
        else ()
    )
    if behind and number + 1 not in {call.callee for call in calls}:  # otherwise much would never run
        calls = (*calls, ShapeCall(How.DIRECT, number + 1))
    last = next(dice) % 8
    dynamic = _once_in(dice, 3)
    return ShapeFunction(
        frame=one_of(dice, _FRAMES),
        saved=one_of(dice, (0, 0, 1, 2, 3, 4, 5, 6)),
        pointer=_once_in(dice, 2),
        sub_first=_once_in(dice, 3),
        alloca=1 + next(dice) % 20 if dynamic and _once_in(dice, 2) else 0,
        vla=1 + next(dice) % 20 if dynamic and _once_in(dice, 3) else 0,
        align=one_of(dice, ALIGNMENTS) if dynamic and _once_in(dice, 3) else 0,
        early=_once_in(dice, 4),
        ends=_once_in(dice, 4),
        recursion=1 + next(dice) % 3 if _once_in(dice, 6) else 0,
        calls=calls[:-1] if last < 2 and behind else calls,
        tail=one_of(dice, behind) if last < 2 and behind else None,
        stops=last == 7 and _once_in(dice, 3),
    )
