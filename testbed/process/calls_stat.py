"""System calls that say what a file is, and what paths in system calls mean."""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Mapping

from testbed.process.file_tree import FileNode, refused_by_host
from testbed.process.initial_stack import GROUP, USER
from testbed.process.open_files import OpenFile, OpenFolder, OpenHostFile
from testbed.process.state import EPOCH, KernelCall, Process

AT_CWD, _NO_FOLLOW, _EMPTY_PATH = -100, 0x100, 0x1000


def path_at(process: Process, address: int) -> str:
    """The path that a call was given by its address, in the encoding of this machine's file names."""
    return os.fsdecode(process.memory.text(address))


def folder_of(process: Process, number: int, path: str) -> str:
    """The folder that a relative path of an ``*at`` call starts from."""
    number = process.signed(number)
    if path.startswith("/") or number == AT_CWD:
        return process.folder
    return process.descriptors.of(OpenFolder, number, errno.ENOTDIR).node.path


def _stat_bytes(process: Process, mode: int, inode: int, size: int, time: int = EPOCH) -> bytes:
    """``struct stat``: what the process may know of a file. All files are the user's."""
    values = {
        "dev": 1,
        "ino": inode,
        "ino32": inode & 0xFFFF_FFFF,
        "mode": mode,
        "nlink": 1,
        "uid": USER,
        "gid": GROUP,
        "rdev": 0,
        "size": size,
        "blksize": 4096,
        "blocks": -(-size // 512),
        **{f"{name}time": time // 10**9 for name in "amc"},
        **{f"{name}time_ns": time % 10**9 for name in "amc"},
    }
    return struct.pack(process.abi.stat, *(values[name] for name in process.abi.stat_fields))


def inode(path: str) -> int:
    """A number that tells files apart: ld.so takes two libraries with equal ones for one."""
    number = 0
    for byte in os.fsencode(path):
        number = (number * 31 + byte) % 0x7FFF_FFFF
    return number + 2


def _stat_node(process: Process, node: FileNode, open_size: int | None = None) -> bytes:
    """Of a name; of a file that is open, with its size: the name may be gone, or another file's by now."""
    size = len(node.link) if open_size is None else open_size
    time = EPOCH
    if node.host is not None and not (node.upper and open_size is not None):
        with refused_by_host():
            there = os.lstat(node.host)
        time = EPOCH if node.upper else min(there.st_mtime_ns, EPOCH)  # by it Python and make know what is up to date
        if open_size is None and stat.S_ISREG(node.mode):
            size = there.st_size
    mode = node.mode & ~0o7777 | (0o755 if node.is_folder or node.mode & 0o100 else 0o644)
    return _stat_bytes(process, mode, inode(node.path), size, time)


def _stat_open(process: Process, file: OpenFile) -> bytes:
    if isinstance(file, OpenHostFile):
        return _stat_node(process, file.node, file.size)
    if isinstance(file, OpenFolder):
        return _stat_node(process, file.node)
    return _stat_bytes(process, file.mode, 1, file.size)


def fstat(process: Process, a: tuple[int, ...]) -> int:
    """``fstat(fd, buffer)``: 0, and what is known of the open file."""
    process.memory.write(a[1], _stat_open(process, process.descriptors[process.signed(a[0])]))
    return 0


def fstatat(process: Process, a: tuple[int, ...]) -> int:
    """``newfstatat(folder, path, buffer, flags)``: 0, and what is known of the file.

    Of an open one with AT_EMPTY_PATH.
    """
    path, flags = path_at(process, a[1]), a[3]
    if not path and flags & _EMPTY_PATH and process.signed(a[0]) != AT_CWD:
        return fstat(process, (a[0], a[2]))
    node = process.tree.find(path, folder_of(process, a[0], path), follow=not flags & _NO_FOLLOW)
    process.memory.write(a[2], _stat_node(process, node))
    return 0


CALLS: Mapping[str, KernelCall] = {
    **dict.fromkeys(("stat", "stat64"), lambda process, a: fstatat(process, (AT_CWD, *a[:2], 0))),
    **dict.fromkeys(("lstat", "lstat64"), lambda process, a: fstatat(process, (AT_CWD, *a[:2], _NO_FOLLOW))),
    "fstat": fstat,
    "fstat64": fstat,
    "newfstatat": fstatat,
    "fstatat64": fstatat,
}
