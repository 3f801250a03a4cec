"""The tables of installed libraries as a witness: a part of what docs/results/analysis-of-libraries.md compares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.contract.rows import RegisterPlus, RowTable
from tests.unwinders.analysis.libraries import (
    EQUAL,
    NAMES,
    Compared,
    Compares,
    chosen,
    compared,
    installed,
    library_of,
    part_of,
)
from unwinders.analysis.function_bounds import functions_of

FUNCTIONS = 50  # of each of six libraries


def _part(arch: str, name: str) -> Compared:
    path = installed(arch, name)
    if path is None:
        pytest.skip(f"{name} of {arch} is not installed: apt-get install libc6 libstdc++6 g++-aarch64-linux-gnu")
    which = Compares(arch, path, ".eh_frame")
    return part_of(which, chosen(which, FUNCTIONS))


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_the_rows_are_those_of_the_libraries_tables(arch: str) -> None:
    found = Compared()
    for name in NAMES:
        found.add(_part(arch, name))
    assert found.functions == FUNCTIONS * len(NAMES)
    assert found.total > 5000
    assert found.counts[EQUAL] >= 0.995 * found.total, found.different.most_common(9)
    assert found.refused <= 0.001 * found.total, found.different.most_common(9)


def test_a_table_that_is_wrong_is_not_equal() -> None:
    """The witness tells: with every CFA one word off, nothing is equal; with rbx unchanged everywhere, much is not."""
    path = installed("x86_64", "libm.so.6")
    if path is None:
        pytest.skip("libm.so.6 of x86_64 is not installed: apt-get install libc6")
    library = library_of(Compares("x86_64", path, ".eh_frame"))
    functions = functions_of(library.image).all[:60]
    moved = [
        replace(row, cfa=RegisterPlus(row.cfa.register, row.cfa.offset + 8))
        for row in library.table
        if isinstance(row.cfa, RegisterPlus)
    ]
    wrong = compared(replace(library, table=RowTable("", tuple(moved))), functions)
    assert wrong.total > 500
    assert wrong.counts[EQUAL] == 0
    kept = [replace(row, registers={n: r for n, r in row.registers.items() if n != "rbx"}) for row in library.table]
    assert compared(library, functions).counts[EQUAL] == wrong.total
    assert compared(replace(library, table=RowTable("", tuple(kept))), functions).counts[EQUAL] < wrong.total
