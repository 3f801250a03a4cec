"""ELF files put together header by header, so that headers may say anything: x86_64, 64 bits."""

import struct
from dataclasses import dataclass

BASE = 0x40_0000
LOAD, DYNAMIC, NOTE = 1, 2, 4
PROGBITS, SYMTAB, STRTAB = 1, 2, 3
COMPRESSED = 0x800
EXECUTABLE, CORE = 2, 4


@dataclass(frozen=True)
class Program:
    """A program header. ``offset`` counts from the beginning of the body."""

    kind: int
    offset: int
    size: int
    address: int = BASE
    memory: int | None = None
    flags: int = 5


@dataclass(frozen=True)
class Header:
    """A section header. ``offset`` counts from the beginning of the body; ``name``: of the place in the names."""

    name: int
    kind: int
    offset: int
    size: int
    address: int = 0
    flags: int = 0
    link: int = 0
    entry_size: int = 0


def elf(
    body: bytes,
    programs: list[Program] | None = None,
    sections: list[Header] | None = None,
    *,
    names: int = 0,
    kind: int = EXECUTABLE,
    machine: int = 62,
) -> bytes:
    """The file: header, program headers, section headers, body. ``names`` is the number of the section of names."""
    programs, sections = programs or [], sections or []
    places = 64 + 56 * len(programs)
    start = places + 64 * len(sections)
    ident = b"\x7fELF" + bytes((2, 1, 1)) + bytes(9)
    counts = struct.pack("<HHHHHH", 64, 56, len(programs), 64, len(sections), names)
    head = struct.pack("<HHIQQQI", kind, machine, 1, BASE, 64 if programs else 0, places if sections else 0, 0)
    out = [ident, head, counts]
    for p in programs:
        memory = p.size if p.memory is None else p.memory
        out.append(struct.pack("<IIQQQQQQ", p.kind, p.flags, start + p.offset, p.address, p.address, p.size, memory, 0))
    for s in sections:
        place = (s.flags, s.address, start + s.offset if s.kind else 0, s.size, s.link, 0, 1, s.entry_size)
        out.append(struct.pack("<IIQQQQIIQQ", s.name, s.kind, *place))
    return b"".join(out) + body


def with_sections(parts: dict[str, bytes], *, code: bytes = b"\x90" * 4096, machine: int = 62) -> bytes:
    """An executable with code at BASE and sections by name, each at an address of its own behind the code."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*parts, ".names"))
    body, headers = bytearray(code), [Header(0, 0, 0, 0)]
    for name, data in {**parts, ".names": names}.items():
        kind = STRTAB if name == ".names" else PROGBITS
        at = names.index(b"\0" + name.encode() + b"\0") + 1
        headers.append(Header(at, kind, len(body), len(data), BASE + 0x1000_0000 + len(body)))
        body += data
    program = Program(LOAD, 0, len(code), BASE)
    return elf(bytes(body), [program], headers, names=len(headers) - 1, machine=machine)
