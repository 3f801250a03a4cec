"""What a dynamic loader writes into a file before it runs, with every import led to a place of ours.

Each relocation is one of a few kinds, whatever its number on its architecture::

    ADDRESS    S + A           of a symbol: its place in the file, or the one that stands for an import
    SLOT       S + A, or S     the same; where the word itself would hold A, it holds something else before
    RELATIVE   B + A           of the file itself
    RESOLVED   a place         what a resolver would choose (IRELATIVE)
    OFFSET     A               in thread-local storage
    MODULE     1               the number of a module with thread-local storage
    DESCRIBED  (a place, A)    a thread-local variable found by a call (TLSDESC)

A linker leaves in a slot that is filled in late where its first call goes, to the linkage table. AAELF32 counts that as
A; every loader takes no notice of it (glibc: sysdeps/arm/dl-machine.h).

Sources: the processor supplements' tables of dynamic relocations: AMD64 psABI 4.4, AAELF64 5.7.13, AAELF32 5.6.1.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection, RelrRelocationSection

from testbed.arch import PerArch
from testbed.image import Image
from testbed.image.elf_companions import sections_of
from testbed.words.errors import BudgetExceeded, ImageError


class RelocationKind(Enum):
    """What a relocation puts into its place, whatever the architecture numbers it."""

    ADDRESS = auto()
    SLOT = auto()
    RELATIVE = auto()
    RESOLVED = auto()
    OFFSET = auto()
    MODULE = auto()
    DESCRIBED = auto()


_KINDS = PerArch(
    {
        "x86_64": {
            RelocationKind.ADDRESS: (1,),
            RelocationKind.SLOT: (6, 7),
            RelocationKind.RELATIVE: (8,),
            RelocationKind.RESOLVED: (37,),
            RelocationKind.OFFSET: (17, 18),
            RelocationKind.MODULE: (16,),
            RelocationKind.DESCRIBED: (36,),
        },
        "arm64": {
            RelocationKind.ADDRESS: (257,),
            RelocationKind.SLOT: (1025, 1026),
            RelocationKind.RELATIVE: (1027,),
            RelocationKind.RESOLVED: (1032,),
            RelocationKind.OFFSET: (1029, 1030),
            RelocationKind.MODULE: (1028,),
            RelocationKind.DESCRIBED: (1031,),
        },
        "arm32": {
            RelocationKind.ADDRESS: (2,),
            RelocationKind.SLOT: (21, 22),
            RelocationKind.RELATIVE: (23,),
            RelocationKind.RESOLVED: (160,),
            RelocationKind.OFFSET: (18, 19),
            RelocationKind.MODULE: (17,),
            RelocationKind.DESCRIBED: (13,),
        },
    }
)


@dataclass(frozen=True, slots=True)
class DynamicRelocation:
    """One word to fill in: ``place`` is its link-time address. ``symbol`` is "" where none is named.

    ``value`` is the symbol's own link-time address, None for an import. ``addend`` None: it stands in the word itself.
    """

    kind: RelocationKind
    place: int
    addend: int | None
    symbol: str = ""
    value: int | None = None
    is_data: bool = False


def dynamic_relocations(image: Image) -> Iterator[DynamicRelocation]:
    """Those of an ELF file's loaded relocation sections; kinds that no loader of Linux knows are left out.

    Raises ImageError where the sections cannot be read.
    """
    kinds = {number: kind for kind, numbers in _KINDS[image.arch.name].items() for number in numbers}
    account = image.account.share("relocations")
    try:
        elf = ELFFile(io.BytesIO(image.content))
        for section in sections_of(elf, account):
            if not section["sh_flags"] & 2:  # SHF_ALLOC
                continue
            if isinstance(section, RelrRelocationSection):
                for entry in section.iter_relocations():
                    account.spend("entries", 1, section["sh_offset"])
                    yield DynamicRelocation(RelocationKind.RELATIVE, entry["r_offset"], None)
            elif isinstance(section, RelocationSection):
                symbols = elf.get_section(section["sh_link"])
                for entry in section.iter_relocations():
                    account.spend("entries", 1, section["sh_offset"])
                    kind = kinds.get(entry["r_info_type"])
                    if kind is not None:
                        yield _relocation(kind, entry, symbols)
    except (ImageError, BudgetExceeded):
        raise
    except Exception as error:  # pyelftools meets corrupt tables with whatever its parsing stumbles over
        raise ImageError(image.path, 0, f"its relocations cannot be read: {error or type(error).__name__}") from error


def _relocation(kind: RelocationKind, entry: Any, symbols: Any) -> DynamicRelocation:
    addend = entry["r_addend"] if entry.is_RELA() else None
    number = entry["r_info_sym"]
    if not number or not hasattr(symbols, "get_symbol"):
        return DynamicRelocation(kind, entry["r_offset"], addend)
    symbol = symbols.get_symbol(number)
    value = symbol["st_value"] if symbol["st_shndx"] != "SHN_UNDEF" else None
    is_data = symbol["st_info"]["type"] in ("STT_OBJECT", "STT_TLS")
    return DynamicRelocation(kind, entry["r_offset"], addend, symbol.name, value, is_data)
