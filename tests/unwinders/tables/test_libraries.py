"""Debian's libraries: all rows equal readelf's, a look-up reads one entry.

The small ones here; with ``--everything`` all of them. docs/results/tables-of-libraries.md shows what is found.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testbed.image import Image, LoadedImage, read_elf
from testbed.trace import Memory, Snapshot
from tests.unwinders.tables import libraries
from tests.unwinders.tables.libraries import FOLDERS, HEAD, Library, installed, library_rows, sweep
from unwinders import UNWINDERS
from unwinders.formats import cfi, cfi_entries, cfi_rows, ehabi_rows

LIBRARIES = installed()
SMALL = 250_000  # bytes


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: f"{library.arch}-{library.path.name}")
def test_every_row_of_a_library_is_readelfs(library: Library, request: pytest.FixtureRequest) -> None:
    if library.path.stat().st_size > SMALL and not request.config.getoption("--everything"):
        pytest.skip("a large one: pytest --everything")
    for swept in sweep(library):
        assert swept.compared > 10
        assert (swept.differing[:3], swept.broken) == ([], 0)


CASES = (
    *(("x86_64", name) for name in ("eh_frame", "eh_frame_hdr")),
    *(("arm64", name) for name in ("eh_frame", "eh_frame_hdr")),
    ("arm32", "ehabi"),
)
_STACK, _SIZE = 0x40000000, 0x4000
_RETURN = 0x1234560  # in every word of the stack, so any row finds it; no file lies there, so the walk ends there


def library(arch: str) -> Path:
    """The C library of an architecture."""
    return FOLDERS[arch] / "libc.so.6"


def at_qsort(image: Image) -> Snapshot:
    """A thread of a process with one file, before the first instruction of its ``qsort``."""
    arch, bias = image.arch, 0x50000000
    function = next(symbol for symbol in image.symbols if symbol.name == "qsort")
    registers = {arch.pc: bias + function.address, arch.sp: _STACK}
    if arch.link is not None:
        registers[arch.link] = _RETURN
    content = _RETURN.to_bytes(arch.word, "little") * (_SIZE // arch.word)
    return Snapshot(arch, registers, Memory.of([(_STACK, content)]), (LoadedImage(image, bias),))


@pytest.mark.parametrize(("arch", "chosen"), CASES)
def test_only_what_was_asked_for_is_known(arch: str, chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among thousands of functions of the C library one entry is read, and of what it refers to no more either."""
    if not library(arch).exists():
        pytest.skip(f"{library(arch)} is not there: apt-get install libc6 libc6-arm64-cross libc6-armhf-cross")
    read: list[tuple[str, int]] = []

    def counted(name: str, what: Any) -> Any:
        def count(*arguments: Any) -> Any:
            found = what(*arguments)
            read.append((name, found.instructions[1] - found.instructions[0] if name == "FDE" else 0))
            return found

        return count

    formats = "unwinders.formats"
    monkeypatch.setattr(f"{formats}.cfi.fde_at", counted("FDE", cfi_entries.fde_at))
    monkeypatch.setattr(f"{formats}.cfi.initial_state", counted("CIE", cfi_rows.initial_state))
    monkeypatch.setattr(f"{formats}.cfi.entry_at", counted("entry", cfi_entries.entry_at))
    monkeypatch.setattr(f"{formats}.ehabi_rows.entry_row", counted("index entry", ehabi_rows.entry_row))
    image = read_elf(library(arch))
    assert len(UNWINDERS[chosen].unwind(at_qsort(image)).frames) == 2
    if chosen == "ehabi":
        assert read == [("index entry", 0)]
        assert len(ehabi_rows.exidx_index(image).parts) > 500
        return
    section = cfi.cfi_section(image, ".eh_frame")
    (rows,) = section.rows.values()
    assert [name for name, _ in read] == ["FDE", "CIE"]
    assert len(rows) <= dict(read)["FDE"] < 200, "bytes of instructions of one function"
    assert len(section.cies) == (1 if chosen == "eh_frame_hdr" else 3)  # who reads in sequence has met all
    assert len(cfi.cfi_index(image, ".eh_frame").parts) > 1000


def test_a_library_without_a_table_has_a_line_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "package_of", lambda path: "libc6 2.36")
    library = Library("arm32", Path("libm.so.6"))
    (line,) = library_rows({library: []})
    assert line[:4] == ("`libm.so.6`", "arm32", "libc6 2.36", "none") and len(line) == len(HEAD)
