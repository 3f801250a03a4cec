"""All functions of the installed libraries, or a part of each, compared by several processes."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from tests.unwinders.analysis.compared_functions import Compared, Library, compared
from tests.unwinders.analysis.libraries import NAMES, by_debug_frame, by_eh_frame, by_exidx, installed
from tests.unwinders.analysis.report import page
from unwinders.analysis.function_bounds import functions_of

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
    with ProcessPoolExecutor(processes or os.cpu_count()) as pool:
        for one in pool.map(_job, [which] * len(jobs), jobs):
            found.add(one)
    return found


def whole_page(introduction: Path, armhf: str | None, most: int | None) -> str:
    """docs/analysis-of-libraries.md, made anew."""
    found = {which.title: sweep(which, most) for which in planned(Path(armhf) if armhf else None)}
    sample = f"Of each library {most} functions at random, by a fixed seed." if most else ""
    return page(introduction.read_text(encoding="utf-8"), found, sample)
