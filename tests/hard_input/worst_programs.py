"""Program files that cost their readers as much as ``size`` bytes can: ELF, Mach-O, debug information."""

import struct
import zlib

from tests.hard_input.elf_files import (
    BASE,
    COMPRESSED,
    DYNAMIC,
    LOAD,
    PROGBITS,
    STRTAB,
    SYMTAB,
    Header,
    Program,
    elf,
    with_sections,
)
from tests.unwinders.frames import uleb


def overlapping_segments(size: int) -> bytes:
    """PT_LOADs that all map the same bytes."""
    count = min(1900, size // 112)
    body = bytes(size - 56 * count)
    return elf(body, [Program(LOAD, 0, len(body), BASE + i * 0x1000_0000) for i in range(count)])


def scattered_segments(size: int) -> bytes:
    """One page each, far from each other."""
    return elf(bytes(4096), [Program(LOAD, 0, 4096, BASE + i * 0x100_0000) for i in range(size // 56)])


def segments_times_sections(size: int) -> bytes:
    """PT_DYNAMIC segments and sections: a library looks for the section of each such segment."""
    count = min(60_000, size // 120)
    sections = [Header(0, PROGBITS, 0, 0) for _ in range(count)]
    return elf(bytes(64), [Program(DYNAMIC, 0, 64) for _ in range(min(count, 1990))], sections)


def overlapping_sections(size: int) -> bytes:
    """Sections that all have the same bytes, each with a name of its own."""
    count = min(20_000, size // 144)
    names = b"\0" + b"".join(b"%06x\0" % i for i in range(count))
    body = bytes(size - 71 * count) + names
    headers = [Header(1 + 7 * i, PROGBITS, 0, len(body)) for i in range(count)]
    headers.append(Header(0, STRTAB, len(body) - len(names), len(names)))
    return elf(body, [], headers, names=count)


def compressed_sections(size: int) -> bytes:
    """Sections of zeros, compressed a thousand times."""
    packed = bytearray(zlib.compress(bytes(size * 64), 9))
    content = struct.pack("<IIQQ", 1, 0, size * 64, 1) + packed
    names = b"\0" + b"".join(b"%06x\0" % i for i in range(200))
    headers = [Header(1 + 7 * i, PROGBITS, 0, len(content), flags=COMPRESSED) for i in range(200)]
    headers.append(Header(0, STRTAB, len(content), len(names)))
    return elf(content + names, [], headers, names=200)


def long_names(size: int) -> bytes:
    """Symbols that share one very long name."""
    count = size // 48
    strings = b"\0" + b"n" * (size - 24 * count) + b"\0"
    symbols = b"".join(struct.pack("<IBBHQQ", 1 + i % 9, 0x12, 0, 1, BASE + i, 1) for i in range(count))
    headers = [
        Header(0, 0, 0, 0),
        Header(0, SYMTAB, 0, len(symbols), link=2, entry_size=24),
        Header(0, STRTAB, len(symbols), len(strings)),
    ]
    return elf(symbols + strings, [Program(LOAD, 0, len(symbols))], headers, names=2)


def symbols_again_and_again(size: int) -> bytes:
    """Many symbol tables over the same bytes."""
    count = size // 128
    symbols = b"".join(struct.pack("<IBBHQQ", 1, 0x12, 0, 1, BASE + i, 1) for i in range(size // 48))
    tables = [Header(0, SYMTAB, 0, len(symbols), link=count, entry_size=24) for _ in range(count)]
    headers = [*tables, Header(0, STRTAB, len(symbols), 4)]
    return elf(symbols + b"\0ab\0", [Program(LOAD, 0, len(symbols))], headers, names=count)


def most_symbols(size: int) -> bytes:
    """An ordinary symbol table, as large as fits."""
    symbols = b"".join(struct.pack("<IBBHQQ", 1, 0x12, 0, 1, BASE + i, 1) for i in range(size // 24))
    headers = [
        Header(0, 0, 0, 0),
        Header(0, SYMTAB, 0, len(symbols), link=2, entry_size=24),
        Header(0, STRTAB, len(symbols), 4),
    ]
    return elf(symbols + b"\0ab\0", [Program(LOAD, 0, len(symbols))], headers, names=2)


def macho(commands: bytes, count: int, body: bytes) -> bytes:
    """A Mach-O executable for x86_64, its first segment over the whole file."""
    size = 32 + 72 + len(commands) + len(body)
    first = struct.pack("<II16sQQQQIIII", 0x19, 72, b"__TEXT", 1 << 32, size, 0, size, 5, 5, 0, 0)
    head = struct.pack("<IIIIIIII", 0xFEED_FACF, 0x0100_0007, 3, 2, 1 + count, 72 + len(commands), 0, 0)
    return head + first + commands + body


def macho_names(size: int) -> bytes:
    """Symbols that share one very long name."""
    count = size // 32
    strings = b"\0_" + b"n" * (size // 2) + b"\0"
    at = 32 + 72 + 24
    command = struct.pack("<IIIIII", 2, 24, at, count, at + 16 * count, len(strings))
    symbols = b"".join(struct.pack("<IBBHQ", 1 + i % 9, 0x01, 0, 0, i) for i in range(count))
    return macho(command, 1, symbols + strings)


def macho_fixups(size: int) -> bytes:
    """A rebase program of a few bytes that lists a word for every byte of the file, in many segments."""
    count = size // 2 // 72
    at = 32 + 72 + 72 * count + 48
    segments = b"".join(
        struct.pack("<II16sQQQQIIII", 0x19, 72, b"S", (2 << 32) + (i << 24), 1 << 20, 0, size // 2, 3, 3, 0, 0)
        for i in range(count)
    )
    times = uleb(size // 16 - 1)  # all words of a segment
    program = b"\x11" + (b"\x21\x00\x60" + times) * (size // 2 // (3 + len(times)))
    info = struct.pack("<II", 0x8000_0022, 48) + struct.pack("<II", at, len(program)) + bytes(32)
    return macho(segments + info, count + 1, program)


def _unit(entries: bytes, abbreviations: int = 0) -> bytes:
    body = struct.pack("<HIB", 4, abbreviations, 8) + entries
    return struct.pack("<I", len(body)) + body


def _abbreviation(code: int, tag: int, children: bool, attributes: list[tuple[int, int]]) -> bytes:
    listed = b"".join(uleb(name) + uleb(form) for name, form in attributes)
    return uleb(code) + uleb(tag) + bytes((children,)) + listed + b"\0\0"


FLAG_PRESENT, STRP, SEC_OFFSET, ADDR, DATA8 = 0x19, 0x0E, 0x17, 0x01, 0x07


def entries_without_bytes(size: int) -> bytes:
    """Entries of one byte with thousands of attributes that take none."""
    many = _abbreviation(2, 0x2E, False, [(0x3C00 + i, FLAG_PRESENT) for i in range(size // 12)])
    top = _abbreviation(1, 0x11, True, [])
    return with_sections({".debug_abbrev": top + many + b"\0", ".debug_info": _unit(b"\1" + b"\2" * (size // 2))})


def most_entries(size: int) -> bytes:
    """Functions of as few bytes as they can have."""
    kinds = _abbreviation(1, 0x11, True, []) + _abbreviation(2, 0x2E, False, [(0x34, FLAG_PRESENT)]) + b"\0"
    return with_sections({".debug_abbrev": kinds, ".debug_info": _unit(b"\1" + b"\2" * size)})


def shared_names(size: int) -> bytes:
    """Functions that share one very long name."""
    kinds = (
        _abbreviation(1, 0x11, True, [])
        + _abbreviation(2, 0x2E, False, [(0x03, STRP), (0x11, ADDR), (0x12, DATA8)])
        + b"\0"
    )
    entry = b"\2" + struct.pack("<IQQ", 0, BASE, 16)
    parts = {
        ".debug_abbrev": kinds,
        ".debug_info": _unit(b"\1" + entry * (size // 2 // len(entry))),
        ".debug_str": b"n" * (size // 2) + b"\0",
    }
    return with_sections(parts)


def _units_of_lines(header: bytes, rows: bytes, room: int) -> bytes:
    """Units that all name one line table, as many as there is room for."""
    start = b"\0\x09\x02" + struct.pack("<Q", BASE)
    program = header + start + rows + b"\0\1\1"
    unit = _unit(b"\1" + bytes(4))
    parts = {
        ".debug_abbrev": _abbreviation(1, 0x11, False, [(0x10, SEC_OFFSET)]) + b"\0",
        ".debug_info": unit * (room // len(unit)),
        ".debug_line": struct.pack("<I", len(program)) + program,
    }
    return with_sections(parts)


def shared_lines(size: int) -> bytes:
    """Units that all name one line table, each of whose bytes makes a row."""
    header = struct.pack("<HI", 4, 13) + bytes((1, 1, 1, 0, 1, 1)) + b"\0" * 7
    return _units_of_lines(header, b"\x01" * (size // 2), size // 2)


def shared_ranges(size: int) -> bytes:
    """Functions that all name one list of ranges."""
    kinds = _abbreviation(1, 0x11, True, []) + _abbreviation(2, 0x2E, False, [(0x55, SEC_OFFSET)]) + b"\0"
    ranges = b"".join(struct.pack("<QQ", BASE + i % 4000, BASE + i % 4000 + 2) for i in range(size // 2 // 16))
    parts = {
        ".debug_abbrev": kinds,
        ".debug_info": _unit(b"\1" + (b"\2" + bytes(4)) * (size // 2 // 5)),
        ".debug_ranges": ranges + bytes(16),
    }
    return with_sections(parts)


def small_units(size: int) -> bytes:
    """Units of a row each: a look-up of a line asks each of their tables."""
    header = struct.pack("<HI", 4, 8) + bytes((1, 1, 1, 0, 1, 1)) + b"\0\0"
    return _units_of_lines(header, b"\x01\x02\x01", size)
