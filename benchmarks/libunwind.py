"""nongnu libunwind (x86_64) through ctypes: it unwinds a snapshot through accessors, as it would another process.

Only what the benchmark needs of ``libunwind.h``: registers and memory come from a Snapshot; procedure information
comes from the binary search table of `.eh_frame_hdr`, which the library searches by itself. A row is remembered per
pc (UNW_CACHE_GLOBAL), as a profiler that uses it would have it.
"""

from __future__ import annotations

import ctypes
import ctypes.util

from testbed.errors import UnreadableMemory
from testbed.image import Image
from testbed.trace import Snapshot

ARCH = "x86_64"  # Debian's libraries for other architectures are for cross builds
MAX_FRAMES = 64
_PREFIX = "_Ux86_64_"  # the library's names for remote unwinding carry the architecture
_CURSOR_WORDS = 127  # sizeof(unw_cursor_t), in words
_RIP = 16  # UNW_X86_64_RIP; the registers below it are in DWARF's order
_CACHE_GLOBAL = 1  # UNW_CACHE_GLOBAL
_REMOTE_TABLE = 2  # UNW_INFO_FORMAT_REMOTE_TABLE
_HEADER = 12  # bytes of .eh_frame_hdr before its table, with the encodings that every linker writes
_NO_INFO, _BAD_REGISTER, _INVALID = -10, -3, -8  # -UNW_ENOINFO, -UNW_EBADREG, -UNW_EINVAL

_int, _pointer, _word = ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64
_words = ctypes.POINTER(_word)
_FindInfo = ctypes.CFUNCTYPE(_int, _pointer, _word, _pointer, _int, _pointer)
_PutInfo = ctypes.CFUNCTYPE(None, _pointer, _pointer, _pointer)
_ListAddress = ctypes.CFUNCTYPE(_int, _pointer, _words, _pointer)
_Access = ctypes.CFUNCTYPE(_int, _pointer, _word, _words, _int, _pointer)
_AccessRegister = ctypes.CFUNCTYPE(_int, _pointer, _int, _words, _int, _pointer)
_AccessFloat = ctypes.CFUNCTYPE(_int, _pointer, _int, _pointer, _int, _pointer)
_Resume = ctypes.CFUNCTYPE(_int, _pointer, _pointer, _pointer)
_Name = ctypes.CFUNCTYPE(_int, _pointer, _word, _pointer, ctypes.c_size_t, _words, _pointer)


class _Accessors(ctypes.Structure):
    """unw_accessors_t."""

    _fields_ = (
        ("find_proc_info", _FindInfo),
        ("put_unwind_info", _PutInfo),
        ("get_dyn_info_list_addr", _ListAddress),
        ("access_mem", _Access),
        ("access_reg", _AccessRegister),
        ("access_fpreg", _AccessFloat),
        ("resume", _Resume),
        ("get_proc_name", _Name),
    )


class _TableInfo(ctypes.Structure):
    """unw_dyn_info_t with its member for remote tables, and room for what later versions add."""

    _fields_ = (
        ("next", _pointer),
        ("prev", _pointer),
        ("start_ip", _word),
        ("end_ip", _word),
        ("gp", _word),
        ("format", ctypes.c_int32),
        ("pad", ctypes.c_int32),
        ("load_offset", _word),
        ("name", _pointer),
        ("segment_base", _word),
        ("table_length", _word),
        ("table", _word),
        ("more", _word * 8),
    )


_SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "create_addr_space": (_pointer, (_pointer, _int)),
    "destroy_addr_space": (None, (_pointer,)),
    "set_caching_policy": (_int, (_pointer, _int)),
    "init_remote": (_int, (_pointer, _pointer, _pointer)),
    "step": (_int, (_pointer,)),
    "get_reg": (_int, (_pointer, _int, _words)),
    "dwarf_search_unwind_table": (_int, (_pointer, _word, _pointer, _pointer, _int, _pointer)),
}


def load() -> ctypes.CDLL | None:
    """The library with its functions' types, or None where it is not installed."""
    name = ctypes.util.find_library("unwind-x86_64")
    if name is None:
        return None
    library = ctypes.CDLL(name)
    for function, (result, arguments) in _SIGNATURES.items():
        found = getattr(library, _PREFIX + function)
        found.restype, found.argtypes = result, list(arguments)
    return library


class LibUnwind:
    """One program file in libunwind. ``frames(snapshot)`` are the raw return addresses, the interrupted pc first."""

    def __init__(self, library: ctypes.CDLL, image: Image) -> None:
        self._call = {name: getattr(library, _PREFIX + name) for name in _SIGNATURES}
        self._now: Snapshot | None = None
        self._raised: BaseException | None = None
        self._registers = [image.arch.by_dwarf[i] for i in range(_RIP + 1)]
        header = image.sections[".eh_frame_hdr"]
        entries = int.from_bytes(header.data[8:_HEADER], "little")  # of two 32-bit offsets: one word each
        self._info = _TableInfo(
            start_ip=0,
            end_ip=2**63,
            format=_REMOTE_TABLE,
            segment_base=header.address,
            table_length=entries,
            table=header.address + _HEADER,
        )
        # What C keeps pointers to must live as long as this object.
        self._accessors = _Accessors(
            _FindInfo(self._find_info),
            _PutInfo(lambda space, info, argument: None),
            _ListAddress(lambda space, result, argument: _NO_INFO),
            _Access(self._access_memory),
            _AccessRegister(self._access_register),
            _AccessFloat(lambda space, register, value, write, argument: _BAD_REGISTER),
            _Resume(lambda space, cursor, argument: _INVALID),
            _Name(lambda space, address, text, size, offset, argument: _NO_INFO),
        )
        self._space = self._call["create_addr_space"](ctypes.byref(self._accessors), 0)
        self._call["set_caching_policy"](self._space, _CACHE_GLOBAL)
        self._cursor = (_word * _CURSOR_WORDS)()

    def close(self) -> None:
        self._call["destroy_addr_space"](self._space)

    def frames(self, snapshot: Snapshot) -> tuple[int, ...]:
        """The pcs that libunwind finds; it ends at a return address of zero, or where it finds no more."""
        self._now, self._raised = snapshot, None
        step, get, cursor = self._call["step"], self._call["get_reg"], self._cursor
        found: list[int] = []
        pc = _word()
        self._call["init_remote"](cursor, self._space, None)
        while len(found) < MAX_FRAMES:
            get(cursor, _RIP, ctypes.byref(pc))
            if pc.value == 0:
                break
            found.append(pc.value)
            if step(cursor) <= 0:
                break
        if self._raised is not None:
            raise self._raised
        return tuple(found)

    def _find_info(self, space: int, pc: int, info: int, need: int, argument: int) -> int:
        table = ctypes.byref(self._info)
        return int(self._call["dwarf_search_unwind_table"](space, pc, table, info, need, argument))

    def _access_memory(
        self, space: int, address: int, value: ctypes._Pointer[ctypes.c_uint64], write: int, argument: int
    ) -> int:
        assert self._now is not None
        try:
            value[0] = self._now.memory.unsigned(address, 8)
        except UnreadableMemory:
            return _INVALID
        except Exception as error:  # ctypes prints and swallows it: `frames` raises it again
            self._raised = error
            return _INVALID
        return 0

    def _access_register(
        self, space: int, number: int, value: ctypes._Pointer[ctypes.c_uint64], write: int, argument: int
    ) -> int:
        assert self._now is not None
        if not 0 <= number < len(self._registers):
            return _BAD_REGISTER
        value[0] = self._now.registers[self._registers[number]]
        return 0
