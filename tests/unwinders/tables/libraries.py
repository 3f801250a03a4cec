"""Every row of real libraries beside readelf's reading of the same bytes, and what looking up costs.

The libraries are Debian's: the host's, and those that come with GCC for arm64 and arm32.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from time import process_time

from testbed.contract.rows import RowTable
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

# What the ABIs say, in readelf's names: System V AMD64 3.2.1, AAPCS64 6.1, AAPCS32 6.1.
CALLEE_SAVED = {
    "x86_64": {"rbx", "rbp", "r12", "r13", "r14", "r15"},
    "arm64": {f"x{i}" for i in range(19, 30)} | {f"v{i}" for i in range(8, 16)},
    "arm32": {f"r{i}" for i in range(4, 12)} | {f"D{i}" for i in range(8, 16)},
}


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
    dropped: list[str] = field(default_factory=list)  # rules about callee-saved registers that our rows lack
    broken: int = 0
    named: Counter[str] = field(default_factory=Counter)  # rules by register
    first: float = 0.0  # seconds of CPU, of a file just opened
    whole: float = 0.0


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
    for place in expected.keys() | ours.keys():
        theirs, own = expected.get(place), ours.get(place)
        if theirs != own:
            swept.differing.append(f"{place[0]:#x}: readelf {theirs}, we {own}")
        for name in theirs.rules if theirs else ():
            swept.named[name] += 1
            if name in CALLEE_SAVED[swept.library.arch] and (own is None or name not in own.rules):
                swept.dropped.append(f"{place[0]:#x}: {name}")
    pc = table.rows[len(table) // 2].start
    swept.first, swept.whole = times(image, lambda fresh: cfi_index(fresh, swept.section).at(pc), swept.section)
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
    rules = {row.start: row.registers for row in table}
    for at, said in ours.items():
        for name in popped(said or []):
            swept.named[name] += 1
            if name in CALLEE_SAVED["arm32"] and name.lower() not in rules.get(at, {}):
                swept.dropped.append(f"{at:#x}: {name}")
    pc = table.rows[len(table) // 2].start
    swept.first, swept.whole = times(image, lambda fresh: exidx_index(fresh).at(pc), swept.section)


def popped(said: list[str]) -> list[str]:
    """The registers that unwinding instructions pop, in readelf's words."""
    found = []
    for text in said:
        if match := re.fullmatch(r"pop \{D(\d+)-D(\d+)\}", text):
            found += [f"D{i}" for i in range(int(match[1]), int(match[2]) + 1)]
        elif text.startswith("pop {"):
            found += text[5:-1].split(", ")
    return found


def times(image: Image, look_up: Callable[[Image], object], section: str) -> tuple[float, float]:
    """The CPU time of the first look-up in a file just opened, and of reading the whole section."""
    first, whole = [], []
    for _ in range(3):
        fresh = replace(image)
        began = process_time()
        assert look_up(fresh) is not None
        first.append(process_time() - began)
        began = process_time()
        _whole(fresh, section)
        whole.append(process_time() - began + first[-1])
    return min(first), min(whole)


def _whole(image: Image, section: str) -> RowTable:
    return (exidx_index(image) if section == ".ARM.exidx" else cfi_index(image, section)).all_rows()


# The columns of docs/tables-of-libraries.md.
HEAD = (
    *("library", "of", "package", "section", "functions", "rows"),
    *("compared", "differ", "dropped", "unread", "cost"),
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
            *(str(count) for count in (len(swept.differing), len(swept.dropped), swept.broken)),
            f"1/{swept.whole / swept.first:.0f}",
        )


def named_rows(found: Sequence[Swept]) -> Iterator[tuple[str, ...]]:
    """A line for each architecture: its callee-saved registers with their rules, and the other registers."""
    for arch, saved in CALLEE_SAVED.items():
        rules = sum((swept.named for swept in found if swept.library.arch == arch), Counter[str]())
        ordered = sorted(rules.items(), key=lambda named: (-named[1], named[0]))
        both = [[f"{name} {count:,}" for name, count in ordered if (name in saved) is own] for own in (True, False)]
        yield arch, *(", ".join(words) for words in both)
