"""What a recipe is: how a source becomes a file. A recipe is a value; `testbed.build` acts on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from testbed.arch import Arch, Isa
from testbed.build.keystone_isas import KEYSTONE
from testbed.build.targets import MACH_O
from testbed.program.model import Language, Program, Source
from testbed.program.start import SHADOW_START, START
from testbed.words.catalogue import matches


class Tool(Enum):
    """What turns the source into a file; ``takes`` is the language it reads."""

    KEYSTONE = "keystone, our own tables"
    CLANG_ASSEMBLY = "clang's assembler, lld"
    CLANG = "clang, lld"
    CLANG_MACH_O = "clang, Zig's Mach-O linker"
    OTHER_CLANG = "the clang and lld that TESTBED_OTHER_ZIG names"
    GCC = "GCC, GNU as and ld"
    GNU_ASSEMBLY = "GNU as and ld"
    NONE = "already built"

    @property
    def takes(self) -> Language:
        return _TAKES[self]

    @property
    def gnu(self) -> bool:
        """True for the tools of `testbed.build.gnu`."""
        return self in (Tool.GCC, Tool.GNU_ASSEMBLY)

    @property
    def suffix(self) -> str:
        """What the built file's name ends in."""
        return "macho" if self is Tool.CLANG_MACH_O else "elf"


_TAKES = {
    Tool.KEYSTONE: Language.ASSEMBLY,
    Tool.CLANG_ASSEMBLY: Language.ASSEMBLY,
    Tool.CLANG: Language.C,
    Tool.CLANG_MACH_O: Language.C,
    Tool.OTHER_CLANG: Language.C,
    Tool.GCC: Language.C,
    Tool.GNU_ASSEMBLY: Language.ASSEMBLY,
    Tool.NONE: Language.ELF,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One way to build: a tool, its flags, and what is true of the result.

    ``isa`` is the instruction set built for, where an architecture has several (None: its first). ``arches`` are
    those that it builds for (None: all). ``frame_records`` names the layout by instruction set where the compiler does
    not use the default. ``one_object``: a C program and its ``_start`` are assembled together,
    for tables that the linker joins wrongly when they come from several objects. ``opt_in``: the matrix has it only
    for programs whose header names it under ``recipes``; by name it builds every program that it can, unless it is
    ``by_name``: then only those. ``shadow``: its ``_start`` makes a shadow call stack. ``start_lines`` come before that
    ``_start``. ``cpu`` names the CPU model that the code is for, where it is not the usual one.
    """

    name: str
    summary: str
    tool: Tool
    isa: str | None = None
    arches: frozenset[str] | None = None
    flags: tuple[str, ...] = ()
    frame_records: Mapping[str, str] = field(default_factory=dict)
    one_object: bool = False
    opt_in: bool = False
    by_name: bool = False
    shadow: bool = False
    start_lines: str = ""
    cpu: str | None = None

    def start_of(self, isa: Isa) -> str:
        """The assembly source of the ``_start`` that C programs of this recipe are linked with."""
        start = SHADOW_START[isa.name] if self.shadow else START[isa.name]
        assert start is not None, f"{self.name} keeps a shadow call stack, and {isa.name} has none"
        return self.start_lines + start

    def isa_on(self, arch: Arch) -> Isa | None:
        """The instruction set this recipe builds for on an architecture, or None: it is not for that one."""
        if self.arches and arch.name not in self.arches:
            return None
        if self.tool is Tool.CLANG_MACH_O and MACH_O[arch.name] is None:
            return None
        isa = arch.isa_named(self.isa) if self.isa else arch.isas[0]
        return None if isa and self.tool is Tool.KEYSTONE and KEYSTONE[isa.name] is None else isa

    def source_of(self, program: Program, arch: Arch) -> Source | None:
        """The source this recipe builds of a program on an architecture, or None: there is no such cell."""
        isa = self.isa_on(arch)
        source = program.source_for(isa) if isa else None
        if source is None or source.language is not self.tool.takes or not matches(self.name, source.header.recipes):
            return None
        if self.by_name and not source.header.recipes:
            return None
        header = source.header
        if self.tool is Tool.KEYSTONE and (header.clang_only or header.syntax or header.sources or header.flags):
            return None
        one_file = self.one_object or self.tool is Tool.CLANG_MACH_O
        return None if one_file and header.sources else source
