"""LLVM libunwind over the memory of a snapshot: the library's own headers, compiled with an address space of ours.

The headers are those of a `ziglang` wheel, which has them from the LLVM release of its compiler; `address_space.cpp`
beside this file gives them the snapshot's memory, and everything else (which table, which row, what it means, where the
stack ends) is theirs. Two ways of asking:

* ``llvm_libunwind``: as ``unw_init_local`` and ``unw_step`` do, which take the first pc for a return address when they
  choose rows, and for itself when they look up the function. This is how the library is used.
* ``llvm_libunwind_exact``: the interrupted pc is handed over so that a row that begins there counts.

On Mach-O files there is only the first: ``llvm_libunwind_compact``. ``unw_step`` returns the same 0 at the end of the
stack and where no table covers the caller.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, partial
from pathlib import Path

from testbed.arch import Arch, PerArch
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, Unwinder
from testbed.image import LoadedImage
from testbed.referee.model import Find, Found, OtherVersions, Referee, called, read_findings
from testbed.referee.process.forked_library import ReadsSnapshot, Signatures, compiled, forked, typed
from testbed.referee.process.limits import own_packages, printed, with_every_register
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, UnreadableMemory, UnsupportedRule, UnwindError

# LLVM libunwind, compiled: the headers inside the `ziglang` wheel with the address space of `address_space.cpp`.

SOURCE = Path(__file__).with_name("address_space.cpp")
_FLAGS = ["-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-fno-exceptions", "-fno-rtti", "-w"]
word = ctypes.c_uint64
ReadMemory = ctypes.CFUNCTYPE(ctypes.c_bool, word, ctypes.c_void_p, word)


class ConstantBytes(ctypes.Structure):
    """Bytes that no snapshot changes."""

    _fields_ = (("start", word), ("size", word), ("data", ctypes.c_char_p))


class Tables(ctypes.Structure):
    """Where the tables of an image lie at run time."""

    _fields_ = tuple(
        (name, word)
        for name in (
            ["start", "end", "header", "eh_frame", "eh_frame_size", "index", "index_size", "compact", "compact_size"]
        )
    )


_SIGNATURES: Signatures = {
    "referee_open": (ctypes.c_void_p, (ctypes.c_int, ReadMemory, ctypes.POINTER(Tables), ctypes.c_size_t)),
    "referee_constants": (None, (ctypes.c_void_p, ctypes.POINTER(ConstantBytes), ctypes.c_size_t)),
    "referee_start": (None, (ctypes.c_void_p, ctypes.POINTER(word), ctypes.c_int, word, ctypes.c_int)),
    "referee_step": (ctypes.c_int, (ctypes.c_void_p,)),
    "referee_register": (word, (ctypes.c_void_p, ctypes.c_int)),
    "referee_is_signal_frame": (ctypes.c_int, (ctypes.c_void_p,)),
    "referee_unreadable": (word, (ctypes.c_void_p,)),
}


@cache
def find() -> Found | None:
    """The one in this environment's `ziglang`; None where there is none."""
    own = own_packages("ziglang")
    return in_packages(own) if own else None


@cache
def in_packages(packages: str) -> Found | None:
    """The one in a folder of packages; None where there is none. Its version is that of the compiler beside it."""
    wheel = Path(packages) / "ziglang"
    if not (wheel / "lib" / "libunwind" / "src" / "UnwindCursor.hpp").is_file():
        return None
    said = re.match(r"clang version ([\d.]+)", printed([str(wheel / "zig"), "cc", "--version"]))
    return Found(said[1], str(wheel / "lib" / "libunwind"), packages) if said else None


@cache
def built(found: Found) -> Path:
    """The compiled library, from the cache of built files. Raises BuildError where it does not compile."""
    readable = [Path(found.path).parents[1], *map(Path, (sys.prefix, sys.base_prefix))]  # the wheel, and its Python
    return compiled("llvm_libunwind", _command(found), SOURCE, found.version, readable=readable)


def _command(found: Found) -> list[str]:
    """The host's compiler, which takes a second; the wheel's own takes one minute, for the first program only."""
    host = next((path for name in ("g++", "clang++") if (path := shutil.which(name))), None)
    folder = Path(found.path)
    compiler = [host] if host else [str(folder.parents[1] / "zig"), "c++"]
    return [*compiler, *_FLAGS, f"-I{folder / 'src'}", f"-I{folder / 'include'}", str(SOURCE)]


def load(found: Found) -> ctypes.CDLL:
    """The compiled library with its functions' types. Raises BuildError."""
    return typed(ctypes.CDLL(str(built(found))), _SIGNATURES)


def tables_of(loaded: LoadedImage) -> Tables:
    """What ``dl_iterate_phdr`` or dyld would tell the library of a loaded file."""
    image = loaded.image
    code = [segment for segment in image.segments if segment.executable]
    start = min((segment.address for segment in code), default=0)
    end = max((segment.address + segment.size for segment in code), default=0)
    found = Tables(start=start + loaded.bias, end=end + loaded.bias, header=(image.base or start) + loaded.bias)
    places = {
        "compact": ("__TEXT,__unwind_info",),
        "index": (".eh_frame_hdr",),
        # On ELF it is the search table that leads to the entries.
        "eh_frame": ("__TEXT,__eh_frame", *([".eh_frame"] if ".eh_frame_hdr" in image.sections else [])),
    }
    for name, sections in places.items():
        section = next((image.sections[each] for each in sections if each in image.sections), None)
        if section is not None:
            setattr(found, name, section.address + loaded.bias)
            setattr(found, f"{name}_size", len(section.data))
    return found


def constants_of(images: tuple[LoadedImage, ...]) -> ctypes.Array[ConstantBytes]:
    """The read-only parts of some files: code and tables."""
    parts = [
        ConstantBytes(segment.address + loaded.bias, len(segment.data), segment.data)
        for loaded in images
        for segment in loaded.image.segments
        if not segment.writable
    ]
    return (ConstantBytes * len(parts))(*parts)


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


class LlvmLibunwind(ReadsSnapshot):
    """The files of one run in LLVM libunwind."""

    def __init__(self, library: ctypes.CDLL, images: tuple[LoadedImage, ...]) -> None:
        self._library = library
        self._arch = images[0].image.arch
        self._reader = ReadMemory(self._read)  # C keeps a pointer to it
        described = (Tables * len(images))(*map(tables_of, images))
        kind = _KINDS[self._arch.name]
        assert kind is not None, self._arch
        number, self._count = kind
        self._session = library.referee_open(number, self._reader, described, len(images))
        self._constants = constants_of(images)
        library.referee_constants(self._session, self._constants, len(self._constants))

    def unwind(self, snapshot: Snapshot, *, exact: bool) -> Backtrace:
        """What the library says: ``unw_step`` until it returns 0 or an error."""
        return self._asked(snapshot, self._callers(snapshot, exact), MAX_FRAMES)

    def _callers(self, snapshot: Snapshot, exact: bool) -> Iterator[Frame]:
        library, session = self._library, self._session
        values = (word * self._count)(*(snapshot.registers[self._arch.by_dwarf[i]] for i in range(self._count)))
        library.referee_start(session, values, self._count, snapshot.pc, exact)
        while (status := library.referee_step(session)) > 0:
            yield self._frame()
        if status:
            raise self._error(status)

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


@lru_cache(maxsize=1)
def _session(found: Found, images: tuple[LoadedImage, ...]) -> LlvmLibunwind:
    return LlvmLibunwind(load(found), images)


def unwind_here(find: Find, snapshot: Snapshot, *, exact: bool) -> Backtrace:
    """What LLVM libunwind says, in this process."""
    return _session(_there(find), snapshot.images).unwind(snapshot, exact=exact)


def _there(find: Find) -> Found:
    found = find()
    assert found is not None, "ziglang is not installed"
    return found


def _asked(find: Find, *, exact: bool) -> Callable[[Snapshot], Backtrace]:
    here = forked(partial(unwind_here, find, exact=exact), prepare=lambda: built(_there(find)))
    return with_every_register(here, _passed)


def _passed(arch: Arch) -> Iterable[str]:
    kind = _KINDS[arch.name]
    return () if kind is None else (arch.by_dwarf[number] for number in range(kind[1]))


_ARCHES = frozenset(name for name, kind in _KINDS.items() if kind)


def unwinders(find: Find) -> tuple[Unwinder, ...]:
    """The unwinders of the library that is found."""

    def unwinder(name: str, summary: str, table: str, *, exact: bool) -> Unwinder:
        return Unwinder(
            name=name,
            summary=summary,
            unwind=_asked(find, exact=exact),
            arches=_ARCHES,
            needs=frozenset({table}),
            counted=True,
            tool=called("LLVM libunwind", find),
        )

    return (
        unwinder(
            "llvm_libunwind",
            "LLVM libunwind as unw_step uses it on ELF files: .eh_frame_hdr's table, then .eh_frame",
            ".eh_frame_hdr",
            exact=False,
        ),
        unwinder(
            "llvm_libunwind_exact",
            "LLVM libunwind, with the row that begins at the interrupted pc",
            ".eh_frame_hdr",
            exact=True,
        ),
        unwinder(
            "llvm_libunwind_compact",
            "LLVM libunwind as unw_step uses it on Mach-O files: compact unwind, or the FDE that it defers to",
            "__TEXT,__unwind_info",
            exact=False,
        ),
    )


REFEREE = Referee(
    name="llvm_libunwind",
    summary="LLVM libunwind: what C++, Rust and Swift programs unwind with; its headers, with a remote address space",
    package="pip install ziglang, whose wheel contains its sources",
    find=find,
    unwinders=unwinders(find),
    findings=read_findings(__file__),
    others=OtherVersions(in_packages=in_packages, unwinders=unwinders),
)
