"""Which pieces of code are functions: not what a linker has put behind them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.arch import ARCHES
from testbed.checks.inputs import program_file
from testbed.image import Image, read_image
from testbed.micro.functions import pieces_of, table_ranges

SOURCE = "int g(void);\nint f(void) { return g() + 1; }\nint h(int x) { return g() * x; }\n"


@pytest.fixture(params=list(ARCHES))
def image(request: pytest.FixtureRequest, tmp_path: Path) -> Image:
    """Two functions and the procedure linkage table that they call another one by."""
    source = tmp_path / "f.c"
    source.write_text(SOURCE)
    with program_file(source, request.param, ("-O1",)) as path:
        return read_image(path)


def test_the_procedure_linkage_table_is_no_function(image: Image) -> None:
    assert ".plt" in image.sections
    assert [piece.name for piece in pieces_of(image)] == ["f", "h"]


def test_without_symbols_functions_end_where_their_entries_do(image: Image) -> None:
    named = {(s.address, s.address + s.size) for s in image.symbols if s.is_function}
    pieces = pieces_of(replace(image, symbols=()))
    assert {(piece.start, piece.end) for piece in pieces} == named == set(table_ranges(image))
