"""The code around a finding: its function's instructions, and the lines of its source, as far as they can be read.

Nothing is guessed. Instructions are shown where the file itself has, at the finding's address, the instruction that the
finding names; lines where the source lies where the finding says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from testbed.arch import Arch
from testbed.checks.model import FileCheck, FunctionCheck, TableFinding
from testbed.checks.own_sources import folders_of, source_lines
from testbed.image import Image
from testbed.image.disassembly import disassemble_sized
from testbed.image.read import read_image
from testbed.words.errors import BudgetExceeded, ImageError
from testbed.words.printable import printable

AROUND = 6  # instructions, or lines, shown on each side
_LONGEST = 16  # bytes of an instruction


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """One line of code: what stands before it (an address, a line's number), and whether it is the finding's."""

    label: str
    text: str
    here: bool


def instructions_around(
    check: FileCheck, function: FunctionCheck | None, finding: TableFinding
) -> tuple[ExcerptLine, ...]:
    """The instructions of the function around a finding; none where the file does not have the finding's there."""
    image = _image(check.path, check.arch)
    if function is None or image is None or image.relocatable:
        return ()
    listed = list(_decoded(image, function.start, function.end))
    here = next((i for i, (pc, _) in enumerate(listed) if pc == finding.pc), None)
    if here is None or _spaced(listed[here][1]) != _spaced(finding.instruction):
        return ()
    first = max(0, here - AROUND)
    return tuple(
        ExcerptLine(f"{printable(function.name)}+{pc - function.start:#x}", printable(text), i == here)
        for i, (pc, text) in enumerate(listed[first : here + AROUND + 1], first)
    )


def source_around(check: FileCheck, finding: TableFinding) -> tuple[ExcerptLine, ...]:
    """The lines of the source around a finding's; none where the source is not there, or is not the user's."""
    if not finding.source or not finding.line:
        return ()
    lines = source_lines(finding.source, folders_of(check.path))
    if finding.line > len(lines):
        return ()
    first = max(1, finding.line - AROUND)
    return tuple(
        ExcerptLine(str(number), printable(text.expandtabs(4)), number == finding.line)
        for number, text in enumerate(lines[first - 1 : finding.line + AROUND], first)
    )


@lru_cache(maxsize=4)
def _image(path: Path, arch: Arch) -> Image | None:
    try:
        return read_image(path, arch=arch)
    except (ImageError, BudgetExceeded):  # a source, an archive
        return None


def _decoded(image: Image, start: int, end: int) -> Iterator[tuple[int, str]]:
    while start < end:
        code = image.bytes_at(start, min(_LONGEST, end - start))
        if not code:
            return
        text, size = disassemble_sized(image.isa_at(start), code, start)
        yield start, text
        start += size


def _spaced(text: str) -> str:
    return " ".join(text.split())
