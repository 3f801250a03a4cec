"""Files of a cache that nobody else may have written: some are code that is loaded, all are believed.

A checksum beside a file shows damage, and no intent: whoever can write the one can write the other. So a file is taken
only where it, and the folder that it lies in, belong to this user or to root, and nobody else may write them. A group
that has only this user in it is nobody else.
"""

from __future__ import annotations

import errno
import grp
import hashlib
import os
import pwd
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

# Which code a result came from: the hash of a package's sources, and the versions of installed libraries.

_SOURCES = (".py", ".c", ".cpp", ".h")


@lru_cache(maxsize=16)
def code_of(package: str) -> str:
    """The hash of every source file of a package; "" for one that is not made of files (a notebook).

    Whatever an unwinder calls outside its own package is not seen: after a change there, ask for a fresh result.
    """
    file = getattr(sys.modules.get(package), "__file__", None)
    if package == "__main__" or not file:
        return ""
    root = Path(file)
    package_files = (path for path in root.parent.rglob("*") if path.suffix in _SOURCES)
    files = sorted(package_files) if root.name == "__init__.py" else [root]
    return code_of_files(files, root.parent.parent)


def code_of_files(files: Iterable[Path], root: Path) -> str:
    """The hash of some files: their paths below a folder, and what is in them."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(b"\0" + path.relative_to(root).as_posix().encode("utf-8") + b"\0" + path.read_bytes())
    return digest.hexdigest()


def versions_of(libraries: Iterable[str]) -> tuple[str, ...]:
    """Python's version, and those of some libraries."""
    return sys.version, *(f"{library} {version_of(library)}" for library in libraries)


@lru_cache(maxsize=16)
def version_of(library: str) -> str:
    """The installed version of a library, or "absent"."""
    from importlib.metadata import PackageNotFoundError, version  # the command line does without it

    try:
        return version(library)
    except PackageNotFoundError:
        return "absent"


# The name that package indexes know this project by: ``testbed`` is another one there. The command is `testbed`.

DISTRIBUTION = "unwind-testbed"


def own_version() -> str:
    """The version of what is installed."""
    return version_of(DISTRIBUTION)


_ROOT = 0


def own_bytes(path: Path) -> bytes:
    """All bytes of a file that nobody else may have written.

    Raises OSError where there is none; PermissionError, which is one, says whose it is or who may write it.
    """
    _check(os.stat(path.parent), path.parent)
    # What is looked at is what is read: the file is opened once. A pipe is not waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        kind = os.fstat(handle)
        if not stat.S_ISREG(kind.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        _check(kind, path)
        return file.read()


def own_folder(path: Path) -> None:
    """Make a folder, and those above it, for this user alone. Raises OSError, also where others may write it."""
    if not path.is_dir():
        for each in reversed((path, *path.parents)):
            with suppress(FileExistsError):
                each.mkdir(mode=0o700)
    _check(os.stat(path), path)


def distrusted(path: Path) -> str:
    """Why nothing is taken from a folder or file, as a sentence with what to do; "" where it is, and without one."""
    try:
        _check(os.stat(path), path)
    except PermissionError as error:
        return f"{path} is not used: {error.strerror}"
    except OSError:
        return ""
    return ""


def _check(found: os.stat_result, path: Path) -> None:
    if found.st_uid not in (os.geteuid(), _ROOT):
        why = f"it belongs to another user ({found.st_uid}): choose another place"
        raise PermissionError(errno.EPERM, why, str(path))
    by_group = found.st_mode & stat.S_IWGRP and not _has_only_this_user(found.st_gid)
    if by_group or found.st_mode & stat.S_IWOTH:
        why = "other users may write it: chmod go-w, after a look at what is there"
        raise PermissionError(errno.EPERM, why, str(path))


def _has_only_this_user(group: int) -> bool:
    """A group of this user's name with nobody else: where those are usual, new files may be written by the group."""
    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return group == user.pw_gid and found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}
