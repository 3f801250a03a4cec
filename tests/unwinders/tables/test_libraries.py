"""Debian's libraries: all rows equal readelf's, no callee-saved register's rule is dropped, a look-up reads one entry.

The small ones here; with ``--everything`` all of them. docs/tables-of-libraries.md shows what is found.
"""

from __future__ import annotations

import pytest

from testbed.contract.frames import Frame, FrameKind
from testbed.image import LoadedImage, read_elf
from tests.unwinders.tables.libraries import FOLDERS, Library, installed, sweep
from unwinders.formats.cfi import cfi_index, cfi_section
from unwinders.tables.eh_frame import table_rows

LIBRARIES = installed()
SMALL = 250_000  # bytes


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: f"{library.arch}-{library.path.name}")
def test_every_row_of_a_library_is_readelfs(library: Library, request: pytest.FixtureRequest) -> None:
    if library.path.stat().st_size > SMALL and not request.config.getoption("--everything"):
        pytest.skip("a large one: pytest --everything")
    for swept in sweep(library):
        assert swept.compared > 10
        assert (swept.differing[:3], swept.dropped[:3], swept.broken) == ([], [], 0)


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_only_what_was_asked_for_is_known(arch: str) -> None:
    """Among thousands of functions of the C library, one FDE is executed."""
    path = FOLDERS[arch] / "libc.so.6"
    if not path.exists():
        pytest.skip(f"{path} is not there: apt-get install libc6 gcc-aarch64-linux-gnu")
    image = read_elf(path)
    function = next(symbol for symbol in image.symbols if symbol.name == "qsort")
    row_for = table_rows(".eh_frame")
    assert row_for(Frame(FrameKind.INTERRUPTED, function.address, {}), LoadedImage(image)) is not None
    assert len(cfi_section(image, ".eh_frame").rows) == 1
    assert len(cfi_index(image, ".eh_frame").parts) > 1000
