"""The container of a trace file: a header that people can read, and compressed blocks with checksums.

Layout, little-endian::

    0   8  magic 89 54 42 54 0d 0a 1a 0a ("TBT", framed as PNG frames its name: text mode breaks it visibly)
    8   4  version of the format
    12  4  size of the header
    16  4  CRC-32 of the header
    20     header: a JSON object in UTF-8
    then   blocks: kind (4 letters), stored size (4), original size (4), CRC-32 of all this but itself (4), zstd frame
    last   a block of kind "end." and size 0; nothing follows

Sizes are checked against the file before anything is allocated for them: a block is never larger than BLOCK, and
a file with fewer blocks than its header needs is refused by its list of blocks.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import zstandard

from testbed.errors import TraceFileError

MAGIC = b"\x89TBT\r\n\x1a\n"
VERSION = 1
BLOCK = 1 << 26  # bytes of a block before compression
HEADER = 1 << 24
END = b"end."
_LEVEL = 3
_START = struct.Struct("<8sIII")
_HEAD = struct.Struct("<4sIII")


class Block(NamedTuple):
    """A block in the file: ``offset`` of its head, sizes of its frame and of what it holds, checksum."""

    kind: bytes
    offset: int
    stored: int
    size: int
    checksum: int


def write_blocks(file: BinaryIO, header: Mapping[str, Any], blocks: Iterable[tuple[bytes, bytes]]) -> None:
    """A whole file: the header, then ``(kind, bytes)`` in order."""
    text = json.dumps(header, indent=1).encode()
    file.write(_START.pack(MAGIC, VERSION, len(text), zlib.crc32(text)) + text)
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False)
    for kind, content in blocks:
        assert len(content) <= BLOCK
        frame = compressor.compress(content)
        file.write(_head(kind, frame, len(content)) + frame)
    file.write(_head(END, b"", 0))


def _head(kind: bytes, frame: bytes, size: int) -> bytes:
    return _HEAD.pack(kind, len(frame), size, _checksum(kind, frame, size))


def _checksum(kind: bytes, frame: bytes | memoryview, size: int) -> int:
    return zlib.crc32(frame, zlib.crc32(_HEAD.pack(kind, len(frame), size, 0)))


class Blocks:
    """A trace file opened for reading: ``header``, and the blocks in the order in which they were written.

    Raises TraceFileError for a file that is foreign, of a newer version, truncated or changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                start = file.read(_START.size)
                size, checksum = self._start(start)
                text = file.read(size)
                rest = file.read()
        except OSError as error:
            raise TraceFileError(path, 0, error.strerror or str(error)) from error
        if len(text) < size:
            raise self.error(_START.size, f"the file ends inside its header of {size} bytes")
        if zlib.crc32(text) != checksum:
            raise self.error(_START.size, "the header is damaged: its checksum differs")
        try:
            self.header: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self.error(_START.size, f"the header is no JSON: {error}") from error
        self._rest, self._base = memoryview(rest), _START.size + size
        self._blocks = self._listed()
        self._next = 0

    def error(self, offset: int, detail: str) -> TraceFileError:
        return TraceFileError(self.path, offset, detail)

    def _start(self, start: bytes) -> tuple[int, int]:
        """Size and checksum of the header."""
        if start[:8] != MAGIC[: len(start)] or not start:
            raise self.error(0, "no trace file of testbed (testbed record writes them)")
        if len(start) < _START.size:
            raise self.error(len(start), "the file ends inside its first bytes")
        _, version, size, checksum = _START.unpack(start)
        if version != VERSION:
            raise self.error(
                8, f"format version {version}; this testbed reads version {VERSION}: record again, or update testbed"
            )
        if size > HEADER:
            raise self.error(12, f"the header claims {size} bytes; at most {HEADER} are read")
        return size, checksum

    def _listed(self) -> list[Block]:
        """Every block up to the last one; nothing is decompressed yet."""
        blocks: list[Block] = []
        at = 0
        while True:
            head = self._rest[at : at + _HEAD.size]
            if len(head) < _HEAD.size:
                raise self.error(self._base + at, "the file ends before its last block: it is truncated")
            kind, stored, size, checksum = _HEAD.unpack(head)
            block = Block(kind, self._base + at, stored, size, checksum)
            at += _HEAD.size + stored
            if at > len(self._rest):
                raise self.error(block.offset, f"a block of {stored} bytes reaches past the end: the file is truncated")
            if size > BLOCK:
                raise self.error(block.offset, f"a block claims {size} bytes; at most {BLOCK} are read")
            if kind == END:
                self._frame(block)
                break
            blocks.append(block)
        if at != len(self._rest):
            raise self.error(self._base + at, "bytes follow the last block")
        return blocks

    def _frame(self, block: Block) -> memoryview:
        at = block.offset - self._base + _HEAD.size
        frame = self._rest[at : at + block.stored]
        if _checksum(block.kind, frame, block.size) != block.checksum:
            raise self.error(block.offset, "a block is damaged: its checksum differs")
        return frame

    def left(self, kind: bytes) -> int:
        """How many blocks of a kind are still to be taken."""
        return sum(block.kind == kind for block in self._blocks[self._next :])

    def take(self, kind: bytes, what: str) -> tuple[bytes, int]:
        """The next block, which must be of this kind: its content, and its offset in the file."""
        if self._next >= len(self._blocks) or self._blocks[self._next].kind != kind:
            offset = self._blocks[self._next].offset if self._next < len(self._blocks) else self._base
            raise self.error(offset, f"{what} is missing here")
        block = self._blocks[self._next]
        self._next += 1
        frame = self._frame(block)
        try:
            if zstandard.frame_content_size(frame) != block.size:
                raise self.error(block.offset, f"{what}: the frame has another size than the block says")
            return zstandard.ZstdDecompressor().decompress(frame), block.offset
        except zstandard.ZstdError as error:
            raise self.error(block.offset, f"{what}: {error}") from error

    def done(self) -> None:
        """Raises TraceFileError where blocks are left."""
        if self._next < len(self._blocks):
            raise self.error(self._blocks[self._next].offset, "a block that the header does not tell of")
