"""Android's libunwindstack: what every crash report of an Android phone is made with, on the memory of a snapshot.

The library unwinds for any of its architectures on any host. It is told the files as `/proc/PID/maps` would tell them,
and reads those itself: `.debug_frame`, then `.eh_frame`, on arm32 then `.ARM.exidx`. Where none of them has a row it
takes the return address from the link register or from the top of the stack, and keeps that frame if it can go on from
there. It tells each frame's pc and SP.

Each snapshot is asked with nothing remembered, as each crash is: the library keeps rows by ranges of code, and gives
the row behind a DW_CFA_restore_state the range of the one that it restores.
"""

from __future__ import annotations

import ctypes
import re
import shutil
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from testbed.arch import Arch, PerArch
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, Unwinder
from testbed.export.dumped_memory import PAGE
from testbed.image import LoadedImage
from testbed.referee.model import Found, Referee, called, read_findings
from testbed.referee.process.forked_library import ReadsSnapshot, Signatures, compiled, forked, typed
from testbed.referee.process.limits import printed, with_every_register
from testbed.referee.process.without_tables import file_of
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, NoUnwindInfo, UnreadableMemory, UnwindError

# The library of Debian's package, callable: `unwinder.cpp` compiled against it.

SOURCE = Path(__file__).with_name("unwinder.cpp")
PACKAGE = "android-libbacktrace"
_NAME = "libbacktrace.so.0"
_LAID_OUT = re.compile(r"1:29\.")  # the versions whose classes are laid out as `unwinder.cpp` says
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-w")
_EXPORTS = "{ global: referee_*; local: *; };"  # nothing of ours takes the place of the library's own functions

word = ctypes.c_uint64
ReadMemory = ctypes.CFUNCTYPE(ctypes.c_bool, word, ctypes.c_void_p, word)


class ToldFrame(ctypes.Structure):
    """``exact``: the library took the pc for an instruction; else it looked the frame up before its pc."""

    _fields_ = (("pc", word), ("sp", word), ("exact", word))


_SIGNATURES: Signatures = {
    "referee_open": (ctypes.c_void_p, (ctypes.c_int, ctypes.c_char_p, ReadMemory)),
    "referee_close": (None, (ctypes.c_void_p,)),
    "referee_unwind": (
        ctypes.c_int,
        (
            ctypes.c_void_p,
            ctypes.POINTER(word),
            ctypes.c_int,
            ctypes.POINTER(ToldFrame),
            ctypes.c_size_t,
            ctypes.POINTER(word),
        ),
    ),
}


@lru_cache(maxsize=1)
def find() -> Found | None:
    """The library of the package, in a version that can be called, where there is a compiler too."""
    if shutil.which("g++") is None or shutil.which("dpkg-query") is None:
        return None
    listed, version = (printed(("dpkg-query", *asked, PACKAGE)) for asked in (("-L",), ("-W", "-f", "${Version}")))
    path = next((line for line in listed.splitlines() if line.endswith(f"/{_NAME}")), None)
    return Found(version, path) if path and _LAID_OUT.match(version) else None


@lru_cache(maxsize=1)
def built() -> Path:
    """The compiled part, from the cache of built files. Raises BuildError where it does not compile."""
    found = find()
    assert found is not None, f"{PACKAGE} is not installed"
    command = ["g++", *_FLAGS, str(SOURCE), found.path, f"-Wl,-rpath,{Path(found.path).parent}", "-Wl,-z,defs"]
    return compiled("libunwindstack", command, SOURCE, found.version, exports=_EXPORTS)


def load() -> ctypes.CDLL:
    """The compiled part with its functions' types. Raises BuildError."""
    return typed(ctypes.CDLL(str(built())), _SIGNATURES)


MAX_FRAMES = 256
_ORDER = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip"
# An architecture's number in `referee_open`, and the registers in the library's order.
_KINDS = PerArch(
    {
        "x86_64": (0, tuple(_ORDER.split())),
        "arm64": (1, (*(f"x{number}" for number in range(31)), "sp", "pc")),
        "arm32": (2, (*(f"r{number}" for number in range(13)), "sp", "lr", "pc")),
    }
)
_NONE, _UNREADABLE, _TOO_MANY, _REPEATED = 0, 1, 5, 6
_ERRORS = {  # the library's ErrorCode
    2: "no unwind information can be used",
    3: "unwind information that it does not support",
    4: "the pc is in no mapping",
    7: "the pc is in a file that is not an ELF file",
}


class LibUnwindStack(ReadsSnapshot):
    """The files of one run in libunwindstack."""

    def __init__(self, library: ctypes.CDLL, images: tuple[LoadedImage, ...]) -> None:
        self._library, self._arch = library, images[0].image.arch
        self._reader = ReadMemory(self._read)  # C keeps a pointer to it
        self._number, self._names = _KINDS[self._arch.name]
        self._maps = maps_text(images).encode()
        self._frames, self._error = (ToldFrame * MAX_FRAMES)(), (word * 2)()

    def unwind(self, snapshot: Snapshot) -> Backtrace:
        """What ``Unwinder::Unwind`` finds; it claims the end of the stack where it stops without an error."""
        return self._asked(snapshot, self._callers(snapshot))

    def _callers(self, snapshot: Snapshot) -> Iterator[Frame]:
        library, frames = self._library, self._frames
        session = library.referee_open(self._number, self._maps, self._reader)
        if not session:
            raise RuntimeError("libunwindstack does not read its own text of mappings")
        values = (word * len(self._names))(*(snapshot.registers[name] for name in self._names))
        count = library.referee_unwind(session, values, len(self._names), frames, MAX_FRAMES, self._error)
        library.referee_close(session)
        yield from (self._frame(frames[i]) for i in range(1, count))
        if (stop := self._stop()) is not None:
            raise stop

    def _frame(self, told: ToldFrame) -> Frame:
        kind = FrameKind.INTERRUPTED if told.exact else FrameKind.CALLER
        pc = self._arch.code_address(told.pc)
        return Frame(kind, pc, {self._arch.pc: pc, self._arch.sp: told.sp}, found_by="libunwindstack")

    def _stop(self) -> UnwindError | None:
        code, address = self._error
        if code == _NONE:
            return None
        if code == _UNREADABLE:
            return UnreadableMemory(address, self._arch.word)
        if code == _TOO_MANY:
            return NoProgress(f"more than {MAX_FRAMES} frames")
        if code == _REPEATED:
            return NoProgress("the caller's pc and SP are the frame's own")
        return NoUnwindInfo(f"libunwindstack: {_ERRORS.get(code, f'error {code}')}")


def maps_text(images: Iterable[LoadedImage]) -> str:
    """The files as `/proc/PID/maps` has them, ascending by address."""
    lines = []
    for loaded in images:
        for segment in loaded.image.segments:
            start = segment.address + loaded.bias
            skip = start % PAGE
            end = (start + segment.size + PAGE - 1) & -PAGE
            flags = "".join(
                letter if held else "-"
                for letter, held in (("r", segment.readable), ("w", segment.writable), ("x", segment.executable))
            )
            place = f"{start - skip:x}-{end:x} {flags}p {segment.offset - skip:08x} 00:00 0"
            lines.append((start, f"{place} {file_of(loaded.image).absolute()}\n"))
    return "".join(line for _, line in sorted(lines))


@lru_cache(maxsize=1)
def _session(images: tuple[LoadedImage, ...]) -> LibUnwindStack:
    return LibUnwindStack(load(), images)


def unwind_here(snapshot: Snapshot) -> Backtrace:
    """What libunwindstack says, in this process."""
    return _session(snapshot.images).unwind(snapshot)


def _passed(arch: Arch) -> Iterable[str]:
    return _KINDS[arch.name][1]


REFEREE = Referee(
    name="libunwindstack",
    summary="Android's libunwindstack, which every Android crash report is made with",
    package=f"apt-get install {PACKAGE} g++",
    find=find,
    unwinders=(
        Unwinder(
            name="libunwindstack",
            summary="libunwindstack: .debug_frame, .eh_frame, .ARM.exidx, then the link register or the stack's top",
            unwind=with_every_register(forked(unwind_here, prepare=built), _passed),
            needs=frozenset({".shstrtab"}),  # an ELF file
            counted=True,
            tool=called("libunwindstack", find),
        ),
    ),
    findings=read_findings(__file__),
)
