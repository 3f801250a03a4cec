"""Every row of real libraries beside readelf's reading of the same bytes.

The libraries are Debian's: the host's, and those that come with GCC for arm64 and arm32.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from testbed.image import Image, read_elf
from testbed.words.errors import NoUnwindInfo
from tests.unwinders.readelf_ehabi import our_entries, readelf_entries
from tests.unwinders.readelf_rows import our_rows, readelf_rows
from unwinders.formats.cfi import cfi_index
from unwinders.formats.eh_frame_hdr import search_table
from unwinders.formats.ehabi_rows import exidx_index

NAMES = ("libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6")
FOLDERS = {
    "x86_64": Path("/lib/x86_64-linux-gnu"),
    "arm64": Path("/usr/aarch64-linux-gnu/lib"),
    "arm32": Path("/usr/arm-linux-gnueabihf/lib"),
}
SECTIONS = (".eh_frame", ".debug_frame", ".ARM.exidx")


@dataclass(frozen=True)
class Library:
    """A library that is installed, under the name that it is asked for by."""

    arch: str
    found: Path

    @property
    def path(self) -> Path:
        return self.found.resolve()

    @cached_property
    def package(self) -> str:
        """The Debian package that it came with, and its version."""
        return package_of(self.path) or package_of(self.found)


@dataclass
class Swept:
    """One section of a library, read by us and by readelf."""

    library: Library
    section: str
    functions: int = 0
    rows: int = 0
    compared: int = 0  # rows, or functions of `.ARM.exidx`, that readelf shows
    differing: list[str] = field(default_factory=list)
    broken: int = 0


def installed() -> list[Library]:
    """The libraries that are there."""
    return [
        Library(arch, folder / name) for arch, folder in FOLDERS.items() for name in NAMES if (folder / name).exists()
    ]


def package_of(path: Path) -> str:
    """The package of a file, with its version; empty where no package has it."""
    found = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True, check=False)
    if found.returncode != 0 and path.is_relative_to("/usr"):
        return package_of(Path("/") / path.relative_to("/usr"))
    if found.returncode != 0:
        return ""
    name = found.stdout.partition(": ")[0]
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=True)
    return f"{name.partition(':')[0]} {shown.stdout}"


def sweep(library: Library) -> list[Swept]:
    """Every section of call frame information in a library that holds anything."""
    image = read_elf(library.path)
    found = []
    for section in SECTIONS:
        if section in image.sections and len(image.sections[section].data) > 8:
            swept = Swept(library, section)
            (_entries if section == ".ARM.exidx" else _call_frames)(image, swept)
            found.append(swept)
    return found


def _call_frames(image: Image, swept: Swept) -> None:
    expected = {(row.start, row.end): row for row in readelf_rows(swept.library.path, swept.section)}
    ours = {(row.start, row.end): row for row in our_rows(image, swept.section)}
    table = cfi_index(image, swept.section).all_rows()
    swept.functions = len({row.found_by for row in table})
    swept.rows, swept.broken = len(table), len(table.broken) + (table.unplaced is not None)
    swept.compared = len(expected)
    both = ((place, expected.get(place), ours.get(place)) for place in expected.keys() | ours.keys())
    swept.differing = [f"{at:#x}: readelf {theirs}, we {own}" for (at, _), theirs, own in both if theirs != own]
    if swept.section == ".eh_frame" and ".eh_frame_hdr" in image.sections:
        searched = search_table(image)
        swept.differing += [f"{row.start:#x}: not through the index" for row in table if searched.at(row.start) != row]


def _entries(image: Image, swept: Swept) -> None:
    expected, ours = readelf_entries(swept.library.path), our_entries(image)
    table = exidx_index(image).all_rows()
    swept.functions, swept.rows = len(ours), len(table)
    swept.broken = sum(not isinstance(part.why, NoUnwindInfo) for part in table.broken)  # EXIDX_CANTUNWIND is none
    swept.compared = len(expected)
    swept.differing = [f"{at:#x}" for at, said in expected.items() if ours.get(at, ["missing"]) != said]


# The columns of docs/results/tables-of-libraries.md.
HEAD = (
    *("library", "of", "package", "section", "functions", "rows"),
    *("compared", "differ", "unread"),
)


def library_rows(found: Mapping[Library, Sequence[Swept]]) -> Iterator[tuple[str, ...]]:
    """A line for each section of each library; for a library without any, one that says so."""
    for library, sections in found.items():
        yield from _section_rows(sections)
        if not sections:
            yield (f"`{library.path.name}`", library.arch, library.package, "none", *("",) * (len(HEAD) - 4))


def _section_rows(found: Sequence[Swept]) -> Iterator[tuple[str, ...]]:
    for swept in found:
        yield (
            f"`{swept.library.path.name}`",
            swept.library.arch,
            swept.library.package,
            f"`{swept.section}`",
            *(f"{count:,}" for count in (swept.functions, swept.rows, swept.compared)),
            *(str(count) for count in (len(swept.differing), swept.broken)),
        )
