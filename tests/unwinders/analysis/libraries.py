"""The libraries whose own unwind tables are a witness of the analysis, where they are installed: all or a part of their
functions, compared by several processes, and the tables of docs/results/analysis-of-libraries.md."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

from elftools.elf.elffile import ELFFile

from testbed.image import read_image
from testbed.image.separate_debug import DebugDirs
from tests.unwinders.analysis.compared_functions import EQUAL, Compared, Library, compared
from tests.unwinders.tables.libraries import FOLDERS
from unwinders.analysis.function_bounds import functions_of
from unwinders.formats.cfi import cfi_table
from unwinders.formats.ehabi_rows import exidx_table

NAMES = ("libc.so.6", "libm.so.6", "libstdc++.so.6")


def installed(arch: str, name: str) -> Path | None:
    """The path of a library, or None where it is not installed."""
    path = FOLDERS[arch] / name
    return path if path.exists() else None


def _data(debug_file: Path) -> Iterator[tuple[int, int]]:
    """From each mapping symbol $d to the next one (ELF for the Arm Architecture, section 5.5.5)."""
    elf = ELFFile(io.BytesIO(debug_file.read_bytes()))
    symbols = (
        (symbol["st_value"], symbol.name.split(".")[0]) for symbol in elf.get_section_by_name(".symtab").iter_symbols()
    )
    marks = sorted(mark for mark in symbols if mark[1] in ("$a", "$t", "$d"))
    return ((at, end) for (at, kind), (end, _) in pairwise(marks) if kind == "$d" and end > at)


SEED = 20261122
AT_ONCE = 25  # functions to a job


@dataclass(frozen=True, slots=True)
class Compares:
    """A library and the table that it is compared with; ``debug`` is where its separate debug file is looked for."""

    arch: str
    path: Path
    section: str
    debug: Path | None = None

    @property
    def title(self) -> str:
        return f"{self.arch} {self.path.name} {self.section}"


def planned(armhf: Path | None = None) -> list[Compares]:
    """What there is to compare; ``armhf``: where libc6 and libc6-dbg of that architecture were unpacked."""
    found = [
        Compares(arch, path, ".ARM.exidx" if arch == "arm32" else ".eh_frame")
        for arch in ("x86_64", "arm64", "arm32")
        for name in NAMES
        if (path := installed(arch, name)) is not None and (arch != "arm32" or name == "libc.so.6")
    ]
    if armhf is not None:
        libc = armhf / "lib/arm-linux-gnueabihf/libc.so.6"
        found.append(Compares("arm32", libc, ".debug_frame", armhf / "usr/lib/debug"))
    return found


@cache
def library_of(which: Compares) -> Library:
    """The rows of an exception index hold at calls. A separate debug file also says what is code and what is data."""
    image = read_image(which.path, debug=DebugDirs((which.debug,) if which.debug else ()))
    if which.section == ".ARM.exidx":
        return Library(image, exidx_table(image), at_calls=True)
    data = dict(_data(image.debug_file)) if which.debug and image.debug_file else {}
    return Library(image, cfi_table(image, which.section), data)


def chosen(which: Compares, most: int | None) -> list[int]:
    """The numbers of the functions to compare: all, or so many at random, the same ones each time."""
    numbers = range(len(functions_of(library_of(which).image).all))
    return sorted(Random(SEED).sample(numbers, most)) if most is not None and most < len(numbers) else [*numbers]


def part_of(which: Compares, numbers: list[int]) -> Compared:
    library = library_of(which)
    every = functions_of(library.image).all
    return compared(library, [every[number] for number in numbers])


def sweep(which: Compares, most: int | None = None, processes: int | None = None) -> Compared:
    """One library, all of it or ``most`` of its functions."""
    numbers = chosen(which, most)
    jobs = [numbers[at : at + AT_ONCE] for at in range(0, len(numbers), AT_ONCE)]
    found = Compared()
    with ProcessPoolExecutor(processes) as pool:
        for one in pool.map(part_of, [which] * len(jobs), jobs):
            found.add(one)
    return found


def libraries_rows(found: Mapping[str, Compared]) -> Iterator[tuple[str, ...]]:
    """A line for each library and table: functions, instructions, how many are equal, and which share that is."""
    for title, one in found.items():
        shares = (f"{100 * count / one.total:.3f} %" for count in (one.counts[EQUAL], one.refused))
        yield title, *(f"{count:,}" for count in (one.functions, one.total, one.counts[EQUAL])), *shares


def differing_rows(found: Mapping[str, Compared]) -> Iterator[tuple[str, ...]]:
    """A line for each way to differ: how many instructions, and in which libraries."""
    counts = sum((one.counts for one in found.values()), Counter[str]())
    for how, count in counts.most_common():
        if how != EQUAL:
            yield how, f"{count:,}", ", ".join(title for title, one in found.items() if one.counts[how])
