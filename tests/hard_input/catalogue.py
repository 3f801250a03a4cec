"""Every reader of files from elsewhere, with the files that are the worst for it."""

import base64
import json
import struct
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from testbed.foreign import Places, read_snapshot
from testbed.image import LoadedImage, read_image
from testbed.image.debug import debug_info
from testbed.trace import Snapshot
from testbed.trace.file import load_trace
from testbed.words.errors import BudgetExceeded
from tests.hard_input import worst_tables
from tests.hard_input.elf_files import (
    BASE,
    COMPRESSED,
    CORE,
    DYNAMIC,
    LOAD,
    NOTE,
    PROGBITS,
    STRTAB,
    SYMTAB,
    Header,
    Program,
    elf,
    with_sections,
)
from tests.unwinders.frames import uleb
from unwinders import UNWINDERS

# Dumps and trace files that cost their readers as much as ``size`` bytes can.


WORDS = 336 - 112  # of NT_PRSTATUS on x86_64, behind what comes before the registers
STACK = 0x7FFF_0000_0000


def _note(kind: int, content: bytes, owner: bytes = b"CORE") -> bytes:
    name = owner + b"\0"
    padded = name + bytes(-len(name) % 4)
    return struct.pack("<III", len(name), len(content), kind) + padded + content + bytes(-len(content) % 4)


def _registers() -> bytes:
    """NT_PRSTATUS: SP is the twentieth register, pc the seventeenth."""
    words = [0] * 28
    words[16], words[19] = 0x40_0000, STACK
    return _note(1, bytes(112) + struct.pack("<28Q", *words[:28]))


def overlapping_core(size: int) -> bytes:
    """PT_LOADs that all have the same bytes."""
    notes = _registers()
    count = size // 120
    body = notes + bytes(max(4096, size - 56 * count))
    loads = [Program(LOAD, len(notes), len(body) - len(notes), STACK + i * 0x100_0000) for i in range(count)]
    return elf(body, [Program(NOTE, 0, len(notes)), *loads], kind=CORE)


def many_pieces(size: int) -> bytes:
    """Segments of a byte each, far from each other."""
    notes = _registers()
    count = size // 57
    loads = [Program(LOAD, len(notes), 16, STACK + i * 0x1_0000) for i in range(count)]
    return elf(notes + bytes(64), [Program(NOTE, 0, len(notes)), *loads], kind=CORE)


def many_mappings(size: int) -> bytes:
    """NT_FILE with as many mappings as fit, and as many segments with code."""
    count = size // (24 + 8 + 56)
    entries = b"".join(struct.pack("<QQQ", 0x10_0000 + i * 0x2000, 0x10_1000 + i * 0x2000, 0) for i in range(count))
    names = b"".join(b"/%06x\0" % i for i in range(count))
    notes = _registers() + _note(0x4649_4C45, struct.pack("<QQ", count, 4096) + entries + names)
    loads = [Program(LOAD, len(notes), 0, 0x10_0000 + i * 0x2000, memory=4096) for i in range(count)]
    return elf(notes + bytes(64), [Program(NOTE, 0, len(notes)), *loads], kind=CORE)


def many_vdsos(size: int) -> bytes:
    """AT_SYSINFO_EHDR again and again, and an ELF file in memory that begins there."""
    count = size // 2 // 16
    notes = _registers() + _note(6, struct.pack("<QQ", 33, STACK) * count)
    file = b"\x7fELF" + bytes(size // 2)
    return elf(notes + file, [Program(NOTE, 0, len(notes)), Program(LOAD, len(notes), len(file), STACK)], kind=CORE)


def _minidump(streams: dict[int, bytes], more: bytes = b"") -> bytes:
    """A minidump for x86_64; ``more`` begins behind the directory and a CPU context: at `MORE`."""
    context = bytearray(1232)
    struct.pack_into("<I", context, 48, 0x0010_0007)
    thread = struct.pack("<IIIIQQIIII", 1, 0, 0, 0, 0, 0, 0, 0, len(context), 32 + 12 * 5)
    all_streams = {3: struct.pack("<I", 1) + thread, 4: struct.pack("<I", 0), 7: struct.pack("<H", 9) + bytes(54)}
    all_streams |= streams
    assert len(all_streams) <= 5
    at = MORE + len(more)
    directory, content = b"", b""
    for kind, data in all_streams.items():
        directory += struct.pack("<III", kind, len(data), at + len(content))
        content += data
    head = struct.pack("<4sIIIIIQ", b"MDMP", 0xA793, len(all_streams), 32, 0, 0, 0)
    return head + directory.ljust(60, b"\0") + bytes(context) + more + content


MORE = 32 + 60 + 1232


def overlapping_ranges(size: int) -> bytes:
    """Ranges that all have the same bytes."""
    count, data = size // 2 // 16, bytes(size // 2)
    entries = b"".join(struct.pack("<QII", STACK + i * 0x100_0000, len(data), MORE) for i in range(count))
    return _minidump({5: struct.pack("<I", count) + entries}, data)


def module_names(size: int) -> bytes:
    """Modules that share one very long name."""
    count = size // 2 // 108
    name = struct.pack("<I", size // 2 & ~1) + b"n\0" * (size // 4)
    module = struct.pack("<QIIII", 0x1000, 0x1000, 0, 0, MORE) + bytes(108 - 24)
    return _minidump({4: struct.pack("<I", count) + module * count}, name)


def macho_core(size: int) -> bytes:
    """Segments that all have the same bytes."""
    count = size // 2 // 72
    at = 32 + 72 * count
    segments = b"".join(
        struct.pack("<II16sQQQQIIII", 0x19, 72, b"", STACK + (i << 24), 1 << 20, at, size // 2, 3, 3, 0, 0)
        for i in range(count)
    )
    head = struct.pack("<IIIIIIII", 0xFEED_FACF, 0x0100_0007, 3, 4, count, len(segments), 0, 0)
    return head + segments + bytes(size // 2)


def _json(memory: str, rest: str = "") -> bytes:
    registers = '{"rip": "0x400000", "rsp": "0x7fff00000000"}'
    head = f'"format": "testbed snapshot", "version": 1, "arch": "x86_64", "registers": {registers}'
    return f'{{{head}, "memory": [{memory}], "images": []{rest}}}'.encode()


def compressed_json(size: int) -> bytes:
    """Memory of zeros, compressed a thousand times, again and again."""
    packed = base64.b64encode(zlib.compress(bytes(size * 16), 9)).decode()
    pieces = (
        json.dumps({"address": hex(STACK + i * (1 << 32)), "zlib": packed}) for i in range(size // (len(packed) + 60))
    )
    return _json(", ".join(pieces))


def small_json(size: int) -> bytes:
    """As many values as fit."""
    return _json("", ', "mappings": [' + ",".join(["[]"] * (size // 3)) + "]")


def small_pieces(size: int) -> bytes:
    """Memory in pieces of a byte."""
    pieces = ",".join(f'{{"address":"{STACK + 16 * i:#x}","hex":"00"}}' for i in range(size // 42))
    return _json(pieces)


def trace_that_unpacks(size: int) -> bytes:
    """A trace file whose header claims steps without end, in blocks that unpack a thousand times."""
    import zstandard

    import testbed
    from testbed.runs.files import save_run
    from testbed.trace.file_blocks import END, Blocks

    with tempfile.TemporaryDirectory() as folder:
        save_run(testbed.run("leaf_call", arch="x86_64"), Path(folder) / "trace")
        read = Blocks(Path(folder) / "trace")
    rows, registers = read.header["rows"], len(read.header["registers"])
    width = (registers + 7) // 8
    steps = zstandard.ZstdCompressor(level=3).compress(bytes(rows * (1 + width)))
    kept = [(block.kind, *read.read(block.kind, 0, "")[:1]) for block in read._blocks if block.kind == b"file"]
    regions = [{"address": 0x1000, "bytes": 0}]
    count = size // (len(steps) + 16)
    header = {**read.header, "steps": count * rows, "writes": 0, "regions": regions}
    header["images"] = [{**header["images"][0], "bytes": sum(len(content) for _, content in kept)}]
    text = json.dumps(header).encode()
    out = [struct.pack("<8sIII", b"\x89TBT\r\n\x1a\n", 2, len(text), zlib.crc32(text)), text]
    out += [_block(kind, zstandard.ZstdCompressor().compress(content), len(content)) for kind, content in kept]
    out += [_block(b"step", steps, rows * (1 + width))] * count
    return b"".join([*out, _block(END, b"", 0)])


def _block(kind: bytes, frame: bytes, size: int) -> bytes:
    checksum = zlib.crc32(frame, zlib.crc32(struct.pack("<4sIII", kind, len(frame), size, 0)))
    return struct.pack("<4sIII", kind, len(frame), size, checksum) + frame


# Program files that cost their readers as much as ``size`` bytes can: ELF, Mach-O, debug information.


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


Read = Callable[[Path], object]
Make = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class WorstFile:
    """A file of about so many bytes, and who reads it."""

    reader: str
    make: Make
    read: Read

    @property
    def name(self) -> str:
        return f"{self.reader}: {(self.make.__doc__ or '').split(chr(10))[0].split('. ')[0].rstrip('.')}"


def _image(path: Path) -> object:
    return read_image(path)


def _names(path: Path) -> object:
    """Names and lines of a few pcs, after debug information was read whole."""
    image = read_image(path)
    info = debug_info(image)
    for pc in range(image.segments[0].address, image.segments[0].address + 64):
        info.line_at(pc), info.function_at(pc), info.inlined_at(pc)
    for problem in info.problems:
        if isinstance(problem, BudgetExceeded):
            raise problem
    return info


def _dump(path: Path) -> object:
    return read_snapshot(path, Places(skip_missing=True))


def _trace(path: Path) -> object:
    return load_trace(path).load()


def _table(unwinder: str) -> Read:
    """All rows of one unwinder's table."""

    def read(path: Path) -> object:
        rows = UNWINDERS[unwinder].rows
        table = rows(read_image(path))
        for broken in getattr(table, "broken", ()):
            raise broken.why
        return table

    return read


def _stack(unwinder: str) -> Read:
    """A backtrace through the file: a stack of its own addresses."""

    def read(path: Path) -> object:
        image = read_image(path)
        base, words = 0x7FFF_0000_0000, 4096
        stack = b"".join((image.segments[0].address + 1 + i % 4000).to_bytes(8, "little") for i in range(words))
        names = ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", *(f"r{i}" for i in range(8, 16)))
        registers = dict.fromkeys(names, base) | {"rip": image.segments[0].address + 1, "rsp": base}
        snapshot = Snapshot.of_loaded(image.arch, registers, [(base, stack)], (LoadedImage(image),))
        with image.account.working():
            return UNWINDERS[unwinder].unwind(snapshot)

    return read


def _worst(reader: str, read: Read, *makes: Make) -> list[WorstFile]:
    return [WorstFile(reader, make, read) for make in makes]


WORST: tuple[WorstFile, ...] = (
    *_worst("ELF", _image, overlapping_segments, scattered_segments, segments_times_sections),
    *_worst("ELF", _image, overlapping_sections, compressed_sections, long_names, symbols_again_and_again),
    *_worst("ELF", _image, most_symbols),
    *_worst("Mach-O", _image, macho_names, macho_fixups),
    *_worst("debug information", _names, entries_without_bytes, most_entries, shared_names, shared_lines),
    *_worst("debug information", _names, shared_ranges, small_units),
    *_worst("ELF core", _dump, overlapping_core, many_pieces, many_mappings, many_vdsos),
    *_worst("minidump", _dump, overlapping_ranges, module_names),
    *_worst("Mach-O core", _dump, macho_core),
    *_worst("JSON snapshot", _dump, compressed_json, small_json, small_pieces),
    *_worst("trace file", _trace, trace_that_unpacks),
    *_worst(".eh_frame", _table("eh_frame"), worst_tables.long_cie, worst_tables.many_registers),
    *_worst(".eh_frame_hdr", _table("eh_frame_hdr"), worst_tables.overlapping_fdes),
    *_worst(".ARM.exidx", _table("ehabi"), worst_tables.shared_exidx),
    *_worst(".sframe", _table("sframe"), worst_tables.shared_pages),
    *_worst("expressions of a stack", _stack("eh_frame"), worst_tables.expressions),
    *_worst(
        "instructions",
        _table("prologue_analysis"),
        worst_tables.pushes,
        worst_tables.small_functions,
        worst_tables.branches,
    ),
)
