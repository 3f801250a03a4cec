"""``testbed rows``: the rows of a file, formats side by side, and files without tables or with damaged ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from tests.cli.command import HEAD, Testbed, tells


def test_table_of_a_file_without_tables_says_so(testbed: Testbed, tmp_path: Path) -> None:
    path = tmp_path / "bare.arm64.S"
    path.write_text(HEAD + ".type _start, %function\n_start:\n  ret\n.size _start, . - _start\n")
    tells(testbed, 2, ("rows", str(path), "-f", "*frame*"), err=["no table that a strategy reads"])


def test_table_compare_of_a_file_that_cannot_run_compares_what_stands_there(testbed: Testbed) -> None:
    library = next(iter(sorted(Path("/lib/x86_64-linux-gnu").glob("libm.so.6"))), None)
    if library is None:
        pytest.skip("there is no x86_64 libm here: apt-get install libc6")
    tells(testbed, 0, ("rows", str(library), "--compare"), out=["Not run:"])


def test_a_damaged_table_is_one_message(testbed: Testbed, tmp_path: Path) -> None:
    built = build(PROGRAMS["leaf_call"], ARCHES["x86_64"], RECIPES["keystone"])
    content = bytearray(built.path.read_bytes())
    content[built.image.sections[".sframe"].offset] ^= 0xFF
    path = tmp_path / "damaged.elf"
    path.write_bytes(content)
    for options in (("--compare",), ("-f", "sframe")):
        tells(testbed, 2, ("rows", str(path), *options), err=[".sframe+0x0: the magic number is"])
