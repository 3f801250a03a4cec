"""LLVM libunwind, compiled: the headers inside the `ziglang` wheel with the address space of `address_space.cpp`."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import sys
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from testbed.build import cache
from testbed.build.confined import run_confined
from testbed.image import LoadedImage
from testbed.referee.model import Found
from testbed.words.errors import BuildError
from testbed.words.temporary import WorkFolder

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


_SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "referee_open": (ctypes.c_void_p, (ctypes.c_int, ReadMemory, ctypes.POINTER(Tables), ctypes.c_size_t)),
    "referee_constants": (None, (ctypes.c_void_p, ctypes.POINTER(ConstantBytes), ctypes.c_size_t)),
    "referee_close": (None, (ctypes.c_void_p,)),
    "referee_start": (None, (ctypes.c_void_p, ctypes.POINTER(word), ctypes.c_int, word, ctypes.c_int)),
    "referee_step": (ctypes.c_int, (ctypes.c_void_p,)),
    "referee_register": (word, (ctypes.c_void_p, ctypes.c_int)),
    "referee_is_signal_frame": (ctypes.c_int, (ctypes.c_void_p,)),
    "referee_unreadable": (word, (ctypes.c_void_p,)),
}


def headers() -> Path | None:
    """The folder of the library's sources inside the `ziglang` wheel."""
    spec = find_spec("ziglang")
    folder = Path(spec.origin).parent / "lib" / "libunwind" if spec and spec.origin else None
    return folder if folder and (folder / "src" / "UnwindCursor.hpp").is_file() else None


@lru_cache(maxsize=1)
def find() -> Found | None:
    """It is there where its sources are: a compiler comes in the same wheel."""
    folder = headers()
    try:
        return Found(f"of ziglang {version('ziglang')}", str(folder)) if folder else None
    except PackageNotFoundError:
        return None


@lru_cache(maxsize=1)
def built() -> Path:
    """The compiled library, from the cache of built files. Raises BuildError where it does not compile."""
    folder = headers()
    assert folder is not None, "ziglang is not installed"
    command = _command(folder)
    parts = (SOURCE.read_text(encoding="utf-8"), *command, version("ziglang"))
    key = hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()[:24]
    return cache.kept(f"llvm_libunwind.{key}.so", partial(_compiled, command, folder))


def _command(folder: Path) -> list[str]:
    """The host's compiler, which takes a second; the wheel's own takes one minute, for the first program only."""
    host = next((path for name in ("g++", "clang++") if (path := shutil.which(name))), None)
    compiler = [host] if host else [sys.executable, "-m", "ziglang", "c++"]
    return [*compiler, *_FLAGS, f"-I{folder / 'src'}", f"-I{folder / 'include'}", str(SOURCE)]


def _compiled(command: list[str], sources: Path) -> bytes:
    with WorkFolder("library") as folder:
        result = folder / "library.so"
        zig = {name: str(folder / "zig") for name in ("ZIG_LOCAL_CACHE_DIR", "ZIG_GLOBAL_CACHE_DIR")}
        readable = [SOURCE, sources.parents[1], *map(Path, (sys.prefix, sys.base_prefix))]  # the wheel, and its Python
        done = run_confined([*command, "-o", str(result)], folder, zig, readable=readable, cpu_seconds=300)
        if done.returncode or not result.is_file():
            said = done.stderr.decode("utf-8", "replace")[-2000:]
            raise BuildError("LLVM libunwind does not compile", command=command, output=said)
        return result.read_bytes()


def load() -> ctypes.CDLL:
    """The compiled library with its functions' types. Raises BuildError."""
    library = ctypes.CDLL(str(built()))
    for function, (result, arguments) in _SIGNATURES.items():
        found = getattr(library, function)
        found.restype, found.argtypes = result, list(arguments)
    return library


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
