"""Mach-O files made by hand, and the file or refusal that is read from one."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from testbed.image import Image
from testbed.words.errors import ImageError

BASE = 0x1_0000_0000
ARM64_CPU, X86_64_CPU = 0x0100_000C, 0x0100_0007
EXECUTABLE, LIBRARY, PIE = 2, 6, 0x0020_0000
CODE = 0x8000_0400
READ, WRITE, EXECUTE = 1, 2, 4

SYMTAB, UNIXTHREAD, SEGMENT, FUNCTION_STARTS, MAIN = 0x02, 0x05, 0x19, 0x26, 0x8000_0028
DYLD_INFO, CHAINED = 0x8000_0022, 0x8000_0034


@dataclass
class File:
    """Bytes under construction: load commands in front, everything else behind one page of header."""

    cpu: int = ARM64_CPU
    kind: int = EXECUTABLE
    flags: int = PIE
    commands: list[bytes] = field(default_factory=list)
    content: bytearray = field(default_factory=lambda: bytearray(0x1000))

    def add(self, command: int, body: bytes) -> File:
        self.commands.append(struct.pack("<II", command, 8 + len(body)) + body)
        return self

    def put(self, data: bytes) -> int:
        """Data at the end of the file; its file offset."""
        offset = len(self.content)
        self.content += data + bytes(-len(data) % 8)
        return offset

    def segment(
        self,
        name: str,
        address: int,
        size: int,
        offset: int,
        file_size: int,
        permissions: int,
        sections: Sequence[tuple[str, int, int, int, int]] = (),
    ) -> File:
        """``sections``: (name, address, size, file offset, flags)."""
        head = struct.pack(
            "<16sQQQQIIII",
            name.encode(),
            address,
            size,
            offset,
            file_size,
            permissions,
            permissions,
            len(sections),
            0,
        )
        body = b"".join(
            struct.pack("<16s16sQQIIIIIIII", n.encode(), name.encode(), a, s, o, 2, 0, 0, f, 0, 0, 0)
            for n, a, s, o, f in sections
        )
        return self.add(SEGMENT, head + body)

    def linkedit(self, command: int, data: bytes) -> File:
        return self.add(command, struct.pack("<II", self.put(data), len(data)))

    def symbols(self, *entries: tuple[str, int, int, int]) -> File:
        """``entries``: (name, type, section number, value)."""
        strings, table = b"\0", b""
        for name, kind, section, value in entries:
            table += struct.pack("<IBBHQ", len(strings), kind, section, 0, value)
            strings += name.encode() + b"\0"
        at, names = self.put(table), self.put(strings)
        return self.add(SYMTAB, struct.pack("<IIII", at, len(entries), names, len(strings)))

    def bytes(self) -> bytes:
        commands = b"".join(self.commands)
        header = struct.pack(
            "<IIIIIIII", 0xFEED_FACF, self.cpu, 0, self.kind, len(self.commands), len(commands), self.flags, 0
        )
        out = bytearray(self.content)
        out[: len(header) + len(commands)] = header + commands
        return bytes(out)


def program(**changed: int) -> File:
    """`__TEXT` with 32 bytes of code at BASE + 0x1000, `__DATA` with 64 bytes and 64 of zeros at BASE + 0x4000."""
    file = File(**changed)
    code = file.put(bytes(range(32)))
    data = file.put(bytes(64))
    file.segment("__PAGEZERO", 0, BASE, 0, 0, 0)
    file.segment("__TEXT", BASE, 0x2000, 0, code + 32, READ | EXECUTE, [("__text", BASE + 0x1000, 32, code, CODE)])
    return file.segment(
        "__DATA",
        BASE + 0x4000,
        128,
        data,
        64,
        READ | WRITE,
        [("__data", BASE + 0x4000, 64, data, 0), ("__bss", BASE + 0x4040, 64, 0, 1)],
    )


def universal(*parts: tuple[int, bytes], wide: bool = False) -> bytes:
    """A universal file of (cpu type, bytes) parts; ``wide``: with 64-bit offsets."""
    head, body = struct.pack(">II", 0xCAFE_BABF if wide else 0xCAFE_BABE, len(parts)), b""
    for cpu, content in parts:
        at = 0x4000 + len(body)
        head += struct.pack(">IIQQII" if wide else ">IIIII", cpu, 0, at, len(content), 14, *((0,) if wide else ()))
        body += content + bytes(-len(content) % 0x1000)
    return head.ljust(0x4000, b"\0") + body


# What reading a Mach-O file made by hand gives: an image, or an error with its place.


DATA = BASE + 0x4000


Read = Callable[[File | bytes], Image]


def refusal(read: Read, content: File | bytes) -> ImageError:
    with pytest.raises(ImageError) as caught:
        read(content)
    assert "made.macho: at offset 0x" in str(caught.value)
    return caught.value
