"""What of elfutils' libdw is called: its functions, callbacks and structures (``elfutils/libdwfl.h``)."""

from __future__ import annotations

import ctypes
import ctypes.util
from contextlib import suppress
from functools import cache
from pathlib import Path

from testbed.referee.process.packages import own_packages

pointer, address = ctypes.c_void_p, ctypes.c_uint64
NextThread = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer, ctypes.POINTER(pointer))
GetThread = ctypes.CFUNCTYPE(ctypes.c_bool, pointer, ctypes.c_int, pointer, ctypes.POINTER(pointer))
ReadWord = ctypes.CFUNCTYPE(ctypes.c_bool, pointer, address, ctypes.POINTER(address), pointer)
SetRegisters = ctypes.CFUNCTYPE(ctypes.c_bool, pointer, pointer)
Detach = ctypes.CFUNCTYPE(None, pointer, pointer)
OnFrame = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer)


class ProcessCallbacks(ctypes.Structure):
    """Dwfl_Callbacks."""

    _fields_ = (
        ("find_elf", pointer),
        ("find_debuginfo", pointer),
        ("section_address", pointer),
        ("debuginfo_path", pointer),
    )


class ThreadCallbacks(ctypes.Structure):
    """Dwfl_Thread_Callbacks."""

    _fields_ = (
        ("next_thread", NextThread),
        ("get_thread", GetThread),
        ("memory_read", ReadWord),
        ("set_initial_registers", SetRegisters),
        ("detach", Detach),
        ("thread_detach", Detach),
    )


_SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "dwfl_begin": (pointer, (pointer,)),
    "dwfl_end": (None, (pointer,)),
    "dwfl_report_begin": (None, (pointer,)),
    "dwfl_report_elf": (
        pointer,
        (pointer, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, address, ctypes.c_bool),
    ),
    "dwfl_report_end": (ctypes.c_int, (pointer, pointer, pointer)),
    "dwfl_module_getelf": (pointer, (pointer, ctypes.POINTER(address))),
    "dwfl_attach_state": (
        ctypes.c_bool,
        (pointer, pointer, ctypes.c_int, ctypes.POINTER(ThreadCallbacks), pointer),
    ),
    "dwfl_getthread_frames": (ctypes.c_int, (pointer, ctypes.c_int, OnFrame, pointer)),
    "dwfl_thread_state_registers": (ctypes.c_bool, (pointer, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(address))),
    "dwfl_thread_state_register_pc": (None, (pointer, address)),
    "dwfl_frame_pc": (ctypes.c_bool, (pointer, ctypes.POINTER(address), ctypes.POINTER(ctypes.c_bool))),
    "dwfl_errno": (ctypes.c_int, ()),
    "dwfl_version": (ctypes.c_char_p, (pointer,)),
    "dwfl_errmsg": (ctypes.c_char_p, (ctypes.c_int,)),
}


_SINCE_0_188: dict[str, tuple[object, tuple[object, ...]]] = {
    "dwfl_frame_reg": (ctypes.c_int, (pointer, ctypes.c_uint, ctypes.POINTER(address))),
}


WHEEL = "drgn"


def library_file() -> str | None:
    """The file: the one inside this environment's `drgn` wheel, or the system's."""
    own = own_packages(WHEEL)
    return (file_in(own) if own else None) or ctypes.util.find_library("dw")


def file_in(packages: str) -> str | None:
    """The file inside a `drgn` wheel, by the folder of packages that this is in."""
    return next(iter(sorted(map(str, Path(packages).glob("drgn.libs/libdw-*.so*")))), None)


def _loaded(path: str, tried: set[str]) -> ctypes.CDLL:
    """A library after those beside it that it needs: a wheel's are found by its Python module only. Raises OSError."""
    while True:
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            needed = Path(path).with_name(str(error).partition(":")[0])
            if str(needed) in tried or not needed.is_file() or "/" not in path:
                raise
            tried.add(str(needed))
            with suppress(OSError):  # then loading what needs it says why
                _loaded(str(needed), tried)


@cache
def load(name: str | None) -> ctypes.CDLL | None:
    """The library with its functions' types, or None where it is not installed."""
    if name is None:
        return None
    try:
        library = _loaded(name, set())
        for function, (result, arguments) in _SIGNATURES.items():
            found = getattr(library, function)
            found.restype, found.argtypes = result, list(arguments)
    except (OSError, AttributeError):  # it does not load here, or is too old to unwind
        return None
    for function, (result, arguments) in _SINCE_0_188.items():
        if found := getattr(library, function, None):
            found.restype, found.argtypes = result, list(arguments)
    return library
