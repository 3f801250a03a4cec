"""System calls about paths: open, stat, folders, what is made and deleted."""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Mapping
from contextlib import suppress

from testbed.process.calls_stat import AT_CWD, folder_of, inode, path_at
from testbed.process.file_tree import FileNode
from testbed.process.open_files import MadeFile, NullDevice, OpenFile, OpenFolder, OpenHostFile, open_in
from testbed.process.refusal import Refusal
from testbed.process.state import KernelCall, Process

_REMOVE_FOLDER, _FOLLOW = 0x200, 0x400
COMMON_FLAGS = os.O_ACCMODE | os.O_CREAT | os.O_EXCL | os.O_TRUNC | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {stat.S_IFDIR: 4, stat.S_IFREG: 8, stat.S_IFLNK: 10, stat.S_IFCHR: 2}


def _host_flags(process: Process, flags: int) -> int:
    """The flags of open as the host has them: those of folders and links differ between architectures."""
    own = process.abi
    found = flags & COMMON_FLAGS
    return found | os.O_DIRECTORY * bool(flags & own.o_directory) | os.O_NOFOLLOW * bool(flags & own.o_nofollow)


def openat(process: Process, a: tuple[int, ...]) -> int:
    """``openat(folder, path, flags, mode)``: the number of the file that is open now."""
    flags = _host_flags(process, a[2])
    path = path_at(process, a[1])
    follow, folder = not flags & (os.O_NOFOLLOW | os.O_EXCL), folder_of(process, a[0], path)
    try:
        at = process.tree.locate(path, folder, follow=follow)
        file = _made(process, at, flags) or open_in(process.tree, at, flags)
    except Refusal as refusal:
        refusal.path = _not_shown(os.path.join(folder, path)) if refusal.number == errno.ENOENT else ""
        raise
    return process.descriptors.add(file, close_on_exec=bool(flags & os.O_CLOEXEC))


def _not_shown(path: str) -> str:
    """A path that is not there in the run, if the host has something there; else ""."""
    with suppress(OSError, ValueError):
        os.lstat(path)
        return path
    return ""


def _made(process: Process, path: str, flags: int) -> OpenFile | None:
    """A file or device that no folder has."""
    if path in ("/dev/null", "/dev/zero"):
        return NullDevice(flags, stat.S_IFCHR | 0o666, zeros=path == "/dev/zero")
    if path in ("/dev/urandom", "/dev/random"):
        return NullDevice(flags, stat.S_IFCHR | 0o666, random=process.random)
    if path in ("/proc/self/maps", f"/proc/{process.number}/maps") and process.tree.node(path) is not None:
        return MadeFile(flags, data=_maps(process))
    return None


def memfd_create(process: Process, a: tuple[int, ...]) -> int:
    """``memfd_create(name, flags)``: the number of a file that is memory, and has no name in the tree."""
    name = os.fsdecode(process.memory.text(a[0], 250))
    host, node = process.tree.without_name(), FileNode(f"/memfd:{name} (deleted)", stat.S_IFREG | 0o777, upper=True)
    file = OpenHostFile(os.O_RDWR, node.mode, node=node, tree=process.tree, host=host)
    return process.descriptors.add(file, close_on_exec=bool(a[1] & 1))


def linkat(process: Process, a: tuple[int, ...]) -> int:
    """``linkat(folder, path, new folder, new path, flags)``: 0; a second name for a file, in the run's own layer."""
    before, after = path_at(process, a[1]), path_at(process, a[3])
    tree = process.tree
    source = tree.locate(before, folder_of(process, a[0], before), follow=bool(a[4] & _FOLLOW))
    tree.link(source, tree.locate(after, folder_of(process, a[2], after), follow=False))
    return 0


def _maps(process: Process) -> bytes:
    """``/proc/self/maps``: addresses, permissions, offset, device, inode, name."""
    lines = []
    for area in process.memory:
        letters = "".join(c if area.protection & bit else "-" for c, bit in zip("rwx", (1, 2, 4), strict=True))
        letters += "p" if area.shared is None else "s"
        place = f"{area.start:08x}-{area.end:08x} {letters} {area.offset:08x} 00:00 {'0':<10}"
        lines.append(f"{place:<73}{area.name}".rstrip() + "\n")
    return "".join(lines).encode()


def _cut(process: Process, address: int, size: int) -> int:
    path = path_at(process, address)
    file = open_in(process.tree, process.tree.locate(path, folder_of(process, AT_CWD, path)), os.O_WRONLY)
    assert isinstance(file, OpenHostFile)  # folders are not opened for writing
    try:
        file.cut(size)
    finally:
        file.close()
    return 0


def faccessat(process: Process, a: tuple[int, ...]) -> int:
    """``faccessat(folder, path, mode)``: 0 where the file is there; EACCES for the execution of one that may not be."""
    path = path_at(process, a[1])
    node = process.tree.find(path, folder_of(process, a[0], path))
    if a[2] & os.X_OK and not node.is_folder and not node.mode & 0o111:
        raise Refusal(errno.EACCES)
    return 0


def readlinkat(process: Process, a: tuple[int, ...]) -> int:
    """``readlinkat(folder, path, buffer, size)``: how many bytes of the link's target were written.

    EINVAL for no link.
    """
    path = path_at(process, a[1])
    node = process.tree.find(path, folder_of(process, a[0], path), follow=False)
    if not stat.S_ISLNK(node.mode):
        raise Refusal(errno.EINVAL)
    data = os.fsencode(node.link)[: a[3]]
    process.memory.write(a[2], data)
    return len(data)


def getdents64(process: Process, a: tuple[int, ...]) -> int:
    """``struct linux_dirent64``: inode, offset of the next one, length, kind, name."""
    file = process.descriptors.of(OpenFolder, process.signed(a[0]), errno.ENOTDIR)
    found, at = b"", file.at
    while at < len(file.names):
        name = file.names[at]
        path = file.node.path if name.startswith(".") else f"{file.node.path.rstrip('/')}/{name}"
        node = process.tree.node(path)
        kind = _KINDS.get(stat.S_IFMT(node.mode), 0) if node else 0
        entry = struct.pack("<QqHB", inode(path), at + 1, 0, kind) + os.fsencode(name) + b"\0"
        length = -(-len(entry) // 8) * 8
        if len(found) + length > a[2]:
            break
        found += (entry[:16] + struct.pack("<H", length) + entry[18:]).ljust(length, b"\0")
        at += 1
    if not found and at < len(file.names):
        raise Refusal(errno.EINVAL)
    process.memory.write(a[1], found)
    file.at = at
    return len(found)


def getcwd(process: Process, a: tuple[int, ...]) -> int:
    """``getcwd(buffer, size)``: the length of the path with its zero; ERANGE for too little room."""
    data = os.fsencode(process.folder) + b"\0"
    if len(data) > a[1]:
        raise Refusal(errno.ERANGE)
    process.memory.write(a[0], data)
    return len(data)


def chdir(process: Process, a: tuple[int, ...]) -> int:
    """``chdir(path)``: 0, or ENOTDIR."""
    node = process.tree.find(path_at(process, a[0]), process.folder)
    if not node.is_folder:
        raise Refusal(errno.ENOTDIR)
    process.folder = node.path
    return 0


def fchdir(process: Process, a: tuple[int, ...]) -> int:
    """``fchdir(fd)``: 0, or ENOTDIR."""
    process.folder = process.descriptors.of(OpenFolder, process.signed(a[0]), errno.ENOTDIR).node.path
    return 0


def unlinkat(process: Process, a: tuple[int, ...]) -> int:
    """``unlinkat(folder, path, flags)``: 0; a file is removed, or an empty folder."""
    path = path_at(process, a[1])
    at = process.tree.locate(path, folder_of(process, a[0], path), follow=False)
    process.tree.remove(at, folder=bool(a[2] & _REMOVE_FOLDER))
    return 0


def mkdirat(process: Process, a: tuple[int, ...]) -> int:
    """``mkdirat(folder, path, mode)``: 0, or EEXIST."""
    path = path_at(process, a[1])
    process.tree.make_folder(process.tree.locate(path, folder_of(process, a[0], path)))
    return 0


def renameat(process: Process, a: tuple[int, ...]) -> int:
    """``renameat(folder, path, new folder, new path)``: 0."""
    before, after = path_at(process, a[1]), path_at(process, a[3])
    tree = process.tree
    source = tree.locate(before, folder_of(process, a[0], before), follow=False)
    tree.rename(source, tree.locate(after, folder_of(process, a[2], after), follow=False))
    return 0


def umask(process: Process, a: tuple[int, ...]) -> int:
    """``umask(mask)``: the mask before."""
    process.umask, before = a[0] & 0o777, process.umask
    return before


# A call without a folder is the one with, in the current folder.
CALLS: Mapping[str, KernelCall] = {
    "open": lambda process, a: openat(process, (AT_CWD, *a)),
    "openat": openat,
    "creat": lambda process, a: openat(process, (AT_CWD, a[0], os.O_CREAT | os.O_WRONLY | os.O_TRUNC)),
    "truncate": lambda process, a: _cut(process, a[0], process.signed(a[1], 8 * process.arch.word)),
    "truncate64": lambda process, a: _cut(process, a[0], process.signed(process.wide(a, 1), 64)),
    "access": lambda process, a: faccessat(process, (AT_CWD, *a)),
    "faccessat": faccessat,
    "faccessat2": faccessat,
    "readlink": lambda process, a: readlinkat(process, (AT_CWD, *a)),
    "readlinkat": readlinkat,
    "getdents64": getdents64,
    "getcwd": getcwd,
    "chdir": chdir,
    "fchdir": fchdir,
    "unlink": lambda process, a: unlinkat(process, (AT_CWD, a[0], 0)),
    "rmdir": lambda process, a: unlinkat(process, (AT_CWD, a[0], _REMOVE_FOLDER)),
    "unlinkat": unlinkat,
    "mkdir": lambda process, a: mkdirat(process, (AT_CWD, a[0])),
    "mkdirat": mkdirat,
    "memfd_create": memfd_create,
    "link": lambda process, a: linkat(process, (AT_CWD, a[0], AT_CWD, a[1], 0)),
    "linkat": linkat,
    "rename": lambda process, a: renameat(process, (AT_CWD, a[0], AT_CWD, a[1])),
    "renameat": renameat,
    "renameat2": renameat,
    "umask": umask,
}
