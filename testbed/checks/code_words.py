"""How the code of a file is named: places in functions, instructions with their targets, lines, rules of rows."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from testbed.arch import Arch
from testbed.checks.model import WrongThing
from testbed.checks.own_sources import NO_SOURCES, Sources
from testbed.checks.tried_source import TriedSource
from testbed.contract.rows import (
    AtRegister,
    Constant,
    Offset,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
    ValOffset,
)
from testbed.conventions import platform
from testbed.image import Image, LoadedImage
from testbed.image.debug import debug_info
from testbed.image.disassembly import disassemble
from testbed.micro.linkage import with_imports
from testbed.naming.symbolize import with_names


@dataclass(frozen=True, eq=False)
class CodeWords:
    """How code is named, by link-time pc: its place in a function, its instruction, its line ("" and 0: not known).

    Lines are read in ``sources`` only. ``tried`` is the file itself where it is one that an advice can be written into.
    """

    where: Callable[[int], str]
    instruction: Callable[[int], str]
    source: Callable[[int], tuple[str, int]]
    sources: Sources = NO_SOURCES
    tried: TriedSource | None = None

    def named(self, pc: int) -> dict[str, Any]:
        """What a `TableFinding` says of its instruction."""
        source, line = self.source(pc)
        return {"pc": pc, "where": self.where(pc), "instruction": self.instruction(pc), "source": source, "line": line}


def words_of(image: Image, sources: Sources = NO_SOURCES) -> CodeWords:
    """How the code of a file is named, of which some sources may be read."""

    def where(pc: int) -> str:
        function = image.function_at(pc)
        if function is None:
            return f"{pc:#x}"
        return f"{function.name}+{pc - function.address:#x}" if pc != function.address else function.name

    @lru_cache(maxsize=1 << 16)
    def source(pc: int) -> tuple[str, int]:
        line = debug_info(image).line_at(pc)
        if line is None or not line.line:
            return "", 0
        file = _unquoted(line.file)
        lines = sources.lines(file)  # where a file is included an assembler may go on counting
        return (file, line.line) if not lines or line.line <= len(lines) else ("", 0)

    own = (LoadedImage(with_imports(image), 0),)

    def text(pc: int) -> str:
        return with_names(own, disassemble(image.isa_at(pc), image.bytes_at(pc, 16), pc))

    return CodeWords(where, text, source, sources)


def _unquoted(file: str) -> str:
    """A file's name. Of a preprocessed source clang keeps it as the preprocessor quotes it: \\303\\251 for an é."""
    plain = re.sub(rb"\\([0-7]{3}|[\\\"])", _unquoted_byte, os.fsencode(file))
    return os.fsdecode(plain) if Path(os.fsdecode(plain)).exists() else file


def _unquoted_byte(quoted: re.Match[bytes]) -> bytes:
    return bytes([int(quoted[1], 8) & 0xFF]) if len(quoted[1]) == 3 else quoted[1]


# Rules of rows in words, as findings say them.


def cfa_words(rule: Rule | None) -> str:
    """A rule for the CFA as a person writes it: ``rsp+0x10``, ``*(rbp-0x8)``."""
    match rule:
        case RegisterPlus(register, offset):
            return f"{register}{offset:+#x}"
        case AtRegister(register, offset):
            return f"*({register}{offset:+#x})"
        case _:
            return "what an expression computes"


def rule_words(rule: Rule | None, name: str) -> str:
    """Where a rule says a register is: ``at CFA-0x8``."""
    match rule:
        case Offset(offset):
            return f"at CFA{offset:+#x}"
        case ValOffset(offset):
            return f"CFA{offset:+#x}"
        case AtRegister(register, offset):
            return f"at {register}{offset:+#x}"
        case RegisterPlus(register, offset):
            return f"{register}{offset:+#x}" if offset else f"in {register}"
        case Constant(value):
            return f"{value:#x}"
        case Undefined():
            return "undefined"
        case None:
            return "nowhere"
        case SameValue():
            return f"still in {name}"
        case _:
            return "what an expression computes"


def contradictions(one: UnwindRow, other: UnwindRow, arch: Arch, cfa_is: str, it_is: str) -> tuple[WrongThing, ...]:
    """What two rows say that cannot both be so: the CFA, or where a register is saved.

    ``cfa_is`` and ``it_is`` begin the words for what the other one says.
    """
    things = []
    cfa, its = one.cfa, other.cfa
    if isinstance(cfa, RegisterPlus) and isinstance(its, RegisterPlus) and cfa.register == its.register and cfa != its:
        things.append(WrongThing("CFA", f"CFA = {cfa_words(one.cfa)}", f"{cfa_is} {cfa_words(other.cfa)}"))
    for name in (one.return_address, *platform(arch).preserved):
        here, there = one.registers.get(name), other.registers.get(name)
        if isinstance(here, Offset) and isinstance(there, Offset) and here != there:
            things.append(WrongThing(name, f"{name} is {rule_words(here, name)}", f"{it_is} {rule_words(there, name)}"))
    return tuple(things)
