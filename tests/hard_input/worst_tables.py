"""Unwind tables and code that cost their readers as much as ``size`` bytes can."""

import struct

from tests.hard_input.elf_files import BASE, LOAD, STRTAB, SYMTAB, Header, Program, elf, with_sections
from tests.unwinders.frames import uleb

ADVANCE, NOP = 0x41, 0x00


def _cie(instructions: bytes) -> bytes:
    body = struct.pack("<IB", 0, 1) + b"\0" + bytes((1, 0x78, 16)) + instructions
    return struct.pack("<I", len(body)) + body


def _fde(at: int, start: int, length: int, instructions: bytes) -> bytes:
    body = struct.pack("<IQQ", at + 4, start, length) + instructions
    return struct.pack("<I", len(body)) + body


def _frames(cie: bytes, fdes: list[tuple[int, int, bytes]]) -> bytes:
    out = bytearray(cie)
    for start, length, instructions in fdes:
        out += _fde(len(out), start, length, instructions)
    return bytes(out) + bytes(4)


def long_cie(size: int) -> bytes:
    """One CIE of many instructions, and FDEs that all begin with what it leaves."""
    cie = _cie(b"\x0c\x07\x08" + b"\x90\x01" * (size // 4))
    return with_sections({".eh_frame": _frames(cie, [(BASE + i, 1, b"") for i in range(min(4000, size // 2 // 24))])})


def many_registers(size: int) -> bytes:
    """Rows with rules for 250 registers each, and a row for every three bytes."""
    rules = b"".join(b"\x05" + uleb(i) + b"\x01" for i in range(250))
    cie = _cie(b"\x0c\x07\x08" + b"\x90\x01" + rules)
    body = bytes((ADVANCE, 0x83, 0x02, ADVANCE, 0x83, 0x03)) * (size // 6)
    parts = {".eh_frame": _frames(cie, [(BASE, 0x40_0000, body)])}
    return with_sections(parts, code=bytes(4096))


def overlapping_fdes(size: int) -> bytes:
    """A search table whose entries lead into the middle of one long FDE, where each finds an FDE of its own."""
    inner = struct.pack("<I", size // 4)  # a length that reaches far
    frames = bytearray(_cie(b"\x0c\x07\x08\x90\x01"))
    first = len(frames)
    count = size // 4 // 24
    for i in range(count):
        at = first + 24 * i
        frames += inner + struct.pack("<IQQ", at + 4, BASE + i, 1)
    frames += bytes(size // 4 + 64)
    made = with_sections({".eh_frame": bytes(frames), ".eh_frame_hdr": bytes(12 + 8 * count)})
    at = made.index(bytes(frames))
    address = BASE + 0x1000_0000 + 4096
    header = address + len(frames)
    pairs = b"".join(struct.pack("<ii", BASE + i - header, address + first + 24 * i - header) for i in range(count))
    head = bytes((1, 0x1B, 0x03, 0x3B)) + struct.pack("<iI", address - (header + 4), count)
    return made[: at + len(frames)] + head + pairs + made[at + len(frames) + len(head) + len(pairs) :]


def shared_exidx(size: int) -> bytes:
    """Entries of `.ARM.exidx` that all name one entry of `.ARM.extab`, the longest there is. For arm32: 32 bits."""
    count = size // 8
    text, table = bytes(4096), struct.pack("<I", 0x81FF_0000) + bytes(1020)
    base = 0x1_0000
    extab = base + len(text)
    index = extab + len(table)
    entries = b"".join(
        struct.pack("<II", base + 2 * i - (index + 8 * i) & 0x7FFF_FFFF, extab - (index + 8 * i + 4) & 0x7FFF_FFFF)
        for i in range(count)
    )
    names = b"\0.ARM.exidx\0.ARM.extab\0"
    body = text + table + entries + names
    headers = [
        (0, 0, 0, 0, 0),
        (12, 1, extab, 4096, len(table)),
        (1, 0x7000_0001, index, 4096 + len(table), len(entries)),
        (0, 3, 0, 4096 + len(table) + len(entries), len(names)),
    ]
    start = 52 + 32 + 40 * len(headers)
    head = b"\x7fELF" + bytes((1, 1, 1)) + bytes(9) + struct.pack("<HHIIII", 2, 40, 1, base, 52, 84)
    head += struct.pack("<IHHHHHH", 0x0500_0000, 52, 32, 1, 40, len(headers), 3)
    program = struct.pack("<IIIIIIII", 1, start, base, base, len(body), len(body), 5, 0)
    sections = b"".join(
        struct.pack("<IIIIIIIIII", name, kind, 2, address, start + at if kind else 0, length, 0, 0, 4, 0)
        for name, kind, address, at, length in headers
    )
    return head + program + sections + body


def shared_pages(size: int) -> bytes:
    """Functions of `.sframe`, one around all others, whose rows are read for each gap between them."""
    count = size // 2 // 20
    rows = b"".join(struct.pack("<IBb", i, 0x03, 8) for i in range(size // 2 // 6))
    functions = [struct.pack("<iIIIBBH", 4096 + 2 * i, 1, 0, 0, 2, 0, 0) for i in range(count)]
    functions.append(struct.pack("<iIIIBBH", 4096, 4 * count, 0, len(rows) // 6, 2, 0, 0))
    body = b"".join(functions)
    head = struct.pack(
        "<HBBBbbBIIIII", 0xDEE2, 2, 0, 3, 0, -8, 0, len(functions), len(rows) // 6, len(rows), 0, len(body)
    )
    return with_sections({".sframe": head + body + rows})


def expressions(size: int) -> bytes:
    """A CFA and sixteen registers by expressions that go round and round, for every frame of a stack."""
    long = b"\x12\x13" * 2000
    registers = b"".join(bytes((0x16, i)) + uleb(len(long)) + long for i in (3, 6, 12, 13, 14, 15))
    cfa = b"\x77\x10" + b"\x12\x13" * 2000
    cie = _cie(b"\x0f" + uleb(len(cfa)) + cfa + b"\x90\x01" + registers)
    return with_sections({".eh_frame": _frames(cie, [(BASE, 4096, b"")])})


def code(size: int, instructions: bytes) -> bytes:
    """A function of these instructions, over and over."""
    text = (instructions * (size // len(instructions) + 1))[:size]
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, BASE, len(text))
    headers = [
        Header(0, 0, 0, 0),
        Header(0, SYMTAB, len(text), 48, link=2, entry_size=24),
        Header(0, STRTAB, len(text) + 48, 3),
    ]
    return elf(text + symbols + b"\0f\0", [Program(LOAD, 0, len(text))], headers, names=2)


def pushes(size: int) -> bytes:
    """Pushes, each of which is one slot more in every state behind it."""
    return code(min(size, 600_000), b"\x50")


def small_functions(size: int) -> bytes:
    """Functions that lie inside one another: each is analysed whole."""
    text = (b"\x50\x58\x74\xfc" * (size // 8 + 1))[: size // 2]
    count = size // 2 // 24
    symbols = bytes(24) + b"".join(
        struct.pack("<IBBHQQ", 1, 0x12, 0, 1, BASE + 4 * i, len(text) - 4 * i) for i in range(count)
    )
    headers = [
        Header(0, 0, 0, 0),
        Header(0, SYMTAB, len(text), len(symbols), link=2, entry_size=24),
        Header(0, STRTAB, len(text) + len(symbols), 3),
    ]
    return elf(text + symbols + b"\0f\0", [Program(LOAD, 0, len(text))], headers, names=2)


def branches(size: int) -> bytes:
    """Branches back and forth between pushes and pops: states meet everywhere."""
    return code(size, b"\x50\x75\x02\x58\x74\xf9\x51\x59")
