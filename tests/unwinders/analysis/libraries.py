"""The libraries whose own unwind tables are a witness of the analysis, where they are installed."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from elftools.elf.elffile import ELFFile

from testbed.image import read_image
from testbed.image.separate_debug import DebugDirs
from tests.unwinders.analysis.compared_functions import Library
from tests.unwinders.analysis.landing_pads import landing_pads
from unwinders.formats.cfi import cfi_table
from unwinders.formats.ehabi_rows import exidx_table

FOLDERS: Mapping[str, Path] = {
    "x86_64": Path("/lib/x86_64-linux-gnu"),
    "arm64": Path("/usr/aarch64-linux-gnu/lib"),
    "arm32": Path("/usr/arm-linux-gnueabihf/lib"),
}
NAMES = ("libc.so.6", "libm.so.6", "libstdc++.so.6")


def installed(arch: str, name: str) -> Path | None:
    """The path of a library, or None where it is not installed."""
    path = FOLDERS[arch] / name
    return path if path.exists() else None


def by_eh_frame(path: Path) -> Library:
    """A library beside its asynchronous table."""
    image = read_image(path)
    return Library(image, cfi_table(image, ".eh_frame"), pads=landing_pads(path, image))


def by_exidx(path: Path) -> Library:
    """A library of arm32 beside its exception index, whose rows hold at calls."""
    image = read_image(path)
    return Library(image, exidx_table(image), at_calls=True)


def by_debug_frame(root: Path) -> Library | None:
    """libc of arm32 beside the table of its separate debug file, which also says what is code and what is data.

    ``root`` is where the packages libc6 and libc6-dbg were unpacked.
    """
    path = root / "lib/arm-linux-gnueabihf/libc.so.6"
    if not path.exists():
        return None
    image = read_image(path, debug=DebugDirs((root / "usr/lib/debug",)))
    if image.debug_file is None or ".debug_frame" not in image.sections:
        return None
    return Library(image, cfi_table(image, ".debug_frame"), data=dict(_data(image.debug_file)))


def _data(debug_file: Path) -> Iterator[tuple[int, int]]:
    """From each mapping symbol $d to the next one (ELF for the Arm Architecture, section 5.5.5)."""
    elf = ELFFile(io.BytesIO(debug_file.read_bytes()))
    symbols = (
        (symbol["st_value"], symbol.name.split(".")[0]) for symbol in elf.get_section_by_name(".symtab").iter_symbols()
    )
    marks = sorted(mark for mark in symbols if mark[1] in ("$a", "$t", "$d"))
    return ((at, end) for (at, kind), (end, _) in pairwise(marks) if kind == "$d" and end > at)
