"""Source lines from `.debug_line`, for people: listings show them. No judgement rests on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from elftools.common.exceptions import ELFError
from elftools.dwarf.lineprogram import LineProgram
from elftools.elf.elffile import ELFFile

from testbed.image.model import Image

MAX_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a source file, by the file's base name."""

    file: str
    number: int


@lru_cache(maxsize=16)
def source_lines(image: Image) -> Mapping[int, Line]:
    """The line that each link-time address begins; empty for a file without `.debug_line`, or with a damaged one.

    Source: DWARF 5, section 6.2. Line 0 means "no line" and is left out.
    """
    if ".debug_line" not in image.sections:
        return MappingProxyType({})
    lines: dict[int, Line] = {}
    try:
        with image.path.open("rb") as stream:
            dwarf = ELFFile(stream).get_dwarf_info()
            for unit in dwarf.iter_CUs():
                program = dwarf.line_program_for_CU(unit)
                if program is not None:
                    _add(program, lines)
    except (ELFError, OSError, LookupError, ValueError, AttributeError, AssertionError):
        return MappingProxyType({})  # a listing without source lines is still right
    return MappingProxyType(lines)


def _add(program: LineProgram, lines: dict[int, Line]) -> None:
    files = program["file_entry"]
    first = 0 if program["version"] >= 5 else 1
    for entry in program.get_entries()[:MAX_ROWS]:
        state = entry.state
        if state is None or state.end_sequence or not state.line:
            continue
        index = state.file - first
        if 0 <= index < len(files):
            name = files[index].name.decode("utf-8", "replace").rpartition("/")[2]
            lines.setdefault(state.address, Line(name, state.line))
