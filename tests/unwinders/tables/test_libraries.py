"""Among thousands of functions of Debian's C libraries a look-up reads one entry."""

from pathlib import Path
from typing import Any

import pytest

from testbed.image import Image, LoadedImage, read_image
from testbed.trace import Memory, Snapshot
from unwinders import UNWINDERS
from unwinders.formats import cfi, cfi_entries, cfi_rows, ehabi_rows

CASES = (
    *(("x86_64", name) for name in ("eh_frame", "eh_frame_hdr")),
    *(("arm64", name) for name in ("eh_frame", "eh_frame_hdr")),
    ("arm32", "ehabi"),
)
FOLDERS = {
    "x86_64": "/lib/x86_64-linux-gnu",
    "arm64": "/usr/aarch64-linux-gnu/lib",
    "arm32": "/usr/arm-linux-gnueabihf/lib",
}
_STACK, _SIZE = 0x40000000, 0x4000
_RETURN = 0x1234560  # in every word of the stack, so any row finds it; no file lies there, so the walk ends there


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
    library = Path(FOLDERS[arch], "libc.so.6")
    if not library.exists():
        pytest.skip("it is not there: apt-get install libc6 libc6-arm64-cross libc6-armhf-cross")
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
    image = read_image(library)
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
