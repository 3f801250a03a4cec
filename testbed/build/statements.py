"""The statements of an assembly source, as values: `testbed.build.assembly` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.arch import Isa
from testbed.build.directives import CfiDirective, EhabiDirective
from testbed.build.expressions import Expression, Place
from testbed.program.model import Source


@dataclass(frozen=True, slots=True)
class InSource:
    """What stands at a place of a source."""

    place: Place


@dataclass(frozen=True, slots=True)
class Label(InSource):
    """``NAME:``, a label at the place where the assembler stands."""

    isa: Isa
    name: str
    thumb_function: bool = False  # a .thumb_func stood before it


@dataclass(frozen=True, slots=True)
class SourceInstruction(InSource):
    """One instruction as the source writes it, with the instruction set that is in force there."""

    isa: Isa
    mnemonic: str
    operands: str


@dataclass(frozen=True, slots=True)
class Data(InSource):
    """Values of ``size`` bytes each."""

    size: int
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Fill(InSource):
    """Literal bytes: ``.ascii``, ``.space``."""

    content: bytes


@dataclass(frozen=True, slots=True)
class Align(InSource):
    """Padding up to a boundary in bytes: no-ops of the instruction set that is in force."""

    isa: Isa
    boundary: int


@dataclass(frozen=True, slots=True)
class Cfi(InSource):
    """A ``.cfi_*`` directive and its line."""

    directive: CfiDirective


@dataclass(frozen=True, slots=True)
class Ehabi(InSource):
    """A directive of the EHABI (``.fnstart``, ``.save`` ...) and its line."""

    directive: EhabiDirective


@dataclass(frozen=True, slots=True)
class MarkGlobal(InSource):
    """``.globl NAME``: other files see this symbol."""

    name: str


@dataclass(frozen=True, slots=True)
class MarkType(InSource):
    """``.type NAME, %function`` or ``%object``."""

    name: str
    is_function: bool


@dataclass(frozen=True, slots=True)
class MarkSize(InSource):
    """``.size NAME, EXPRESSION``, in bytes."""

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
