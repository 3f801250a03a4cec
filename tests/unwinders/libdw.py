"""elfutils' libdw as a second opinion: it unwinds a snapshot through callbacks, with no process and no core file.

Only what these tests need of ``elfutils/libdwfl.h``: one module, one thread, memory and registers from a Snapshot.
libdw reads `.eh_frame` and `.debug_frame` and searches for debugging information nowhere else here.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from pathlib import Path

from testbed.arch import Arch
from testbed.errors import UnreadableMemory
from testbed.trace import Snapshot

MAX_FRAMES = 64
_THREAD = 1
_REGISTERS = {"x86_64": 17, "arm64": 32, "arm32": 16}  # DWARF numbers 0 to n - 1 are what libdw can be given
_ABORT, _GO_ON = 1, 0  # DWARF_CB_ABORT, DWARF_CB_OK

_pointer, _address = ctypes.c_void_p, ctypes.c_uint64
_NextThread = ctypes.CFUNCTYPE(ctypes.c_int, _pointer, _pointer, ctypes.POINTER(_pointer))
_GetThread = ctypes.CFUNCTYPE(ctypes.c_bool, _pointer, ctypes.c_int, _pointer, ctypes.POINTER(_pointer))
_ReadWord = ctypes.CFUNCTYPE(ctypes.c_bool, _pointer, _address, ctypes.POINTER(_address), _pointer)
_SetRegisters = ctypes.CFUNCTYPE(ctypes.c_bool, _pointer, _pointer)
_Detach = ctypes.CFUNCTYPE(None, _pointer, _pointer)
_Frame = ctypes.CFUNCTYPE(ctypes.c_int, _pointer, _pointer)


class _ProcessCallbacks(ctypes.Structure):
    """Dwfl_Callbacks."""

    _fields_ = (
        ("find_elf", _pointer),
        ("find_debuginfo", _pointer),
        ("section_address", _pointer),
        ("debuginfo_path", _pointer),
    )


class _ThreadCallbacks(ctypes.Structure):
    """Dwfl_Thread_Callbacks."""

    _fields_ = (
        ("next_thread", _NextThread),
        ("get_thread", _GetThread),
        ("memory_read", _ReadWord),
        ("set_initial_registers", _SetRegisters),
        ("detach", _Detach),
        ("thread_detach", _Detach),
    )


_SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "dwfl_begin": (_pointer, (_pointer,)),
    "dwfl_end": (None, (_pointer,)),
    "dwfl_report_begin": (None, (_pointer,)),
    "dwfl_report_elf": (
        _pointer,
        (_pointer, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, _address, ctypes.c_bool),
    ),
    "dwfl_report_end": (ctypes.c_int, (_pointer, _pointer, _pointer)),
    "dwfl_module_getelf": (_pointer, (_pointer, ctypes.POINTER(_address))),
    "dwfl_attach_state": (
        ctypes.c_bool,
        (_pointer, _pointer, ctypes.c_int, ctypes.POINTER(_ThreadCallbacks), _pointer),
    ),
    "dwfl_getthread_frames": (ctypes.c_int, (_pointer, ctypes.c_int, _Frame, _pointer)),
    "dwfl_thread_state_registers": (ctypes.c_bool, (_pointer, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(_address))),
    "dwfl_thread_state_register_pc": (None, (_pointer, _address)),
    "dwfl_frame_pc": (ctypes.c_bool, (_pointer, ctypes.POINTER(_address), ctypes.POINTER(ctypes.c_bool))),
    "dwfl_errno": (ctypes.c_int, ()),
    "dwfl_errmsg": (ctypes.c_char_p, (ctypes.c_int,)),
}


def load() -> ctypes.CDLL | None:
    """The library with its functions' types, or None where it is not installed."""
    name = ctypes.util.find_library("dw")
    if name is None:
        return None
    library = ctypes.CDLL(name)
    for function, (result, arguments) in _SIGNATURES.items():
        found = getattr(library, function)
        found.restype, found.argtypes = result, list(arguments)
    return library


class LibDw:
    """One program file in libdw. ``frames(snapshot)`` are the raw return addresses, the interrupted pc first."""

    def __init__(self, library: ctypes.CDLL, path: Path, arch: Arch) -> None:
        self._library, self._arch = library, arch
        self._now: Snapshot | None = None
        self._found: list[int] = []
        self._raised: BaseException | None = None
        # What C keeps pointers to must live as long as this object.
        self._process = _ProcessCallbacks(
            find_elf=ctypes.cast(library.dwfl_build_id_find_elf, _pointer),
            find_debuginfo=ctypes.cast(library.dwfl_standard_find_debuginfo, _pointer),
        )
        self._callbacks = _ThreadCallbacks(
            _NextThread(self._guarded(self._next_thread, -1)),
            _GetThread(lambda process, thread, argument, result: True),
            _ReadWord(self._guarded(self._read_word, False)),
            _SetRegisters(self._guarded(self._set_registers, False)),
            _Detach(lambda process, argument: None),
            _Detach(lambda thread, argument: None),
        )
        self._on_frame = _Frame(self._guarded(self._frame, -1))
        self._session = library.dwfl_begin(ctypes.byref(self._process))
        library.dwfl_report_begin(self._session)
        name = str(path).encode()
        module = library.dwfl_report_elf(self._session, name, name, -1, 0, False)
        library.dwfl_report_end(self._session, None, None)
        if not module:
            raise RuntimeError(f"libdw cannot read {path}: {self._error()}")
        elf = library.dwfl_module_getelf(module, ctypes.byref(_address()))
        if not library.dwfl_attach_state(self._session, elf, _THREAD, ctypes.byref(self._callbacks), None):
            raise RuntimeError(f"libdw cannot attach to {path}: {self._error()}")

    def close(self) -> None:
        self._library.dwfl_end(self._session)

    def frames(self, snapshot: Snapshot) -> tuple[int, ...]:
        """The pcs that libdw finds, as it finds them (a Thumb return address keeps its low bit)."""
        self._now, self._found, self._raised = snapshot, [], None
        self._library.dwfl_getthread_frames(self._session, _THREAD, self._on_frame, None)
        if self._raised is not None:
            raise self._raised
        return tuple(self._found)

    def _error(self) -> str:
        return str((self._library.dwfl_errmsg(-1) or b"no message").decode())

    def _guarded(self, callback: Callable[..., int], failure: int) -> Callable[..., int]:
        """ctypes prints and swallows what a callback raises: keep it for `frames` to raise again."""

        def call(*arguments: object) -> int:
            try:
                return callback(*arguments)
            except Exception as error:
                self._raised = error
                return failure

        return call

    def _next_thread(self, process: int, argument: int, state: ctypes._Pointer[ctypes.c_void_p]) -> int:
        if state[0]:
            return 0
        state[0] = 1
        return _THREAD

    def _read_word(self, process: int, address: int, result: ctypes._Pointer[ctypes.c_uint64], argument: int) -> bool:
        assert self._now is not None
        try:
            result[0] = self._now.memory.unsigned(address, self._arch.word)
        except UnreadableMemory:
            return False
        return True

    def _set_registers(self, thread: int, argument: int) -> bool:
        assert self._now is not None
        count = _REGISTERS[self._arch.name]
        values = (ctypes.c_uint64 * count)(*(self._now.registers[self._arch.by_dwarf[i]] for i in range(count)))
        self._library.dwfl_thread_state_registers(thread, 0, count, values)
        self._library.dwfl_thread_state_register_pc(thread, self._now.pc)
        return True

    def _frame(self, state: int, argument: int) -> int:
        pc, interrupted = ctypes.c_uint64(), ctypes.c_bool()
        if not self._library.dwfl_frame_pc(state, ctypes.byref(pc), ctypes.byref(interrupted)):
            return -1
        self._found.append(pc.value)
        return _GO_ON if len(self._found) < MAX_FRAMES else _ABORT
