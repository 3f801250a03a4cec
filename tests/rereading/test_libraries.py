"""Both readers say the same of libraries that others have compiled: at the ends of every row of some entries."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from random import Random

import pytest

from testbed.contract.rows import RowTable
from testbed.image import read_image
from testbed.words.table_formats import BY_SECTION
from tests.rereading.beside import TECHNIQUES, differences
from unwinders import UNWINDERS

ENTRIES = 20  # of each table
FILES = [
    f"{folder}/{name}"
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/aarch64-linux-gnu/lib", "/usr/arm-linux-gnueabihf/lib")
    for name in ("libc.so.6", "libgcc_s.so.1", "libstdc++.so.6")
]


def ends(table: RowTable, seed: int) -> set[int]:
    """The first and the last pc of rows, and those around their entries."""
    if not table.entries:
        chosen = Random(seed).sample(table.rows, min(4 * ENTRIES, len(table)))
        return {pc for row in chosen for pc in (row.start, row.end - 1)}
    pcs = set()
    for start, end, _ in Random(seed).sample(table.entries, min(ENTRIES, len(table.entries))):
        rows = table.rows[bisect_left(table.starts, start) : bisect_left(table.starts, end)]
        pcs |= {start - 1, end, *(row.start for row in rows), *(row.end - 1 for row in rows)}
    return pcs


@pytest.mark.parametrize("file", FILES)
def test_both_readers_say_the_same_of_a_library(file: str) -> None:
    if not Path(file).exists():
        pytest.skip(f"{file} is not installed")
    image = read_image(file)
    compared = 0
    for format in BY_SECTION:
        technique = UNWINDERS[TECHNIQUES[format]]
        if technique.rows is not None and technique.applies_to(image):
            pcs = ends(technique.rows(image), seed=len(file))
            compared += len(pcs)
            assert [str(each) for each in differences(image, format, pcs)] == []
    assert compared > 40
