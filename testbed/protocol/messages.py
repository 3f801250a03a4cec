"""The lines that we write, each one JSON object in ASCII, without spaces and with its keys in one order.

No key occurs twice in a line, and apart from paths no text in it needs an escape: who reads them in C may look for
``"rsp":"`` and go on behind it. Numbers that are addresses or registers are text, ``0x`` and hexadecimal, because
JSON's own lose bits above 2**53; bytes are hexadecimal digits, two each, lowest address first. The format is
`docs/protocol.md`, and ``protocol.schema.json`` beside this file.
"""

from __future__ import annotations

import json

from testbed.arch import Arch
from testbed.image import LoadedImage
from testbed.trace import Snapshot
from testbed.words.errors import UnreadableMemory

PROTOCOL = 1  # the version: another number is another language
LARGEST_READ = 1 << 20  # bytes of memory, or of a file, in one message
STACK_BELOW, STACK_ABOVE = 128, 1024  # bytes of the stack, from SP, that come with a snapshot unless others are asked


def hello_line() -> bytes:
    """The first line."""
    return f'{{"type":"hello","protocol":{PROTOCOL}}}\n'.encode("ascii")


def session_lines(arch: Arch, images: tuple[LoadedImage, ...], pac_mask: int | None) -> bytes:
    """What all snapshots that follow have in common: a ``session`` line, then an ``image`` line for each image."""
    mask = "null" if pac_mask is None else f'"{pac_mask:#x}"'
    lines = [
        f'{{"type":"session","arch":"{arch.name}","word":{arch.word},"pc":"{arch.pc}","sp":"{arch.sp}",'
        f'"pac_mask":{mask},"images":{len(images)}}}\n'
    ]
    for index, loaded in enumerate(images):
        image = loaded.image
        records = ",".join(
            f'"{isa.name}":"{image.frame_records.get(isa.name, isa.records[0]).name}"' for isa in arch.isas
        )
        starts = [segment.address for segment in image.segments]
        ends = [segment.address + segment.size for segment in image.segments]
        start, end = min(starts, default=0) + loaded.bias, max(ends, default=0) + loaded.bias
        lines.append(
            f'{{"type":"image","index":{index},"path":{json.dumps(str(image.path.absolute()))},"bias":"{_bias(loaded)}",'
            f'"start":"{start:#x}","end":"{end:#x}","size":{len(file_content(loaded))},"frame_records":{{{records}}}}}\n'
        )
    return "".join(lines).encode("ascii")


def snapshot_line(number: int, snapshot: Snapshot, below: int, above: int) -> bytes:
    """One request. The stack is that from SP - below to SP + above, as far as it is mapped; none, where SP is wild."""
    registers = ",".join([f'"{name}":"{value:#x}"' for name, value in snapshot.registers.items()])
    start, stack = _stack(snapshot, below, above)
    return (
        f'{{"type":"snapshot","id":{number},"registers":{{{registers}}},'
        f'"stack_address":"{start:#x}","stack":"{stack.hex()}"}}\n'
    ).encode("ascii")


def bytes_line(data: bytes) -> bytes:
    """The answer to a request for memory, or for a part of an image's file; no bytes: there are none."""
    return f'{{"type":"bytes","bytes":"{data.hex()}"}}\n'.encode("ascii")


def readable(snapshot: Snapshot, address: int, size: int) -> bytes:
    """The memory from an address on: ``size`` bytes, or fewer where what is mapped ends before; none outside of it."""
    memory, found = snapshot.memory, b""
    try:
        while len(found) < size:  # mappings that touch are read as one
            end = memory.mapped_until(address + len(found))
            found += memory.read(address + len(found), min(size - len(found), end - address - len(found)))
    except UnreadableMemory:
        pass
    return found


def file_content(loaded: LoadedImage) -> bytes:
    """The image's whole file; of an image without one, nothing."""
    image = loaded.image
    if image.content:
        return image.content
    try:
        return image.path.read_bytes()
    except OSError:
        return b""


def _bias(loaded: LoadedImage) -> str:
    """Run-time minus link-time address, modulo the address space: never below zero."""
    return f"{loaded.bias & loaded.image.arch.word_mask:#x}"


def _stack(snapshot: Snapshot, below: int, above: int) -> tuple[int, bytes]:
    sp = snapshot.sp
    try:
        size = min(snapshot.memory.mapped_until(sp) - sp, above)
        while below:
            try:
                return sp - below, snapshot.memory.read(sp - below, below + size)
            except UnreadableMemory:
                below //= 2
        return sp, snapshot.memory.read(sp, size)
    except UnreadableMemory:
        return sp, b""
