"""What a function is called with: plans of arguments, ours and the user's.

A user's plan is written as a call::

    name(ARGUMENT, ...)    ARGUMENT = a number | buf:BYTES | "text"

``buf:64`` is the address of 64 zero bytes, text that of its characters and a zero byte. ``name`` may be a glob.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from warnings import catch_warnings, simplefilter

from testbed.arch import Arch
from testbed.conventions import platform
from testbed.micro.call_code import CALL_CODE
from testbed.micro.layout import ARENA_SIZE, CallableImage
from testbed.words.errors import UsageError

MOST_DATA = ARENA_SIZE // 4  # bytes of all users' buffers and texts together


@dataclass(frozen=True, slots=True)
class Argument:
    """A value, counted from the arena of pointers or of data, or from 0."""

    value: int
    base: str = ""  # "arena", "data", or "": a number

    def at(self, image: CallableImage) -> int:
        bases = {"": 0, "arena": image.arena, "data": image.arena + ARENA_SIZE}
        return (bases[self.base] + self.value) & image.loaded.image.arch.word_mask


@dataclass(frozen=True, slots=True)
class ArgumentPlan:
    """The first arguments of a call, for functions whose name matches ``name``."""

    arguments: tuple[Argument, ...]
    name: str = "*"
    lower: int = 0  # by how many times the stack's alignment SP is lower than in other calls
    answer: int = 0  # what calls give that are not executed
    turned: bool = False  # callee-saved registers have every bit otherwise than in other calls

    def fits(self, function: str) -> bool:
        return fnmatchcase(function, self.name)

    def registers(self, image: CallableImage, target: int) -> tuple[tuple[str, int], ...]:
        """The registers to write before the call of the function at a code pointer."""
        names, arch = image.convention_of(target).arguments, image.loaded.image.arch
        given = [(name, argument.at(image)) for name, argument in zip(names, self.arguments, strict=False)]
        lower = self.lower * platform(arch).stack_alignment if CALL_CODE[arch.name].moves_sp else 0
        return (*given, (arch.sp, image.sp - lower))


_TEXT = ARENA_SIZE // 2  # the arena's second half is text

# Pointers to pointers; small numbers; text with lengths. What a function takes for what decides which branches it goes.
PLANS = (
    ArgumentPlan(tuple(Argument(0x40 + 0x1000 * k, "arena") for k in range(8))),
    ArgumentPlan(tuple(Argument(k + 1) for k in range(8)), turned=True),
    ArgumentPlan(
        tuple(Argument(_TEXT + 0x400 * k + 3, "arena") if k % 2 == 0 or k == 1 else Argument(16) for k in range(8))
    ),
)
# For a side of a branch that none of these takes: nothing at all; a pointer and nothing; a pointer and one.
FOR_WAYS = (
    ArgumentPlan(tuple(Argument(0) for _ in range(8))),
    *(ArgumentPlan((Argument(0x40, "arena"), *(Argument(number) for _ in range(7)))) for number in (0, 1)),
)
# Numbers that are small, and not as small as those above: for a frame that is as large as one says, or a callee.
# SP is another multiple of its alignment: for a frame that begins where a larger one says.
OF_ANOTHER_SIZE = ArgumentPlan(tuple(Argument(0x65 + 0x33 * k) for k in range(8)), lower=1, answer=0x50)
_CALL = re.compile(r"\s*([\w.$@*?\[\]:~<>-]+)\s*\((.*)\)\s*\Z", re.DOTALL)
_ITEM = re.compile(r'\s*("(?:[^"\\]|\\.)*"|buf:\w+|-?\w+)\s*(?:,|\Z)')


def users_plans(calls: Iterable[str], arch: Arch) -> tuple[tuple[ArgumentPlan, ...], bytes]:
    """The plans that calls say, and the data that they point to, which lies where ``Argument.base`` "data" counts from.

    Raises UsageError for what is no call, for more arguments than registers take, and for too much data.
    """
    plans, data = [], b""
    for call in calls:
        match = _CALL.match(call)
        if match is None:
            raise UsageError(f'--call {call!r}: write it as NAME(ARGUMENT, ...), for example f(buf:64, 3, "text")')
        arguments, at = [], 0
        while at < len(match[2].rstrip()):
            item = _ITEM.match(match[2], at)
            if item is None:
                raise UsageError(f'--call {call!r}: {match[2][at:]!r} is none of a number, buf:BYTES, "text"')
            at = item.end()
            argument, more = _argument(call, item[1], len(data))
            arguments.append(argument)
            data += more
            if len(data) > MOST_DATA:
                raise UsageError(
                    f"--call {call!r}: its data and that of the calls before are more than {MOST_DATA} bytes"
                )
        most = len(platform(arch).arguments)
        if len(arguments) > most:
            raise UsageError(f"--call {call!r}: {arch} passes {most} arguments in registers, this has {len(arguments)}")
        plans.append(ArgumentPlan(tuple(arguments), match[1]))
    return tuple(plans), data


def _argument(call: str, item: str, at: int) -> tuple[Argument, bytes]:
    """One argument, and the data that belongs to it."""
    try:
        if item.startswith('"'):
            with catch_warnings():  # Python warns of an escape that it does not know, and keeps it as it stands
                simplefilter("ignore")
                text = ast.literal_eval(item).encode() + b"\0"
            return Argument(at, "data"), text.ljust(-(-len(text) // 16) * 16, b"\0")
        if item.startswith("buf:"):
            size = int(item[4:], 0)
            if not 0 <= size <= MOST_DATA:
                raise UsageError(f"--call {call!r}: a buffer has 0 to {MOST_DATA} bytes")
            return Argument(at, "data"), bytes(-(-size // 16) * 16)
        return Argument(int(item, 0)), b""
    except (ValueError, SyntaxError) as error:
        raise UsageError(f'--call {call!r}: {item!r} is none of a number, buf:BYTES, "text"') from error
