"""System calls that say what a file is, and what paths in system calls mean."""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Mapping

from testbed.process.calls_memory import done
from testbed.process.file_tree import FileNode, refused_by_host
from testbed.process.open_files import OpenFile, OpenFolder, OpenHostFile
from testbed.process.starting import GROUP, USER
from testbed.process.state import EPOCH, KernelCall, Process
from testbed.process.threads import Refusal

AT_CWD, NO_FOLLOW, _EMPTY_PATH = -100, 0x100, 0x1000
_LINK = stat.S_IFLNK | 0o700


def path_at(process: Process, address: int) -> str:
    """The path that a call was given by its address, in the encoding of this machine's file names."""
    return os.fsdecode(process.memory.text(address))


def folder_of(process: Process, number: int, path: str) -> str:
    """The folder that a relative path of an ``*at`` call starts from."""
    number = process.signed(number)
    if path.startswith("/") or number == AT_CWD:
        return process.folder
    return process.descriptors.of(OpenFolder, number, errno.ENOTDIR).node.path


def place_at(process: Process, folder: int, address: int, *, follow: bool = True) -> str:
    """Where the path that an ``*at`` call was given leads, as `FileTree.locate`."""
    path = path_at(process, address)
    return process.tree.locate(path, folder_of(process, folder, path), follow=follow)


def descriptor_at(process: Process, path: str) -> int | None:
    """The descriptor that an absolute path names, below ``/proc/self/fd``."""
    folder, _, name = path.rpartition("/")
    is_number = folder == "/proc/self/fd" and name.isdecimal() and int(name) in process.descriptors
    return int(name) if is_number else None


def _stat_bytes(process: Process, mode: int, inode: int, size: int, time: int = EPOCH, links: int = 1) -> bytes:
    """``struct stat``: what the process may know of a file. All files are the user's."""
    values = {
        "dev": 1,
        "ino": inode,
        "ino32": inode & 0xFFFF_FFFF,
        "mode": mode,
        "nlink": links,
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


def _stat_node(process: Process, node: FileNode, open_size: int | None = None) -> bytes:
    """Of a name; of a file that is open, with its size: the name may be gone, or another file's by now."""
    size = len(node.link) if open_size is None else open_size
    time, links = node.marks.time if node.marks else EPOCH, 1
    if node.host is not None and not (node.upper and open_size is not None):
        with refused_by_host():
            there = os.lstat(node.host)
        time = node.marks.time if node.marks else min(there.st_mtime_ns, EPOCH)  # make knows by it what is up to date
        if open_size is None and stat.S_ISREG(node.mode):
            size, links = there.st_size, there.st_nlink if node.upper else 1
    mode = node.mode if node.marks is None else stat.S_IFMT(node.mode) | node.marks.mode
    return _stat_bytes(process, mode, node.number, size, time, links)


def _stat_open(process: Process, file: OpenFile) -> bytes:
    if isinstance(file, OpenHostFile):
        return _stat_node(process, file.node, file.size)
    if isinstance(file, OpenFolder):
        return _stat_node(process, file.node)
    return _stat_bytes(process, file.mode, 1, file.size)


def fstat(process: Process, a: tuple[int, ...]) -> None:
    """``fstat(fd, buffer)``: 0, and what is known of the open file."""
    process.memory.write(a[1], _stat_open(process, process.descriptors[process.signed(a[0])]))


def fstatat(process: Process, a: tuple[int, ...]) -> None:
    """``newfstatat(folder, path, buffer, flags)``: 0, and what is known of the file.

    Of an open one with AT_EMPTY_PATH.
    """
    path, flags = path_at(process, a[1]), a[3]
    if not path and flags & _EMPTY_PATH and process.signed(a[0]) != AT_CWD:
        fstat(process, (a[0], a[2]))
        return
    folder, follow = folder_of(process, a[0], path), not flags & NO_FOLLOW
    number = descriptor_at(process, process.tree.locate(path, folder, follow=follow))
    if number is None:
        told = _stat_node(process, process.tree.find(path, folder, follow=follow))
    else:
        told = _stat_open(process, process.descriptors[number]) if follow else _stat_bytes(process, _LINK, 1, 64)
    process.memory.write(a[2], told)


def _file_system(process: Process, address: int, size: int = 0) -> None:
    """``struct statfs``: 4 GB in memory, half of it free, whatever lies where. ``size`` bytes have what is counted."""
    blocks, word = 1 << 20, process.arch.word
    told = process.pack(0x0102_1994, 4096) + process.pack(blocks, blocks // 2, blocks // 2, 1 << 16, 1 << 15, size=size)
    process.memory.write(address, told + bytes(8) + process.pack(255, 4096, 0) + bytes(4 * word))


def statfs(process: Process, a: tuple[int, ...], size: int = 0) -> None:
    """``statfs(path, buffer)``: 0, and the file system that a path lies in."""
    process.tree.find(path_at(process, a[0]), process.folder)
    _file_system(process, a[1], size)


def fstatfs(process: Process, a: tuple[int, ...], size: int = 0) -> None:
    """``fstatfs(fd, buffer)``: 0, and the same of an open file."""
    process.descriptors[process.signed(a[0])]  # EBADF
    _file_system(process, a[1], size)


def _no_attribute(process: Process, a: tuple[int, ...]) -> int:
    """``getxattr`` and ``removexattr``: no file has an attribute."""
    raise Refusal(errno.ENODATA)


CALLS: Mapping[str, KernelCall] = {
    **dict.fromkeys(("stat", "stat64"), lambda process, a: fstatat(process, (AT_CWD, *a[:2], 0))),
    **dict.fromkeys(("lstat", "lstat64"), lambda process, a: fstatat(process, (AT_CWD, *a[:2], NO_FOLLOW))),
    "fstat": fstat,
    "fstat64": fstat,
    "newfstatat": fstatat,
    "fstatat64": fstatat,
    **dict.fromkeys(("listxattr", "llistxattr", "flistxattr"), done),
    **dict.fromkeys(("getxattr", "lgetxattr", "fgetxattr"), _no_attribute),
    **dict.fromkeys(("removexattr", "lremovexattr", "fremovexattr"), _no_attribute),
    "statfs": statfs,
    "fstatfs": fstatfs,
    "statfs64": lambda process, a: statfs(process, (a[0], a[2]), 8),
    "fstatfs64": lambda process, a: fstatfs(process, (a[0], a[2]), 8),
}
