"""Machine code on disk: a folder per state of the native sources, a file per function and types of its arguments.

    <cache>/native/<hash of sources and compilers>/<function>.<hash of the types>.code
    <cache>/native/<hash of sources and compilers>/work.<function>.code

What a file of the first kind holds `testbed.native.compiler` has pickled; one of the second says how much Python went
through in its place. Code that is not there only costs the time to compile. A release brings files of the first kind
along (`.ci/kernels`), made for any processor of their platform: they lie in ``installed/``, and are looked for first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from testbed.store import KEY_LENGTH, KEY_PATTERN, KeptFiles

VARIABLE = "TESTBED_NATIVE_CACHE"
INSTALLED = Path(__file__).with_name("installed")
CODE = KeptFiles(room="native", patterns=(f"{KEY_PATTERN}/*.code",), variable=VARIABLE)
_MOST = 4096  # functions that stay when there are new sources: those of the last versions that were used


def name_of(function: Callable[..., Any]) -> str:
    """A function's name in the names of files."""
    return f"{function.__module__}.{function.__qualname__}"


def file_of(sources: str, function: str, types: str) -> str:
    """The name of the file for code, given a name and two hashes."""
    return f"{sources[:KEY_LENGTH]}/{function}.{types[:KEY_LENGTH]}.code"


def kept(file: str) -> Iterator[bytes]:
    """What the files of a name hold, as far as they are there: first the one that a release brought along."""
    with suppress(OSError):
        yield (INSTALLED / file).read_bytes().partition(b"\n")[2]
    if (content := CODE.get(file)) is not None:
        yield content


def keep(file: str, content: bytes) -> None:
    """Keep something in a file, if that can be written."""
    are_new = not CODE.path(file).parent.is_dir()
    CODE.keep(file, content)
    if are_new:
        CODE.forget_oldest(_MOST)


def spent(sources: str, function: str, much: int) -> int:
    """What was gone through as Python in all, by all processes, with so much more."""
    file = f"{sources[:KEY_LENGTH]}/work.{function}.code"
    in_all = int(CODE.get(file) or 0) + much
    CODE.keep(file, b"%d" % in_all)
    return in_all


def is_kept(sources: str, function: str) -> bool:
    """True where something is kept of one function for these sources, for whatever types."""
    return any(any(folder.glob(file_of(sources, function, "*"))) for folder in (INSTALLED, CODE.folder))
