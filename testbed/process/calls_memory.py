"""System calls about memory: mmap and its kin, brk."""

from __future__ import annotations

import errno

from testbed.image import Image, LoadedImage
from testbed.process.address_space import EXECUTE, PAGE, READ, WRITE
from testbed.process.known_files import image_of_file
from testbed.process.open_files import NullDevice, OpenHostFile
from testbed.process.refusal import Refusal
from testbed.process.state import Process
from testbed.words.errors import BudgetExceeded, ImageError

SHARED, PRIVATE, FIXED, ANONYMOUS, FIXED_NOREPLACE = 1, 2, 0x10, 0x20, 0x10_0000
MAY_MOVE, MOVE_FIXED = 1, 2
_DONT_NEED, _FREE = 4, 8
MOST_FILE = 256 << 20  # bytes of a file that one mapping reads


def mmap(process: Process, a: tuple[int, ...]) -> int:
    """``mmap(address, size, protection, flags, fd, offset)``: where the pages are mapped.

    A shared, writable file is refused.
    """
    address, size, protection, flags, number, offset = a[:6]
    offset <<= process.abi.map_shift
    if not size or offset % PAGE or (flags & FIXED and address % PAGE):
        raise Refusal(errno.EINVAL)
    size = -(-size // PAGE) * PAGE
    content, name, file = b"", "", None
    if not flags & ANONYMOUS:
        file = process.descriptors[process.signed(number)]
        if isinstance(file, OpenHostFile):
            if flags & 3 == SHARED and protection & WRITE:
                raise Refusal(errno.ENODEV)  # what is written there would have to reach the file
            content, name = file.read_at(min(size, MOST_FILE), offset), file.node.path
        elif not isinstance(file, NullDevice):
            raise Refusal(errno.ENODEV)
    start = _place(process, address, size, flags)
    process.memory.map(start, size, protection & 7, content, name=name, offset=offset if name else 0)
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


def munmap(process: Process, a: tuple[int, ...]) -> int:
    """``munmap(address, size)``: 0."""
    process.memory.unmap(a[0], a[1])
    return 0


def mprotect(process: Process, a: tuple[int, ...]) -> int:
    """``mprotect(address, size, protection)``: 0, or ENOMEM where something is not mapped."""
    process.memory.protect(a[0], a[1], a[2] & 7)
    return 0


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
        if old + size == area.end and memory.is_free(area.end, old + grown) and not area.name:
            memory.map(old + size, grown - size, area.protection)
            return old
        if not flags & MAY_MOVE:
            raise Refusal(errno.ENOMEM)
    elif fixed % PAGE or (fixed < old + size and old < fixed + grown):
        raise Refusal(errno.EINVAL)
    new = fixed if flags & MOVE_FIXED else memory.free_place(grown)
    memory.move(old, size, new, grown)
    return new


def madvise(process: Process, a: tuple[int, ...]) -> int:
    """``madvise(address, size, advice)``: 0. MADV_DONTNEED clears memory that is of no file.

    Other advice does nothing.
    """
    start, size, advice = a[:3]
    if start % PAGE:
        raise Refusal(errno.EINVAL)
    area = process.memory.area_at(start)
    if advice == _DONT_NEED and area is not None and not area.name.startswith("/"):
        process.memory.clear(start, size)
    return 0


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


def done(process: Process, a: tuple[int, ...]) -> int:
    """A call that changes nothing that a program here could see."""
    return 0


CALLS = {
    "mmap": mmap,
    "mmap2": mmap,
    "munmap": munmap,
    "mprotect": mprotect,
    "mremap": mremap,
    "madvise": madvise,
    "brk": brk,
    "mlock": done,
    "munlock": done,
    "msync": done,
}
