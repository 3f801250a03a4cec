"""Dumps and trace files that cost their readers as much as ``size`` bytes can."""

import base64
import json
import struct
import tempfile
import zlib
from pathlib import Path

from tests.hard_input.elf_files import CORE, LOAD, NOTE, Program, elf

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
