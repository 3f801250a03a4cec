"""The operands of an instruction, read: registers with factors, numbers, memory, register lists.

::

    rbp + rcx*4 - 8    terms rbp 1, rcx 4; number -8          lsl #2     terms lsl 1; number 2
    [x1, w2, uxtw #2]  memory of three parts                  {r4-r7}    a list of four terms
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from testbed.arch import Arch
from testbed.build.spellings import SPELLINGS

LabelAddresses = Mapping[str, int]

_SIZES = {"byte": 1, "word": 2, "dword": 4, "qword": 8, "xmmword": 16}
_SIZE = re.compile(rf"\b({'|'.join(_SIZES)})\s+ptr\b\s*", re.IGNORECASE)
_RANGE = re.compile(r"([a-z]+)(\d+)\s*-\s*\1(\d+)", re.IGNORECASE)
_TOKEN = re.compile(r"\s*(?:(?P<number>\d\w*)|(?P<name>[A-Za-z_.$][\w.$]*(?:\[\d*\])?)|(?P<sign>[-+*]))\s*")
_SEGMENT = re.compile(r"[c-g]s:", re.IGNORECASE)
_MARKS = re.compile(r"[!^]\s*$")
SHIFTS = frozenset({"lsl", "lsr", "asr", "ror", "uxtb", "uxth", "uxtw", "uxtx", "sxtb", "sxth", "sxtw", "sxtx"})


class OperandKind(Enum):
    VALUE = "a register, a number, a shift"
    MEMORY = "what lies at an address"
    LIST = "several registers"


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand. ``terms`` are names with their factors, sorted; ``parts`` what stands between a memory operand's
    commas, without offsets of zero. ``size``: bytes, 0 where it is not said. ``label``: the number is an address."""

    kind: OperandKind = OperandKind.VALUE
    terms: tuple[tuple[str, int], ...] = ()
    number: int | None = None
    parts: tuple[Operand, ...] = ()
    writes_back: bool = False
    size: int = 0
    label: bool = False

    @property
    def name(self) -> str:
        """The register, condition or shift that the operand is; "" for anything else."""
        return (
            self.terms[0][0]
            if self.kind is OperandKind.VALUE and len(self.terms) == 1 and self.terms[0][1] == 1
            else ""
        )

    @property
    def is_number(self) -> bool:
        return self.kind is OperandKind.VALUE and not self.terms and self.number is not None


@dataclass(frozen=True, slots=True)
class InstructionMeaning:
    mnemonic: str
    operands: tuple[Operand, ...]


def register(name: str) -> Operand:
    return Operand(terms=((name, 1),))


def value(number: int) -> Operand:
    return Operand(number=number)


def read_operands(text: str, arch: Arch, labels: LabelAddresses) -> tuple[Operand, ...]:
    """The operands of a line. Raises ValueError where one is not understood."""
    return tuple(_operand(part, arch, labels) for part in split(text))


def split(text: str) -> list[str]:
    """The operands: cut at the commas that are outside brackets and braces."""
    parts, depth, current = [], 0, ""
    for character in text:
        depth += (character in "[{(") - (character in "]})")
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return [*parts, current.strip()] if text.strip() else []


def _operand(text: str, arch: Arch, labels: LabelAddresses) -> Operand:
    sized = _SIZE.search(text)
    size = _SIZES[sized[1].lower()] if sized else 0
    text = _SIZE.sub("", text)
    bang = "!" in text
    text = _MARKS.sub("", text).strip()
    segment = _SEGMENT.match(text)
    text = _SEGMENT.sub("", text)
    if text.startswith("{"):
        names = sorted(_name(each, arch) for each in _RANGE.sub(_spelled_out, text.rstrip("}^ ")[1:]).split(","))
        return Operand(OperandKind.LIST, tuple((name, 1) for name in names))
    if not text.startswith("["):
        return replace(_sum(text, arch, labels), writes_back=bang, size=size)
    inside = split(re.sub(r"\]\s*\[", "+", text).removeprefix("[").removesuffix("]"))
    parts = [_sum(part, arch, labels) for part in inside]
    label = any(part.label for part in parts)
    kept = [parts[0], *(part for part in parts[1:] if part.terms or part.number)]
    if arch.link is None:  # x86: one sum, in which a distance of zero need not be said
        kept = [replace(parts[0], number=parts[0].number or 0)]
    if segment:
        kept.append(register(segment[0].lower()))
    return Operand(OperandKind.MEMORY, parts=tuple(kept), writes_back=bang, size=size, label=label)


def _sum(text: str, arch: Arch, labels: LabelAddresses) -> Operand:
    """Names and numbers with + - and *; what stands side by side (``lsl #2``) is added up too."""
    terms: dict[str, int] = {}
    number: int | None = None
    label = False
    at, sign, factor, name, pending = 0, 1, 1, "", False
    text = text.replace("#", " ")

    def add() -> None:
        nonlocal number, sign, factor, name, pending
        if pending and name:
            terms[name] = terms.get(name, 0) + sign * factor
        elif pending:
            number = (number or 0) + sign * factor
        sign, factor, name, pending = 1, 1, "", False

    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(text)
        starred = text[:at].rstrip().endswith("*")
        at = match.end()
        if match["sign"] == "*":
            continue
        if pending and not starred:
            add()
        if match["sign"]:
            sign = -sign if match["sign"] == "-" else sign
        elif match["number"]:
            factor, pending = factor * int(match["number"], 0), True
        elif match["name"] in labels and match["name"].lower() not in arch.by_name:
            factor, pending, label = factor * labels[match["name"]], True, True
        else:
            name, pending = _name(match["name"], arch), True
    add()
    terms = {name: times for name, times in terms.items() if times}
    if number is None and len(terms) == 1 and terms.keys() <= SHIFTS:
        number = 0
    return Operand(terms=tuple(sorted(terms.items())), number=number, label=label)


def _name(text: str, arch: Arch) -> str:
    name = text.strip().lower()
    return SPELLINGS[arch.name].get(name, name)


def _spelled_out(match: re.Match[str]) -> str:
    return ", ".join(f"{match[1]}{i}" for i in range(int(match[2]), min(int(match[3]), 99) + 1))
