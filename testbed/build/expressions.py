"""Numbers in assembly sources: constants, labels, ``.`` (here) and the operators of the GNU and LLVM assemblers.

Their operators bind otherwise than C's: ``|``, ``^`` and ``&`` tighter than ``+`` and ``-`` (GNU as, section 6.2.4).
What is true is -1. Comparisons bind as LLVM has them, less than ``+``.
Operands are numbers of 64 bits with a sign, and so is what comes of them: the rest is gone, as in LLVM's `MCExpr`.
Division goes towards zero, ``>>`` shifts zeroes in.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from testbed.words.errors import BuildError


@dataclass(frozen=True, slots=True)
class Place:
    """A line and a column (both from 1) of a source file."""

    path: Path
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"

    def error(self, detail: str) -> BuildError:
        """The error to raise about this place: ``path:line:column: detail``."""
        return BuildError(f"{self}: {detail}")


_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)|(?P<name>[A-Za-z_.$][\w.$]*)|(?P<sign><<|>>|[<>!=]=|<>|&&|\|\||[-+*/%&|^~()<>]))"
)
_DEEPEST = 50  # nested brackets and signs

_BITS = 64


def _of_64_bits(value: int) -> int:
    """The number with a sign that the lowest 64 bits are."""
    return (value + (1 << _BITS - 1)) % (1 << _BITS) - (1 << _BITS - 1)


def _divided(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    if quotient >> _BITS - 1 and (left < 0) == (right < 0):  # which processors, and so assemblers, trap at
        raise ValueError(f"a quotient of more than {_BITS} bits")
    return quotient if (left < 0) == (right < 0) else -quotient


def _shifted(left: int, right: int) -> int:
    if not 0 <= right < _BITS:
        raise ValueError(f"a shift by {right}; 0 to {_BITS - 1} are possible")
    return left << right


def _shifted_right(left: int, right: int) -> int:
    return left % (1 << _BITS) >> (_shifted(1, right).bit_length() - 1)


# Binary operators, loosest binding first.
_BINARY: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"&&": lambda left, right: -bool(left and right), "||": lambda left, right: -bool(left or right)},
    {
        "==": lambda left, right: -(left == right),
        "!=": lambda left, right: -(left != right),
        "<>": lambda left, right: -(left != right),
        "<": lambda left, right: -(left < right),
        "<=": lambda left, right: -(left <= right),
        ">": lambda left, right: -(left > right),
        ">=": lambda left, right: -(left >= right),
    },
    {"+": operator.add, "-": operator.sub},
    {"|": operator.or_, "^": operator.xor, "&": operator.and_},
    {
        "*": operator.mul,
        "/": _divided,
        "%": lambda left, right: left - right * _divided(left, right),
        "<<": _shifted,
        ">>": _shifted_right,
    },
)


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression as it stands in the source, not yet a number."""

    place: Place
    text: str

    def value(self, resolve: Callable[[str], int | None]) -> int:
        """The number, with ``resolve`` giving the value of a name (None: there is no such name)."""
        return _Parser(self, resolve).whole()

    def constant(self) -> int:
        """The number, where no name may occur."""
        return self.value(lambda name: None)


class _Parser:
    def __init__(self, expression: Expression, resolve: Callable[[str], int | None]) -> None:
        self.place, self.text, self.resolve = expression.place, expression.text, resolve
        self.tokens: list[re.Match[str]] = []
        at, text = 0, expression.text.strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise self.place.error(f"{text!r}: a number or a name is needed at {text[at:]!r}")
            self.tokens.append(match)
            at = match.end()
        self.at = 0

    def whole(self) -> int:
        value = self.binary(0, 0)
        if self.at < len(self.tokens):
            raise self.place.error(f"{self.text!r}: nothing is expected at {self.tokens[self.at][0].strip()!r}")
        return value

    def binary(self, level: int, depth: int) -> int:
        if level == len(_BINARY):
            return self.unary(depth)
        value = self.binary(level + 1, depth)
        while (apply := _BINARY[level].get(self.sign())) is not None:
            self.at += 1
            right = self.binary(level + 1, depth)
            try:
                value = _of_64_bits(apply(_of_64_bits(value), _of_64_bits(right)))
            except (ZeroDivisionError, ValueError) as error:
                raise self.place.error(f"{self.text!r}: {error}") from error
        return value

    def unary(self, depth: int) -> int:
        if self.at >= len(self.tokens):
            raise self.place.error(f"{self.text!r}: a number or a name is missing at the end")
        if depth > _DEEPEST:
            raise self.place.error(f"{self.text!r}: nested too deeply")
        token = self.tokens[self.at]
        self.at += 1
        if token["number"]:
            return self.number(token["number"])
        if token["name"]:
            found = self.resolve(token["name"])
            if found is None:
                raise self.place.error(f"{token['name']!r} is not defined here")
            return found
        match token["sign"]:
            case "-":
                return _of_64_bits(-self.unary(depth + 1))
            case "+":
                return self.unary(depth + 1)
            case "~":
                return _of_64_bits(~self.unary(depth + 1))
            case "(":
                value = self.binary(0, depth + 1)
                if self.sign() != ")":
                    raise self.place.error(f"{self.text!r}: a closing bracket is missing")
                self.at += 1
                return value
        raise self.place.error(f"{self.text!r}: a number or a name is needed at {token['sign']!r}")

    def number(self, text: str) -> int:
        base = 8 if re.fullmatch(r"0\d+", text) else 0
        try:
            value = int(text, base) if len(text) <= _BITS + len("0b") else 1 << _BITS
        except ValueError:
            raise self.place.error(f"{text!r} is no number: an octal one begins with 0") from None
        if value >> _BITS:
            raise self.place.error(f"{text[:30]!r}: a number of more than {_BITS} bits")
        return value

    def sign(self) -> str:
        return self.tokens[self.at]["sign"] or "" if self.at < len(self.tokens) else ""
