"""System calls about paths: open, stat, folders, what is made and deleted; and what a file is."""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from testbed.process.calls_identity import SECOND
from testbed.process.calls_memory import done
from testbed.process.channels import Channel, PipeEnd
from testbed.process.file_tree import FileNode, inode, refused_by_host
from testbed.process.open_files import MadeFile, NullDevice, OpenFile, OpenFolder, OpenHostFile, open_in
from testbed.process.starting import GROUP, USER
from testbed.process.state import EPOCH, KernelCall, Process
from testbed.process.threads import MustWait, Refusal, Wait

AT_CWD, NO_FOLLOW, _EMPTY_PATH = -100, 0x100, 0x1000
# System calls that say what a file is, and what paths in system calls mean.


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


_REMOVE_FOLDER, _FOLLOW = 0x200, 0x400
COMMON_FLAGS = os.O_ACCMODE | os.O_CREAT | os.O_EXCL | os.O_TRUNC | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC
_NOW, _OMIT = 0x3FFF_FFFF, 0x3FFF_FFFE  # UTIME_NOW, UTIME_OMIT


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
        node, number = process.tree.node(at), descriptor_at(process, at)
        if number is not None:
            return _open_again(process, process.descriptors[number], flags)
        if node is not None and isinstance(node.holds, Channel):
            return _open_pipe(process, node.holds, flags, named=True)
        file = _made(process, at, flags) or open_in(process.tree, at, flags, a[3] & 0o7777 & ~process.umask)
    except Refusal as refusal:
        refusal.path = _not_shown(os.path.join(folder, path)) if refusal.number == errno.ENOENT else ""
        raise
    return process.descriptors.add(file, close_on_exec=bool(flags & os.O_CLOEXEC))


def _open_again(process: Process, file: OpenFile, flags: int) -> int:
    """What a descriptor stands for, opened by its path: anew where it is a pipe or a file, else as it is open."""
    if isinstance(file, PipeEnd):
        return _open_pipe(process, file.channel, flags, named=False)
    if isinstance(file, OpenHostFile | OpenFolder) and process.tree.node(file.node.path) == file.node:
        file = open_in(process.tree, file.node.path, flags)
    return process.descriptors.add(file, close_on_exec=bool(flags & os.O_CLOEXEC))


def _open_pipe(process: Process, channel: Channel, flags: int, *, named: bool) -> int:
    """An end of a pipe. If it is ``named``, whoever opens it waits for somebody at the other end, but to do both."""
    end = PipeEnd(flags & ~os.O_CREAT, channel=channel)
    if named and flags & os.O_ACCMODE == os.O_WRONLY and flags & os.O_NONBLOCK and not channel.readers:
        raise Refusal(errno.ENXIO)
    channel.readers += end.reads
    channel.writers += end.writes
    number = process.descriptors.add(end, close_on_exec=bool(flags & os.O_CLOEXEC))
    before = channel.came, channel.went

    def is_met() -> bool:
        came, went = channel.came != before[0], channel.went != before[1]
        return bool(channel.writers or came) if end.reads else bool(channel.readers or went)

    def over(timed_out: bool) -> int:
        if not is_met():
            process.descriptors.close(number)
            raise Refusal(errno.EINTR)
        return number

    if not named or flags & os.O_NONBLOCK or (end.reads and end.writes) or is_met():
        return number
    raise MustWait(Wait(is_met, over, restart=True, what="the other end of a pipe"))


def _not_shown(path: str) -> str:
    """A path that is not there in the run, if the host has a file there that no kernel makes; else ""."""
    with suppress(OSError, ValueError):
        os.lstat(path)
        return "" if path.startswith(("/proc/", "/dev/", "/sys/")) else path
    return ""


def _made(process: Process, path: str, flags: int) -> OpenFile | None:
    """A file or device that no folder has."""
    if path in ("/dev/null", "/dev/zero"):
        return NullDevice(flags, stat.S_IFCHR | 0o666, zeros=path == "/dev/zero")
    if path in ("/dev/urandom", "/dev/random"):
        return NullDevice(flags, stat.S_IFCHR | 0o666, random=process.random)
    node = process.tree.node(path)
    if path == "/proc/self/fd" and node is not None:
        return OpenFolder(flags, node=node, names=(".", "..", *map(str, process.descriptors)))
    if path in ("/proc/self/maps", f"/proc/{process.number}/maps") and node is not None:
        return MadeFile(flags, data=_maps(process))
    return None


def memfd_create(process: Process, a: tuple[int, ...]) -> int:
    """``memfd_create(name, flags)``: the number of a file that is memory, and has no name in the tree."""
    name = os.fsdecode(process.memory.text(a[0], 250))
    host, node = process.tree.without_name(), FileNode(f"/memfd:{name} (deleted)", stat.S_IFREG | 0o777, upper=True)
    file = OpenHostFile(os.O_RDWR, node.mode, node=node, tree=process.tree, host=host)
    return process.descriptors.add(file, close_on_exec=bool(a[1] & 1))


def linkat(process: Process, a: tuple[int, ...]) -> None:
    """``linkat(folder, path, new folder, new path, flags)``: 0; a second name for a file, in the run's own layer."""
    source = place_at(process, a[0], a[1], follow=bool(a[4] & _FOLLOW))
    process.tree.link(source, place_at(process, a[2], a[3], follow=False))


def _maps(process: Process) -> bytes:
    """``/proc/self/maps``: addresses, permissions, offset, device, inode, name."""
    lines = []
    for area in process.memory:
        letters = "".join(c if area.protection & bit else "-" for c, bit in zip("rwx", (1, 2, 4), strict=True))
        letters += "p" if area.shared is None else "s"
        place = f"{area.start:08x}-{area.end:08x} {letters} {area.offset:08x} 00:00 {'0':<10}"
        lines.append(f"{place:<73}{area.name}".rstrip() + "\n")
    return "".join(lines).encode()


def _cut(process: Process, address: int, size: int) -> None:
    file = open_in(process.tree, place_at(process, AT_CWD, address), os.O_WRONLY)
    assert isinstance(file, OpenHostFile)  # folders are not opened for writing
    try:
        file.cut(size)
    finally:
        file.close()


def faccessat(process: Process, a: tuple[int, ...]) -> None:
    """``faccessat(folder, path, mode)``: 0 where the file is there; EACCES for the execution of one that may not be."""
    path = path_at(process, a[1])
    if a[2] & ~(process.tree.find(path, folder_of(process, a[0], path)).mode >> 6) & 7:
        raise Refusal(errno.EACCES)


def _change(
    process: Process, folder: int, address: int, *, mode: int | None = None, time: int | None = None, flags: int = 0
) -> None:
    """Other permissions or another time for what lies at a path; at no address: for the open file itself."""
    if address:
        at = place_at(process, folder, address, follow=not flags & NO_FOLLOW)
    else:
        file = process.descriptors[process.signed(folder)]
        if not isinstance(file, OpenHostFile | OpenFolder):
            raise Refusal(errno.EINVAL)
        at = file.node.path
    process.tree.change(at, mode, time)


def _time_at(process: Process, address: int, size: int = 0, unit: int = 1) -> int | None:
    """The second of two times, that of the last change; a fraction is so many nanoseconds. None: it stays."""
    if not address:
        return process.now
    word = size or process.arch.word
    seconds, rest = (process.memory.word(address + (2 + i) * word, word) for i in range(2))
    return process.now if rest == _NOW else None if rest == _OMIT else seconds * SECOND + rest * unit


def utimensat(process: Process, a: tuple[int, ...], size: int = 0) -> None:
    """``utimensat(folder, path, times, flags)``: 0. Of both times, the one of the last change is kept."""
    _change(process, a[0], a[1], time=_time_at(process, a[2], size), flags=a[3])


def utime(process: Process, a: tuple[int, ...]) -> None:
    """``utime(path, times)``: 0; times are in seconds, that of the last change the second one."""
    seconds = process.words(a[1], 2)[1] * SECOND if a[1] else process.now
    _change(process, AT_CWD, a[0], time=seconds)


def fchownat(process: Process, a: tuple[int, ...]) -> None:
    """``fchownat(folder, path, user, group, flags)``: 0 for the owner that every file has, else EPERM."""
    for wanted, own in ((a[2], USER), (a[3], GROUP)):
        if wanted & 0xFFFF_FFFF not in (own, 0xFFFF_FFFF):
            raise Refusal(errno.EPERM)
    _change(process, a[0], a[1], flags=a[4])


def symlinkat(process: Process, a: tuple[int, ...]) -> None:
    """``symlinkat(target, folder, path)``: 0; a link of the run's own, wherever in its tree that leads."""
    target, at = path_at(process, a[0]), place_at(process, a[1], a[2], follow=False)
    process.tree.place(FileNode(at, stat.S_IFLNK | 0o777, link=target))


def mknodat(process: Process, a: tuple[int, ...]) -> None:
    """``mknodat(folder, path, mode, device)``: 0; a pipe, or an empty file. EPERM for a device."""
    at, mode = place_at(process, a[0], a[1], follow=False), a[2] & ~process.umask
    if stat.S_ISFIFO(mode):
        process.tree.place(FileNode(at, mode & 0xFFFF, holds=Channel(readers=0, writers=0)))
    elif stat.S_IFMT(mode) in (0, stat.S_IFREG):
        open_in(process.tree, at, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & 0o7777).close()
    else:
        raise Refusal(errno.EPERM)


def readlinkat(process: Process, a: tuple[int, ...]) -> int:
    """``readlinkat(folder, path, buffer, size)``: how many bytes of the link's target were written.

    EINVAL for no link.
    """
    path = path_at(process, a[1])
    folder = folder_of(process, a[0], path)
    number = descriptor_at(process, process.tree.locate(path, folder, follow=False))
    if number is None:
        node = process.tree.find(path, folder, follow=False)
        if not stat.S_ISLNK(node.mode):
            raise Refusal(errno.EINVAL)
        link = node.link
    else:
        file = process.descriptors[number]
        link = file.node.path if isinstance(file, OpenHostFile | OpenFolder) else f"pipe:[{number}]"
    return process.memory.write(a[2], os.fsencode(link)[: a[3]])


def getdents64(process: Process, a: tuple[int, ...]) -> int:
    """``struct linux_dirent64``: inode, offset of the next one, length, kind, name."""
    file = process.descriptors.of(OpenFolder, process.signed(a[0]), errno.ENOTDIR)
    found, at = b"", file.at
    while at < len(file.names):
        name = file.names[at]
        path = file.node.path if name.startswith(".") else f"{file.node.path.rstrip('/')}/{name}"
        node = process.tree.node(path)
        kind = node.mode >> 12 if node else 0
        entry = struct.pack("<QqHB", node.number if node else inode(path), at + 1, 0, kind) + os.fsencode(name) + b"\0"
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
    return process.memory.write(a[0], data)


def chdir(process: Process, a: tuple[int, ...]) -> None:
    """``chdir(path)``: 0, or ENOTDIR."""
    node = process.tree.find(path_at(process, a[0]), process.folder)
    if not node.is_folder:
        raise Refusal(errno.ENOTDIR)
    process.folder = node.path


def fchdir(process: Process, a: tuple[int, ...]) -> None:
    """``fchdir(fd)``: 0, or ENOTDIR."""
    process.folder = process.descriptors.of(OpenFolder, process.signed(a[0]), errno.ENOTDIR).node.path


def unlinkat(process: Process, a: tuple[int, ...]) -> None:
    """``unlinkat(folder, path, flags)``: 0; a file is removed, or an empty folder."""
    process.tree.remove(place_at(process, a[0], a[1], follow=False), folder=bool(a[2] & _REMOVE_FOLDER))


def mkdirat(process: Process, a: tuple[int, ...]) -> None:
    """``mkdirat(folder, path, mode)``: 0, or EEXIST."""
    process.tree.make_folder(place_at(process, a[0], a[1]), a[2] & 0o1777 & ~process.umask)


def renameat(process: Process, a: tuple[int, ...]) -> None:
    """``renameat(folder, path, new folder, new path)``: 0."""
    source = place_at(process, a[0], a[1], follow=False)
    process.tree.rename(source, place_at(process, a[2], a[3], follow=False))


def umask(process: Process, a: tuple[int, ...]) -> int:
    """``umask(mask)``: the mask before."""
    process.umask, before = a[0] & 0o777, process.umask
    return before


# A call without a folder is the one with, in the current folder.


CALLS: Mapping[str, KernelCall] = {
    "open": lambda process, a: openat(process, (AT_CWD, *a)),
    "openat": openat,
    "creat": lambda process, a: openat(process, (AT_CWD, a[0], os.O_CREAT | os.O_WRONLY | os.O_TRUNC, a[1])),
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
    "mkdir": lambda process, a: mkdirat(process, (AT_CWD, *a[:2])),
    "mkdirat": mkdirat,
    "memfd_create": memfd_create,
    "link": lambda process, a: linkat(process, (AT_CWD, a[0], AT_CWD, a[1], 0)),
    "linkat": linkat,
    "rename": lambda process, a: renameat(process, (AT_CWD, a[0], AT_CWD, a[1])),
    "renameat": renameat,
    "renameat2": renameat,
    "umask": umask,
    "chmod": lambda process, a: _change(process, AT_CWD, a[0], mode=a[1] & 0o7777),
    "fchmod": lambda process, a: _change(process, a[0], 0, mode=a[1] & 0o7777),
    "fchmodat": lambda process, a: _change(process, a[0], a[1], mode=a[2] & 0o7777),
    "utimensat": utimensat,
    "utimensat_time64": partial(utimensat, size=8),
    "utimes": lambda process, a: _change(process, AT_CWD, a[0], time=_time_at(process, a[1], unit=1000)),
    "futimesat": lambda process, a: _change(process, a[0], a[1], time=_time_at(process, a[2], unit=1000)),
    "utime": utime,
    "fchownat": fchownat,
    **dict.fromkeys(("chown", "chown32"), lambda process, a: fchownat(process, (AT_CWD, *a[:3], 0))),
    **dict.fromkeys(("lchown", "lchown32"), lambda process, a: fchownat(process, (AT_CWD, *a[:3], NO_FOLLOW))),
    **dict.fromkeys(("fchown", "fchown32"), lambda process, a: fchownat(process, (a[0], 0, *a[1:3], 0))),
    "symlink": lambda process, a: symlinkat(process, (a[0], AT_CWD, a[1])),
    "symlinkat": symlinkat,
    "mknod": lambda process, a: mknodat(process, (AT_CWD, *a[:3])),
    "mknodat": mknodat,
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
