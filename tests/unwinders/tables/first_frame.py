"""The first frame in a C library that was just opened: what a tool pays for its first sample there.

    python -m tests.unwinders.tables.first_frame

prints milliseconds of CPU time, the medians of three files just opened: reading the file, then its first frame.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from time import process_time

from testbed.contract.frames import Backtrace
from testbed.image import Image, LoadedImage, read_elf
from testbed.trace import Snapshot
from testbed.trace.memory import Memory
from tests.unwinders.tables.libraries import FOLDERS
from unwinders import UNWINDERS

CASES = (
    *(("x86_64", name) for name in ("eh_frame", "eh_frame_hdr")),
    *(("arm64", name) for name in ("eh_frame", "eh_frame_hdr")),
    ("arm32", "ehabi"),
)
_STACK, _SIZE = 0x40000000, 0x4000
_RETURN = 0x1234560  # in every word of the stack, so any row finds it; no file lies there, so the walk ends there
_REPETITIONS = 3


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


def first_frame(image: Image, strategy: str) -> Backtrace:
    """What a strategy says of `at_qsort`: the frame of ``qsort``, and its caller's."""
    return UNWINDERS[strategy].unwind(at_qsort(image))


def main() -> None:
    """Print a line for each library and strategy."""
    for arch, strategy in CASES:
        opening, frame = [], []
        for _ in range(_REPETITIONS):
            began = process_time()
            image = read_elf(library(arch))
            opened = process_time()
            snapshot = at_qsort(image)
            asked = process_time()
            backtrace = UNWINDERS[strategy].unwind(snapshot)
            frame.append(process_time() - asked)
            opening.append(opened - began)
            assert [each.pc for each in backtrace.frames] == [snapshot.pc, _RETURN], backtrace
        print(f"{arch} {strategy}: {1000 * median(opening):.1f} ms to read the file, {1000 * median(frame):.1f} ms")


if __name__ == "__main__":
    main()
