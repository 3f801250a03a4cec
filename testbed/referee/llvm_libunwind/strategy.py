"""LLVM libunwind over the memory of a snapshot: the library's own headers, compiled with an address space of ours.

The headers are those of the `ziglang` wheel; `address_space.cpp` beside this file gives them the snapshot's memory,
and everything else (which table, which row, what it means, where the stack ends) is theirs. Two ways of asking:

* ``llvm_libunwind``: as ``unw_init_local`` and ``unw_step`` do, which take the first pc for a return address when they
  choose rows, and for itself when they look up the function. This is how the library is used.
* ``llvm_libunwind_exact``: the interrupted pc is handed over so that a row that begins there counts.

On Mach-O files there is only the first: ``llvm_libunwind_compact``. ``unw_step`` returns the same 0 at the end of the
stack and where no table covers the caller.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from functools import lru_cache, partial

from testbed.arch import Arch, PerArch
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.unwinder import Unwinder
from testbed.image import LoadedImage
from testbed.referee.llvm_libunwind.library import ReadMemory, Tables, built, constants_of, find, load, tables_of, word
from testbed.referee.model import Referee
from testbed.referee.process.every_register import with_every_register
from testbed.referee.process.forked_library import forked
from testbed.referee.read_findings import read_findings
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, NoUnwindInfo, UnreadableMemory, UnsupportedRule, UnwindError

MAX_FRAMES = 256
# An architecture's number in `referee_open`, and n: DWARF numbers 0 to n - 1 are registers.
_KINDS = PerArch[tuple[int, int] | None](
    {"x86_64": (0, 16), "arm64": (1, 32), "arm32": None},
    because={"arm32": "there the library has another interface, for EHABI tables"},
)
_UNREADABLE = -1000
_ERRORS = {
    -6540: "unspecified error",
    -6541: "out of memory",
    -6542: "bad register",
    -6543: "register cannot be written",
    -6544: "stopped",
    -6545: "invalid pc",
    -6546: "bad frame",
    -6547: "unsupported operation or bad value",
    -6548: "bad version of the unwind information",
    -6549: "no unwind information",
    -6550: "a signed return address, and this build cannot authenticate it",
}


class LlvmLibunwind:
    """The files of one run in LLVM libunwind."""

    def __init__(self, library: ctypes.CDLL, images: tuple[LoadedImage, ...]) -> None:
        self._library = library
        self._arch = images[0].image.arch
        self._now: Snapshot | None = None
        self._raised: BaseException | None = None
        self._reader = ReadMemory(self._read)  # C keeps a pointer to it
        described = (Tables * len(images))(*map(tables_of, images))
        kind = _KINDS[self._arch.name]
        assert kind is not None, self._arch
        number, self._count = kind
        self._session = library.referee_open(number, self._reader, described, len(images))
        self._constants = constants_of(images)
        library.referee_constants(self._session, self._constants, len(self._constants))

    def close(self) -> None:
        self._library.referee_close(self._session)

    def unwind(self, snapshot: Snapshot, *, exact: bool) -> Backtrace:
        """What the library says: ``unw_step`` until it returns 0 or an error."""
        self._now, self._raised = snapshot, None
        library, session = self._library, self._session
        values = (word * self._count)(*(snapshot.registers[self._arch.by_dwarf[i]] for i in range(self._count)))
        library.referee_start(session, values, self._count, snapshot.pc, exact)
        frames = [Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, found_by="registers")]
        stopped: UnwindError | None = None
        while stopped is None:
            status = library.referee_step(session)
            if status <= 0:
                stopped = self._error(status) if status else None
                break
            frames.append(self._frame())
            if len(frames) > MAX_FRAMES:
                stopped = NoProgress(f"more than {MAX_FRAMES} frames")
        if self._raised is not None:
            raise self._raised
        return Backtrace(tuple(frames), stopped)

    def frames(self, snapshot: Snapshot) -> tuple[int, ...]:
        """The pcs alone, asked for in the way that is right for an interrupted instruction."""
        return tuple(frame.pc for frame in self.unwind(snapshot, exact=True).frames)

    def _frame(self) -> Frame:
        """The cursor's registers. It says "signal frame" of the frame that a signal interrupted."""
        read, session, arch = self._library.referee_register, self._session, self._arch
        signalled = self._library.referee_is_signal_frame(session)
        pc = read(session, -1)  # UNW_REG_IP
        registers = {arch.by_dwarf[i]: read(session, i) for i in range(self._count)}
        kind = FrameKind.INTERRUPTED if signalled else FrameKind.CALLER
        return Frame(kind, pc, {**registers, arch.pc: pc}, found_by="llvm libunwind")

    def _error(self, status: int) -> UnwindError:
        if status == _UNREADABLE:
            return UnreadableMemory(self._library.referee_unreadable(self._session), self._arch.word)
        kind = NoUnwindInfo if status == -6549 else UnsupportedRule
        return kind(f"libunwind: unw_step: {_ERRORS.get(status, status)}")

    def _read(self, address: int, into: int, size: int) -> bool:
        assert self._now is not None
        try:
            ctypes.memmove(into, self._now.memory.read(address, size), size)
        except UnreadableMemory:
            return False
        except Exception as error:  # ctypes prints and swallows it: `unwind` raises it again
            self._raised = error
            return False
        return True


@lru_cache(maxsize=1)
def _session(images: tuple[LoadedImage, ...]) -> LlvmLibunwind:
    return LlvmLibunwind(load(), images)


def unwind_here(snapshot: Snapshot, *, exact: bool) -> Backtrace:
    """What LLVM libunwind says, in this process."""
    return _session(snapshot.images).unwind(snapshot, exact=exact)


def tool() -> str:
    """What a person calls the LLVM libunwind that is found: its name and version."""
    found = find()
    return f"LLVM libunwind {found.version}" if found else "ziglang is not installed"


def _asked(*, exact: bool) -> Callable[[Snapshot], Backtrace]:
    return with_every_register(forked(partial(unwind_here, exact=exact), prepare=built), _passed)


def _passed(arch: Arch) -> Iterable[str]:
    kind = _KINDS[arch.name]
    return () if kind is None else (arch.by_dwarf[number] for number in range(kind[1]))


_ARCHES = frozenset(name for name, kind in _KINDS.items() if kind)
NATURAL = Unwinder(
    name="llvm_libunwind",
    summary="LLVM libunwind as unw_step uses it on ELF files: .eh_frame_hdr's table, then .eh_frame",
    unwind=_asked(exact=False),
    arches=_ARCHES,
    needs=frozenset({".eh_frame_hdr"}),
    counted=True,
    tool=tool,
)
EXACT = Unwinder(
    name="llvm_libunwind_exact",
    summary="LLVM libunwind, with the row that begins at the interrupted pc",
    unwind=_asked(exact=True),
    arches=_ARCHES,
    needs=frozenset({".eh_frame_hdr"}),
    counted=True,
    tool=tool,
)
COMPACT = Unwinder(
    name="llvm_libunwind_compact",
    summary="LLVM libunwind as unw_step uses it on Mach-O files: compact unwind, or the FDE that it defers to",
    unwind=_asked(exact=False),
    arches=_ARCHES,
    needs=frozenset({"__TEXT,__unwind_info"}),
    counted=True,
    tool=tool,
)

REFEREE = Referee(
    name="llvm_libunwind",
    summary="LLVM libunwind: what C++, Rust and Swift programs unwind with; its headers, with a remote address space",
    package="pip install ziglang, whose wheel contains its sources",
    find=find,
    unwinders=(NATURAL, EXACT, COMPACT),
    findings=read_findings(__file__),
)
