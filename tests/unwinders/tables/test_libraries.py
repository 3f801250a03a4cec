"""Debian's libraries: all rows equal readelf's, no rule about a callee-saved register is dropped, looking up is quick.

The small ones here; with ``--every-site`` all of them. docs/tables-of-libraries.md shows what is found.
"""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import pytest

from testbed.contract.frames import Frame, FrameKind
from testbed.image import LoadedImage, read_elf
from testbed.trace import Memory, Snapshot
from tests.unwinders.tables.libraries import FOLDERS, Library, installed, sweep
from unwinders import UNWINDERS
from unwinders.tables.eh_frame import table_rows

LIBRARIES = installed()
SMALL = 250_000  # bytes


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: f"{library.arch}-{library.path.name}")
def test_every_row_of_a_library_is_readelfs(library: Library, request: pytest.FixtureRequest) -> None:
    if library.path.stat().st_size > SMALL and not request.config.getoption("--every-site"):
        pytest.skip("a large one: pytest --every-site")
    for swept in sweep(library):
        assert swept.compared > 10
        assert (swept.differing[:3], swept.dropped[:3], swept.broken) == ([], [], 0)


@pytest.mark.parametrize("arch", FOLDERS)
def test_the_first_frame_in_libc_takes_less_than_50_milliseconds(arch: str) -> None:
    """Of CPU time, the file being open: once more if the machine was busy."""
    path = FOLDERS[arch] / "libc.so.6"
    if not path.exists():
        pytest.skip(f"{path} is not installed: apt-get install gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf")
    image = read_elf(path)
    function = next(symbol for symbol in image.symbols if symbol.name == "qsort")
    values = {register.name: 0x1_0000 for register in image.arch.registers} | {image.arch.pc: function.address}
    for unwinder in (UNWINDERS[name] for name in ("eh_frame", "eh_frame_hdr", "debug_frame", "ehabi")):
        if not unwinder.applies_to(image):
            continue
        unwinder.unwind(Snapshot(image.arch, values, Memory.of([]), (LoadedImage(replace(image)),)))  # modules
        taken = []
        for _ in range(5):
            at = Snapshot(image.arch, values, Memory.of([(0x1_0000, bytes(64))]), (LoadedImage(replace(image)),))
            began = process_time()
            said = unwinder.unwind(at)
            taken.append(process_time() - began)
            assert said.frames[0].cfa is not None or said.stopped is None, said
        assert min(taken) < 0.05, f"{unwinder.name}: {min(taken) * 1000:.0f} ms"


def test_only_what_was_asked_for_is_known() -> None:
    """Among thousands of functions of the C library, one FDE is executed."""
    path = FOLDERS["x86_64"] / "libc.so.6"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    image = read_elf(path)
    function = next(symbol for symbol in image.symbols if symbol.name == "qsort")
    from unwinders.formats.cfi import cfi_index, cfi_section

    row_for = table_rows(".eh_frame")
    assert row_for(Frame(FrameKind.INTERRUPTED, function.address, {}), LoadedImage(image)) is not None
    assert len(cfi_section(image, ".eh_frame").rows) == 1
    assert len(cfi_index(image, ".eh_frame").parts) > 1000
