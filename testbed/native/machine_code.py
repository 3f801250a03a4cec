"""Machine code on disk: a folder per state of the native sources, a file per function and types of its arguments.

    <cache>/native/<hash of sources and compilers>/<function>.<hash of the types>.code

    line 1   SHA-256 of the rest, in hexadecimal
    rest     what `testbed.native.compiler` has pickled

A file appears whole or not at all, and nothing else says what it holds: any number of processes may write at once.
A file that is missing or damaged, or that others may have written, or a folder that cannot be read or written, only
costs the time to compile.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from testbed.words.files import cache_folder
from testbed.words.own_files import keep_own, own_content

KEY_LENGTH = 24  # hexadecimal digits of a hash kept in a name: 96 bits
VARIABLE = "TESTBED_NATIVE_CACHE"
_SUFFIX = ".code"
_DAY = 86400  # seconds
_UNUSED = 30 * _DAY  # after which the code of other sources is taken for that of an old version


def folder() -> Path:
    """The folder of all machine code: inside that of built files, or VARIABLE. It need not exist yet."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen) if chosen else cache_folder() / "native"


def name_of(function: Callable[..., Any]) -> str:
    """A function's name in the names of files."""
    return f"{function.__module__}.{function.__qualname__}"


def path_of(sources: str, function: str, types: str) -> Path:
    """Where code lies, or will, given a name and two hashes."""
    return folder() / sources[:KEY_LENGTH] / f"{function}.{types[:KEY_LENGTH]}{_SUFFIX}"


def read(path: Path) -> bytes | None:
    """What is kept at a path; None where there is nothing whole, or nothing that only this user may have written."""
    content = own_content(path)
    if content is not None and _age(path.parent) > _DAY:
        with suppress(OSError):
            os.utime(path.parent)
    return content


def keep(path: Path, content: bytes) -> None:
    """Keep something at a path, if that can be written."""
    with suppress(OSError):
        if not path.parent.is_dir():
            _forget_unused()
        keep_own(path, content)


def is_kept(sources: str, function: str) -> bool:
    """True where something is kept of one function for these sources, for whatever types."""
    return next(_kept_of(sources, function), None) is not None


def forget(sources: str, function: str) -> None:
    """Remove what is kept of one function for these sources."""
    for path in _kept_of(sources, function):
        path.unlink(missing_ok=True)


def _kept_of(sources: str, function: str) -> Iterator[Path]:
    return path_of(sources, function, "").parent.glob(f"{function}.*{_SUFFIX}")


def usage() -> tuple[int, int]:
    """How many functions are kept, for all sources, and their size in bytes."""
    sizes = [path.stat().st_size for each in _folders() for path in each.glob(f"*{_SUFFIX}")]
    return len(sizes), sum(sizes)


def clear() -> int:
    """Remove all machine code, of whatever sources; how many functions there were."""
    removed = 0
    for each in _folders():
        removed += len(list(each.glob(f"*{_SUFFIX}")))
        shutil.rmtree(each, ignore_errors=True)
    return removed


def _folders() -> Iterator[Path]:
    """The folders that ``keep`` has made, whatever else lies beside them."""
    return folder().glob("[0-9a-f]" * KEY_LENGTH) if folder().is_dir() else iter(())


def _forget_unused() -> None:
    """Remove the code of sources of which nothing was used in the last month: the versions before this one."""
    for each in _folders():
        if _age(each) > _UNUSED:
            shutil.rmtree(each, ignore_errors=True)


def _age(path: Path) -> float:
    """Seconds since a folder was used; 0 where nobody can say."""
    with suppress(OSError):
        return time.time() - path.stat().st_mtime
    return 0.0
