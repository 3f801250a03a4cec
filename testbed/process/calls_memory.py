"""System calls about memory: mmap and its kin, brk."""

from __future__ import annotations

import errno
import os
import stat

from testbed.image import Image, LoadedImage
from testbed.process.address_space import EXECUTE, PAGE, READ, WRITE, SharedBytes
from testbed.process.known_files import image_of_file, named_code
from testbed.process.open_files import NullDevice, OpenHostFile
from testbed.process.state import Process
from testbed.process.threads import Refusal
from testbed.words.errors import BudgetExceeded, ImageError

PRIVATE, FIXED, ANONYMOUS, FIXED_NOREPLACE = 2, 0x10, 0x20, 0x10_0000
MAY_MOVE, MOVE_FIXED = 1, 2
_DONT_NEED, _FREE = 4, 8
MOST_FILE = 256 << 20  # bytes of a file that one mapping reads


def mmap(process: Process, a: tuple[int, ...]) -> int:
    """``mmap(address, size, protection, flags, fd, offset)``: where the pages are mapped.

    What is shared is memory that has no file, or that of a file which the run wrote. Nobody writes any other file.
    """
    address, size, protection, flags, number, offset = a[:6]
    offset <<= process.abi.map_shift
    if not size or offset % PAGE or (flags & FIXED and address % PAGE):
        raise Refusal(errno.EINVAL)
    size = -(-size // PAGE) * PAGE
    content, name, file, shared, most = b"", "", None, None, READ | WRITE | EXECUTE
    is_shared = flags & 3 != PRIVATE
    if flags & ANONYMOUS:
        shared = SharedBytes(size) if is_shared else None
    else:
        file = process.descriptors.file(process.signed(number), os.O_WRONLY)
        if isinstance(file, OpenHostFile):
            name = file.node.path
            if is_shared and file.node.upper:
                shared = file.shared
            else:
                content = file.read_at(min(size, MOST_FILE), offset)
            if is_shared and file.flags & os.O_ACCMODE != os.O_RDWR:
                most &= ~WRITE
        elif not isinstance(file, NullDevice):
            raise Refusal(errno.ENODEV)
    if shared is not None:
        most &= ~EXECUTE  # the machine of another process would not see new code
        if offset * bool(name) + size > len(shared.bytes):
            raise Refusal(errno.ENOMEM)
    if protection & ~most & 7:
        raise Refusal(errno.EACCES)
    start = _place(process, address, size, flags)
    at = offset if name else 0
    process.memory.map(start, size, protection & 7, content, name=name, offset=at, shared=shared, most=most)
    if protection & EXECUTE and isinstance(file, OpenHostFile):
        _note_image(process, file, start, offset)
    return start


def _place(process: Process, address: int, size: int, flags: int) -> int:
    memory = process.memory
    if flags & (FIXED | FIXED_NOREPLACE):
        if flags & FIXED_NOREPLACE and not memory.is_free(address, address + size):
            raise Refusal(errno.EEXIST)
        return address
    hint = address & -PAGE
    if hint and memory.is_free(hint, hint + size):
        return hint
    return memory.free_place(size)


def _note_image(process: Process, file: OpenHostFile, start: int, offset: int) -> None:
    """A file that is mapped to be executed, and can be read as an image, is one of the process's images."""
    path = file.node.path
    if path not in process.files and file.node.host is not None:
        try:
            process.files[path] = image_of_file(file.node.host, process.reading)
        except (ImageError, BudgetExceeded) as error:
            process.notes.append(f"{path} is mapped to be executed and is no image: {error}")
            return
    bias = _bias(process.files[path], start, offset)
    if bias is None:
        return
    if not any(loaded.image is process.files[path] and loaded.bias == bias for loaded in process.images):
        loaded = LoadedImage(process.files[path], bias)
        process.images.append(loaded)


def _bias(image: Image, start: int, offset: int) -> int | None:
    for segment in image.segments:
        if segment.executable and segment.offset & -PAGE <= offset < segment.offset + len(segment.data):
            return start - offset - (segment.address - segment.offset)
    return None


_MOST_MAP, _MOST_CODE, _MOST_AREAS = 16 << 20, 64 << 20, 64  # bytes of a perf map, of one area of code; areas


def name_code(process: Process) -> None:
    """Names of code that it wrote itself are those of its perf map, as they are when it lies there no longer."""
    path = f"/tmp/perf-{process.number}.map"
    node = process.tree.node(path)
    if node is None or node.host is None or not stat.S_ISREG(node.mode):
        return
    with node.host.open("rb") as file:
        text = file.read(_MOST_MAP).decode(errors="replace")
    own, mapped = process.files[process.path].path.parent / os.path.basename(path), tuple(process.images)
    for area in process.memory.code[-_MOST_AREAS:]:
        size = area.end - area.start
        if size > _MOST_CODE or not area.protection & READ or any(each.covers(area.start) for each in mapped):
            continue
        try:
            made = named_code(own, text, process.arch, area.start, process.memory.read(area.start, size))
        except (ImageError, Refusal) as error:
            process.notes.append(f"names of written code at {area.start:#x} are not read: {error}")
        else:
            process.images += [made] if made is not None else []


def munmap(process: Process, a: tuple[int, ...]) -> None:
    """``munmap(address, size)``: 0."""
    if any(area.start < a[0] + a[1] and a[0] < area.end for area in process.memory.code):
        name_code(process)
    process.memory.unmap(a[0], a[1])


def mprotect(process: Process, a: tuple[int, ...]) -> None:
    """``mprotect(address, size, protection)``: 0, or ENOMEM where something is not mapped."""
    process.memory.protect(a[0], a[1], a[2] & 7)


def mremap(process: Process, a: tuple[int, ...]) -> int:
    """``mremap(old, size, new size, flags, address)``: where the area lies now."""
    old, size, grown, flags, fixed = a[:5]
    memory = process.memory
    size, grown = -(-size // PAGE) * PAGE, -(-grown // PAGE) * PAGE
    area = memory.area_at(old)
    if old % PAGE or not grown or not size:
        raise Refusal(errno.EINVAL)
    if area is None or old + size > area.end:
        raise Refusal(errno.EFAULT)
    if not flags & MOVE_FIXED:
        if grown <= size:
            if grown < size:
                memory.unmap(old + grown, size - grown)
            return old
        if old + size == area.end and memory.is_free(area.end, old + grown) and not area.name and not area.shared:
            memory.map(old + size, grown - size, area.protection)
            return old
        if not flags & MAY_MOVE:
            raise Refusal(errno.ENOMEM)
    elif fixed % PAGE or (fixed < old + size and old < fixed + grown):
        raise Refusal(errno.EINVAL)
    new = fixed if flags & MOVE_FIXED else memory.free_place(grown)
    memory.move(old, size, new, grown)
    return new


def madvise(process: Process, a: tuple[int, ...]) -> None:
    """``madvise(address, size, advice)``: 0. MADV_DONTNEED clears memory that is of no file.

    Other advice does nothing.
    """
    start, size, advice = a[:3]
    if start % PAGE:
        raise Refusal(errno.EINVAL)
    area = process.memory.area_at(start)
    if advice == _DONT_NEED and area is not None and not area.name.startswith("/"):
        process.memory.clear(start, size)


def brk(process: Process, a: tuple[int, ...]) -> int:
    """``brk(address)``: where the heap ends; where it ended before, if the address cannot be had."""
    start, now = process.heap
    wanted = a[0]
    old, new = -(-now // PAGE) * PAGE, -(-wanted // PAGE) * PAGE
    if wanted < start:
        return now
    try:
        if new > old:
            if not process.memory.is_free(old, new):
                return now
            process.memory.map(old, new - old, READ | WRITE, name="[heap]")
        elif new < old:
            process.memory.unmap(new, old - new)
    except Refusal:
        return now
    process.heap = (start, wanted)
    return wanted


def done(process: Process, a: tuple[int, ...]) -> None:
    """A call that changes nothing that a program here could see."""


CALLS = {
    "mmap": mmap,
    "mmap2": mmap,
    "munmap": munmap,
    "mprotect": mprotect,
    "mremap": mremap,
    "madvise": madvise,
    "brk": brk,
    "mlock": done,
    **dict.fromkeys(("munlock", "mlockall", "munlockall", "readahead"), done),
    "msync": done,
}
