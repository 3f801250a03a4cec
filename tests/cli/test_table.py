"""``testbed table``: the rows of a file, formats side by side, and files without tables or with damaged ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from tests.cli.command import HEAD, Testbed


def test_table_prints_the_rows_of_a_program(testbed: Testbed) -> None:
    said = testbed("table", "leaf_call", "--arch", "x86_64", "-f", "eh_frame")
    assert said.status == 0, said.err
    rows = [line.split() for line in said.out.partition("\nleaf\n")[2].splitlines()[2:6]]
    start = int(rows[0][0], 16)
    assert [(int(loc, 16) - start, cfa, rbp, ra) for loc, cfa, rbp, ra in rows] == [
        (0, "rsp+8", "-", "c-8"),
        (1, "rsp+16", "c-16", "c-8"),
        (4, "rbp+16", "c-16", "c-8"),
        (12, "rsp+8", "-", "c-8"),
    ]


def test_table_of_a_file_without_tables_says_so(testbed: Testbed, tmp_path: Path) -> None:
    path = tmp_path / "bare.arm64.S"
    path.write_text(HEAD + ".type _start, %function\n_start:\n  ret\n.size _start, . - _start\n")
    said = testbed("table", str(path), "-f", "*frame*")
    assert said.status == 2
    assert "no table that a strategy reads" in said.err


def test_table_compare_puts_formats_side_by_side(testbed: Testbed) -> None:
    said = testbed("table", "leaf_call", "--arch", "arm32", "--compare")
    assert said.status == 0, said.err
    assert "debug_frame, ehabi side by side" in " ".join(said.out.split())
    assert re.search(
        r"^    ehabi +CFA r11\+8, ra c-4 +CFA 0x[0-9a-f]+, to 0x[0-9a-f]+   false: at leaf\b",
        said.out,
        re.M,
    )
    assert max(len(line) for line in said.out.splitlines()) <= 100


def test_table_compare_needs_two_tables(testbed: Testbed) -> None:
    said = testbed("table", "leaf_call", "--arch", "arm64", "--compare", "-f", "sframe")
    assert said.status == 2
    assert "too few tables to compare: sframe" in said.err


def test_table_compare_of_a_file_that_cannot_run_compares_what_stands_there(testbed: Testbed) -> None:
    library = next(iter(sorted(Path("/lib/x86_64-linux-gnu").glob("libm.so.6"))), None)
    if library is None:
        pytest.skip("there is no x86_64 libm here: apt-get install libc6")
    said = testbed("table", str(library), "--compare")
    assert said.status == 0, said.err
    assert "Not run:" in said.out


def test_a_damaged_table_is_one_message(testbed: Testbed, tmp_path: Path) -> None:
    built = build(PROGRAMS["leaf_call"], ARCHES["x86_64"], RECIPES["keystone"])
    content = bytearray(built.path.read_bytes())
    content[built.image.sections[".sframe"].offset] ^= 0xFF
    path = tmp_path / "damaged.elf"
    path.write_bytes(content)
    for options in (("--compare",), ("-f", "sframe")):
        said = testbed("table", str(path), *options)
        assert said.status == 2
        assert ".sframe+0x0: the magic number is" in said.err
