"""Real programs, files and snapshots that hostile input is made from: small ones of the corpus, built once."""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from testbed.build import Built
from testbed.runs.run import Run, run_built
from testbed.trace import Snapshot
from testbed.words.files import WorkFolder
from tests import corpus

# Small programs, by recipes that together give every kind of table, of frame and of debug information.
# An input of the corpus names a file by its place here: new ones come last.
_BUILT = (
    *(("leaf_call", arch, "keystone") for arch in ("x86_64", "arm64", "arm32")),
    *(("leaf_call", arch, "clang-asm") for arch in ("x86_64", "arm64", "arm32")),
    ("leaf_call", "arm32", "keystone-thumb"),
    *(("inlined_call", arch, "clang-O2") for arch in ("x86_64", "arm64", "arm32")),
    ("recursion", "x86_64", "clang-O2-sframe"),
    ("alloca_vla", "x86_64", "clang-O2-debug_frame"),
    ("recursion", "arm64", "clang-O2-fp-pac"),
    ("recursion", "arm64", "macho-O2"),
    ("alloca_vla", "arm64", "macho-O2-dwarf"),
    ("recursion", "x86_64", "macho-O0"),
    ("recursion", "arm32", "clang-thumb-O2"),
)


@cache
def built() -> tuple[Built, ...]:
    """The program files, each with what made it."""
    return tuple(corpus.built(name, arch, recipe) for name, arch, recipe in _BUILT)


@cache
def runs() -> tuple[Run, ...]:
    """A run of each."""
    return tuple(run_built(each) for each in built())


@cache
def snapshots() -> tuple[Snapshot, ...]:
    """Of each run one in the middle, and one near the end."""
    return tuple(run.trace.snapshot(len(run.trace) * part // 8) for run in runs() for part in (4, 7))


@cache
def elf_files() -> Sequence[bytes]:
    return tuple(each.image.content for each in built() if each.image.content[:4] == b"\x7fELF")


@cache
def macho_files() -> Sequence[bytes]:
    return tuple(each.image.content for each in built() if each.image.content[:4] != b"\x7fELF")


# A folder for files that are read by name, in memory where the machine has such a place; it goes with the process.


_IN_MEMORY = Path("/dev/shm")


@cache
def _root() -> tuple[WorkFolder, int]:
    """The folder of the process that asks first. One that is forked from it has a folder in there."""
    return WorkFolder("hostile", _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None), os.getpid()


@cache
def _own(pid: int) -> Path:
    root, maker = _root()
    own = root.path if pid == maker else root.path / str(pid)
    own.mkdir(exist_ok=True)
    return own


def folder() -> Path:
    """The folder of this process."""
    return _own(os.getpid())


def file_with(content: bytes, name: str = "hostile") -> Path:
    """A file with that content, in place of the one before it of that name."""
    path = folder() / name
    path.write_bytes(content)
    return path
