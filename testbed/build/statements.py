"""The statements of an assembly source, as values: `testbed.build.assembly` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.arch import Isa
from testbed.build.directives import CfiDirective, EhabiDirective
from testbed.build.expressions import Expression, Place
from testbed.program.model import Source


@dataclass(frozen=True, slots=True)
class Label:
    """``NAME:``, a label at the place where the assembler stands."""

    place: Place
    isa: Isa
    name: str
    thumb_function: bool = False  # a .thumb_func stood before it


@dataclass(frozen=True, slots=True)
class SourceInstruction:
    """One instruction as the source writes it, with the instruction set that is in force there."""

    place: Place
    isa: Isa
    mnemonic: str
    operands: str


@dataclass(frozen=True, slots=True)
class Data:
    """Values of ``size`` bytes each."""

    place: Place
    size: int
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Fill:
    """Literal bytes: ``.ascii``, ``.space``."""

    place: Place
    content: bytes


@dataclass(frozen=True, slots=True)
class Align:
    """Padding up to a boundary in bytes: no-ops of the instruction set that is in force."""

    place: Place
    isa: Isa
    boundary: int


@dataclass(frozen=True, slots=True)
class Cfi:
    """A ``.cfi_*`` directive and its line."""

    place: Place
    directive: CfiDirective


@dataclass(frozen=True, slots=True)
class Ehabi:
    """A directive of the EHABI (``.fnstart``, ``.save`` ...) and its line."""

    place: Place
    directive: EhabiDirective


@dataclass(frozen=True, slots=True)
class MarkGlobal:
    """``.globl NAME``: other files see this symbol."""

    place: Place
    name: str


@dataclass(frozen=True, slots=True)
class MarkType:
    """``.type NAME, %function`` or ``%object``."""

    place: Place
    name: str
    is_function: bool


@dataclass(frozen=True, slots=True)
class MarkSize:
    """``.size NAME, EXPRESSION``, in bytes."""

    place: Place
    name: str
    size: Expression


Statement = Label | SourceInstruction | Data | Fill | Align | Cfi | Ehabi | MarkGlobal | MarkType | MarkSize


@dataclass(frozen=True, slots=True)
class Assembly:
    """A source, read. ``cfi_sections`` names the sections that the CFI goes to. ``zeroed`` are the labels of ``.bss``
    with their offsets in it, which has ``zeroed_size`` bytes."""

    source: Source
    statements: tuple[Statement, ...]
    cfi_sections: frozenset[str]
    zeroed: Mapping[str, int]
    zeroed_size: int
