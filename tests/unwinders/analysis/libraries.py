"""The libraries whose own unwind tables are a witness of the analysis, where they are installed: all or a part of their
functions, compared by several processes, and the tables of docs/analysis-of-libraries.md."""

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
from unwinders.analysis.function_bounds import functions_of
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
    return Library(image, cfi_table(image, ".eh_frame"))


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


SEED = 20261122
AT_ONCE = 25  # functions to a job
READERS = {".eh_frame": by_eh_frame, ".ARM.exidx": by_exidx, ".debug_frame": by_debug_frame}


@dataclass(frozen=True, slots=True)
class Compares:
    """A library and the table that it is compared with."""

    arch: str
    path: Path
    section: str

    @property
    def title(self) -> str:
        return f"{self.arch} {'libc.so.6' if self.section == '.debug_frame' else self.path.name} {self.section}"


def planned(armhf: Path | None = None) -> list[Compares]:
    """What there is to compare; ``armhf``: where libc6 and libc6-dbg of that architecture were unpacked."""
    found = [
        Compares(arch, path, ".ARM.exidx" if arch == "arm32" else ".eh_frame")
        for arch in ("x86_64", "arm64", "arm32")
        for name in NAMES
        if (path := installed(arch, name)) is not None and (arch != "arm32" or name == "libc.so.6")
    ]
    return [*found, Compares("arm32", armhf, ".debug_frame")] if armhf is not None else found


@cache
def library_of(which: Compares) -> Library | None:
    return READERS[which.section](which.path)


def chosen(which: Compares, most: int | None) -> list[int]:
    """The numbers of the functions to compare: all, or so many at random, the same ones each time."""
    library = library_of(which)
    numbers = range(len(functions_of(library.image).all)) if library is not None else range(0)
    return sorted(Random(SEED).sample(numbers, most)) if most is not None and most < len(numbers) else [*numbers]


def _job(which: Compares, numbers: list[int]) -> Compared:
    library = library_of(which)
    assert library is not None
    every = functions_of(library.image).all
    return compared(library, (every[number] for number in numbers))


def sweep(which: Compares, most: int | None = None, processes: int | None = None) -> Compared:
    """One library, all of it or ``most`` of its functions."""
    numbers = chosen(which, most)
    jobs = [numbers[at : at + AT_ONCE] for at in range(0, len(numbers), AT_ONCE)]
    found = Compared()
    with ProcessPoolExecutor(processes) as pool:
        for one in pool.map(_job, [which] * len(jobs), jobs):
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
