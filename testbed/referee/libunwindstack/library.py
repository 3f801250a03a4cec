"""libunwindstack, callable: the library of Debian's package, with `unwinder.cpp` compiled against it."""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
from functools import lru_cache, partial
from pathlib import Path

from testbed.build import cache
from testbed.build.confined import run_confined
from testbed.referee.model import Found
from testbed.words.errors import BuildError
from testbed.words.files import WorkFolder

SOURCE = Path(__file__).with_name("unwinder.cpp")
PACKAGE = "android-libbacktrace"
_NAME = "libbacktrace.so.0"
_LAID_OUT = re.compile(r"1:29\.")  # the versions whose classes are laid out as `unwinder.cpp` says
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-w")
_EXPORTS = "{ global: referee_*; local: *; };"  # nothing of ours takes the place of the library's own functions
_TIMEOUT = 120

word = ctypes.c_uint64
ReadMemory = ctypes.CFUNCTYPE(ctypes.c_bool, word, ctypes.c_void_p, word)


class ToldFrame(ctypes.Structure):
    """``exact``: the library took the pc for an instruction; else it looked the frame up before its pc."""

    _fields_ = (("pc", word), ("sp", word), ("exact", word))


_SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
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
    listed, version = (_printed("dpkg-query", *asked, PACKAGE) for asked in (("-L",), ("-W", "-f", "${Version}")))
    path = next((line for line in listed.splitlines() if line.endswith(f"/{_NAME}")), None)
    return Found(version, path) if path and _LAID_OUT.match(version) else None


def _printed(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


@lru_cache(maxsize=1)
def built() -> Path:
    """The compiled program part, from the cache of built files. Raises BuildError where it does not compile."""
    found = find()
    assert found is not None, f"{PACKAGE} is not installed"
    folder = Path(found.path).parent
    command = ["g++", *_FLAGS, str(SOURCE), found.path, f"-Wl,-rpath,{folder}", "-Wl,-z,defs"]
    parts = (SOURCE.read_text(encoding="utf-8"), *command, _EXPORTS, found.version)
    key = hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()[:24]
    return cache.kept(f"libunwindstack.{key}.so", partial(_compiled, command))


def _compiled(command: list[str]) -> bytes:
    with WorkFolder("library") as folder:
        result, exports = folder / "library.so", folder / "exports"
        exports.write_text(_EXPORTS, encoding="ascii")
        whole = [*command, f"-Wl,--version-script={exports}", "-o", str(result)]
        done = run_confined(whole, folder, readable=[SOURCE])
        if done.returncode or not result.is_file():
            said = done.stderr.decode("utf-8", "replace")[-2000:]
            raise BuildError("libunwindstack's caller does not compile", command=whole, output=said)
        return result.read_bytes()


def load() -> ctypes.CDLL:
    """The compiled part with its functions' types. Raises BuildError."""
    library = ctypes.CDLL(str(built()))
    for function, (result, arguments) in _SIGNATURES.items():
        found = getattr(library, function)
        found.restype, found.argtypes = result, list(arguments)
    return library
