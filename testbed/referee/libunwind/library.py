"""What of nongnu libunwind is called: its functions, accessors and structures (``libunwind.h``)."""

from __future__ import annotations

import ctypes
import ctypes.util
import re
from functools import lru_cache
from pathlib import Path

from testbed.referee.model import Found

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
    """unw_accessors_t."""

    _fields_ = (
        ("find_proc_info", FindInfo),
        ("put_unwind_info", PutInfo),
        ("get_dyn_info_list_addr", ListAddress),
        ("access_mem", Access),
        ("access_reg", AccessRegister),
        ("access_fpreg", AccessFloat),
        ("resume", Resume),
        ("get_proc_name", Name),
    )


class TableInfo(ctypes.Structure):
    """unw_dyn_info_t with its member for remote tables, and room for what later versions add."""

    _fields_ = (
        ("next", pointer),
        ("prev", pointer),
        ("start_ip", word),
        ("end_ip", word),
        ("gp", word),
        ("format", ctypes.c_int32),
        ("pad", ctypes.c_int32),
        ("load_offset", word),
        ("name", pointer),
        ("segment_base", word),
        ("table_length", word),
        ("table", word),
        ("more", word * 8),
    )


SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "create_addr_space": (pointer, (pointer, _int)),
    "destroy_addr_space": (None, (pointer,)),
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
        library = ctypes.CDLL(name)
        for function, (result, arguments) in SIGNATURES.items():
            found = getattr(library, PREFIX + function)
            found.restype, found.argtypes = result, list(arguments)
    except (OSError, AttributeError):
        return None
    return library


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
