"""nongnu libunwind (x86_64): it unwinds a snapshot through accessors, as it would another process.

What is needed of ``libunwind.h``: registers and memory come from a Snapshot; procedure information comes from the
binary search table of `.eh_frame_hdr`, which the library searches by itself. A row is remembered per pc
(UNW_CACHE_GLOBAL), as a profiler that uses it would have it. Where the table has nothing, ``unw_step`` guesses: a
frame pointer that looks like one, or the return address on top of the stack.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from testbed.contract.unwinder import Backtrace, Frame, FrameKind, Unwinder
from testbed.image import LoadedImage, image_covering
from testbed.referee.model import Found, Referee, called, read_findings
from testbed.referee.process.forked_library import ReadsSnapshot, Signatures, forked, typed
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, UnknownRegister, UnreadableMemory, UnsupportedRule

# What of nongnu libunwind is called: its functions, accessors and structures (``libunwind.h``).

ARCH = "x86_64"  # Debian's libraries for other architectures are for cross builds
PREFIX = "_Ux86_64_"  # the library's names for remote unwinding carry the architecture

_int, pointer, word = ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64
words = ctypes.POINTER(word)
FindInfo = ctypes.CFUNCTYPE(_int, pointer, word, pointer, _int, pointer)
PutInfo = ctypes.CFUNCTYPE(None, pointer, pointer, pointer)
ListAddress = ctypes.CFUNCTYPE(_int, pointer, words, pointer)
Access = ctypes.CFUNCTYPE(_int, pointer, word, words, _int, pointer)
AccessRegister = ctypes.CFUNCTYPE(_int, pointer, _int, words, _int, pointer)
AccessFloat = ctypes.CFUNCTYPE(_int, pointer, _int, pointer, _int, pointer)
Resume = ctypes.CFUNCTYPE(_int, pointer, pointer, pointer)
Name = ctypes.CFUNCTYPE(_int, pointer, word, pointer, ctypes.c_size_t, words, pointer)


class Accessors(ctypes.Structure):
    """unw_accessors_t, with room for what later versions add, which may be NULL: the library copies all of its own."""

    _fields_ = (
        ("find_proc_info", FindInfo),
        ("put_unwind_info", PutInfo),
        ("get_dyn_info_list_addr", ListAddress),
        ("access_mem", Access),
        ("access_reg", AccessRegister),
        ("access_fpreg", AccessFloat),
        ("resume", Resume),
        ("get_proc_name", Name),
        ("more", pointer * 8),
    )


_SPAN = (
    ("next", pointer),
    ("prev", pointer),
    ("start_ip", word),
    ("end_ip", word),
    ("gp", word),
    ("format", ctypes.c_int32),
    ("pad", ctypes.c_int32),
)
_PLACE = (
    ("name", pointer),
    ("segment_base", word),
    ("table_length", word),
    ("table", word),
    ("more", word * 8),
)


class TableInfo(ctypes.Structure):
    """unw_dyn_info_t with its member for remote tables, and room for what later versions add."""

    _fields_ = (*_SPAN, *_PLACE)


class TableInfoBefore82(ctypes.Structure):
    """The same of an interface before 8.2: it has a word more."""

    _fields_ = (*_SPAN, ("load_offset", word), *_PLACE)


def table_info_of(version: str) -> type[TableInfo | TableInfoBefore82]:
    """Which of them a version has, as ``find`` tells it; of one that is not known, the present one."""
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    return TableInfoBefore82 if numbers and numbers < [8, 2] else TableInfo


SIGNATURES: Signatures = {
    "create_addr_space": (pointer, (pointer, _int)),
    "set_caching_policy": (_int, (pointer, _int)),
    "init_remote": (_int, (pointer, pointer, pointer)),
    "step": (_int, (pointer,)),
    "is_signal_frame": (_int, (pointer,)),
    "get_reg": (_int, (pointer, _int, words)),
    "dwarf_search_unwind_table": (_int, (pointer, word, pointer, pointer, _int, pointer)),
}


@lru_cache(maxsize=1)
def load() -> ctypes.CDLL | None:
    """The library with its functions' types, or None where it is not installed."""
    name = ctypes.util.find_library("unwind-x86_64")
    if name is None:
        return None
    try:
        return typed(ctypes.CDLL(name), SIGNATURES, PREFIX)
    except (OSError, AttributeError):
        return None


@lru_cache(maxsize=1)
def find() -> Found | None:
    """The library has no function that says its version: its file's name has that of its interface."""
    library = load()
    if library is None:
        return None
    path = _mapped_file(str(library._name)) or str(library._name)
    version = re.search(r"\.so\.([\d.]+)$", path)
    return Found(f"interface {version[1]}" if version else "of unknown version", path)


def _mapped_file(name: str) -> str | None:
    """The file behind a loaded library, from this process's map of memory, through symbolic links."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    mapped = (line.split(maxsplit=5)[5] for line in lines if len(line.split(maxsplit=5)) == 6)
    return next((str(Path(path).resolve()) for path in mapped if Path(path).name.startswith(name)), None)


MAX_FRAMES = 256
_CURSOR_WORDS = 127  # sizeof(unw_cursor_t), in words
_RIP = 16  # UNW_X86_64_RIP; the registers below it are in DWARF's order
_CACHE_GLOBAL = 1  # UNW_CACHE_GLOBAL
_REMOTE_TABLE = 2  # UNW_INFO_FORMAT_REMOTE_TABLE
_HEADER = 12  # bytes of .eh_frame_hdr before its table, with the encodings that every linker writes
_NO_INFO, _BAD_REGISTER, _INVALID = -10, -3, -8  # -UNW_ENOINFO, -UNW_EBADREG, -UNW_EINVAL
_ERRORS = {  # unw_error_t, negated: what it says, in our words
    -1: "unspecified error",
    -2: "out of memory",
    -3: "bad register",
    -4: "register cannot be written",
    -5: "stopped",
    -6: "invalid pc",
    -7: "bad frame",
    -8: "unsupported operation or bad value",
    -9: "bad version of the unwind information",
    -10: "no unwind information",
}


class LibUnwind(ReadsSnapshot):
    """The files of one run in libunwind."""

    def __init__(self, library: ctypes.CDLL, images: tuple[LoadedImage, ...]) -> None:
        self._call = {name: getattr(library, PREFIX + name) for name in SIGNATURES}
        self._images = images
        self._unavailable: UnreadableMemory | UnknownRegister | None = None
        self._arch = images[0].image.arch
        self._registers = [self._arch.by_dwarf[i] for i in range(_RIP + 1)]
        found = find()
        kind = table_info_of(found.version if found else "")
        self._infos = {loaded: info for loaded in images if (info := _table_info(loaded, kind))}
        # What C keeps pointers to must live as long as this object.
        self._accessors = Accessors(
            FindInfo(self._find_info),
            PutInfo(lambda space, info, argument: None),
            ListAddress(lambda space, result, argument: _NO_INFO),
            Access(self._access_memory),
            AccessRegister(self._access_register),
            AccessFloat(lambda space, register, value, write, argument: _BAD_REGISTER),
            Resume(lambda space, cursor, argument: _INVALID),
            Name(lambda space, address, text, size, offset, argument: _NO_INFO),
        )
        self._space = self._call["create_addr_space"](ctypes.byref(self._accessors), 0)
        self._call["set_caching_policy"](self._space, _CACHE_GLOBAL)
        self._cursor = (word * _CURSOR_WORDS)()

    def unwind(self, snapshot: Snapshot) -> Backtrace:
        """What libunwind says. It ends where ``unw_step`` returns 0, or at a return address of zero."""
        self._unavailable = None
        return self._asked(snapshot, self._callers(), MAX_FRAMES)

    def _callers(self) -> Iterator[Frame]:
        cursor = self._cursor
        if status := self._call["init_remote"](cursor, self._space, None):
            raise UnsupportedRule(f"libunwind: unw_init_remote: {_ERRORS.get(status, status)}")
        while (status := self._call["step"](cursor)) > 0:
            registers = self._recovered()
            if not registers.get(self._arch.pc):
                return
            signalled = self._call["is_signal_frame"](cursor) > 0  # asked of the frame that was interrupted
            kind = FrameKind.INTERRUPTED if signalled else FrameKind.CALLER
            yield Frame(kind, registers[self._arch.pc], registers, found_by="libunwind")
        if status:
            raise self._unavailable or NoUnwindInfo(f"libunwind: unw_step: {_ERRORS.get(status, status)}")

    def _recovered(self) -> dict[str, int]:
        value = word()
        get, cursor = self._call["get_reg"], self._cursor
        return {name: value.value for i, name in enumerate(self._registers) if get(cursor, i, ctypes.byref(value)) == 0}

    def _find_info(self, space: int, pc: int, info: int, need: int, argument: int) -> int:
        loaded = image_covering(self._images, pc)
        table = self._infos.get(loaded) if loaded else None
        if table is None:
            return _NO_INFO
        return int(self._call["dwarf_search_unwind_table"](space, pc, ctypes.byref(table), info, need, argument))

    def _access_memory(
        self, space: int, address: int, value: ctypes._Pointer[ctypes.c_uint64], write: int, argument: int
    ) -> int:
        assert self._now is not None
        try:
            value[0] = self._now.memory.unsigned(address, 8)
        except UnreadableMemory as unreadable:
            self._unavailable = unreadable
            return _INVALID
        except Exception as error:  # ctypes prints and swallows it: `unwind` raises it again
            self._raised = error
            return _INVALID
        return 0

    def _access_register(
        self, space: int, number: int, value: ctypes._Pointer[ctypes.c_uint64], write: int, argument: int
    ) -> int:
        assert self._now is not None
        if not 0 <= number < len(self._registers):
            return _BAD_REGISTER
        name = self._registers[number]
        if name not in self._now.registers:
            self._unavailable = UnknownRegister(name)
            return _BAD_REGISTER
        value[0] = self._now.registers[name]
        return 0


def _table_info(loaded: LoadedImage, kind: type[TableInfo | TableInfoBefore82]) -> TableInfo | TableInfoBefore82 | None:
    """Where the search table of an image lies in memory: .eh_frame_hdr with the encodings that every linker writes."""
    header = loaded.image.sections.get(".eh_frame_hdr")
    if header is None or len(header.data) < _HEADER:
        return None
    start = header.address + loaded.bias
    return kind(
        start_ip=0,
        end_ip=2**63,
        format=_REMOTE_TABLE,
        segment_base=start,
        table_length=int.from_bytes(header.data[8:_HEADER], "little"),  # entries of two 32-bit offsets: one word each
        table=start + _HEADER,
    )


@lru_cache(maxsize=1)
def _session(images: tuple[LoadedImage, ...]) -> LibUnwind:
    library = load()
    assert library is not None, "libunwind is not installed"
    return LibUnwind(library, images)


def unwind_here(snapshot: Snapshot) -> Backtrace:
    """What libunwind says, in this process."""
    return _session(snapshot.images).unwind(snapshot)


LIBUNWIND = Unwinder(
    name="libunwind",
    summary="nongnu libunwind: .eh_frame_hdr's table, then guesses from the frame pointer",
    unwind=forked(unwind_here),
    arches=frozenset({ARCH}),
    needs=frozenset({".eh_frame_hdr"}),
    counted=True,
    tool=called("libunwind", find),
)

REFEREE = Referee(
    name="libunwind",
    summary="nongnu libunwind, a library for profilers and crash reporters, through its accessors",
    package="apt-get install libunwind8",
    find=find,
    unwinders=(LIBUNWIND,),
    findings=read_findings(__file__),
)
