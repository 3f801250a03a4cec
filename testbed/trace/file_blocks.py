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
a file with fewer blocks than its header needs is refused by its list of blocks. Opening a file reads its header and the
heads of its blocks; what is in a block is read, checked and decompressed when it is asked for.

The header comes first although only the end of a run tells how long it is: a writer that does not know it yet leaves
room, which stays filled with blanks.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import zstandard

from testbed.words.budget import Account, Budget
from testbed.words.errors import TraceFileError
from testbed.words.files import open_regular, said

MAGIC = b"\x89TBT\r\n\x1a\n"
VERSION = 2
BLOCK = 1 << 26  # bytes of a block before compression
HEADER = 1 << 24
ROOM = 1 << 14  # bytes that a header may grow by while the blocks are written
END = b"end."
HELD = 8  # the part of all blocks that is ever held at once: a run may be looked at in pieces
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


def write_blocks(
    file: BinaryIO,
    header: Mapping[str, Any],
    blocks: Iterable[tuple[bytes, bytes]],
    *,
    final: Callable[[], Mapping[str, Any]] | None = None,
) -> None:
    """A whole file: the header, then ``(kind, bytes)`` in order.

    ``final`` gives the header that is right once all blocks are written; ROOM bytes more than ``header`` may it take.
    """
    text = json.dumps(header, indent=1).encode()
    if final is not None:
        text += b" " * ROOM
    file.write(_START.pack(MAGIC, VERSION, len(text), zlib.crc32(text)) + text)
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False)
    for kind, content in blocks:
        assert len(content) <= BLOCK
        frame = compressor.compress(content)
        file.write(_head(kind, frame, len(content)) + frame)
    file.write(_head(END, b"", 0))
    if final is not None:
        right = json.dumps(final(), indent=1).encode()
        assert len(right) <= len(text), "the final header needs more room"
        right = right.ljust(len(text))
        file.seek(0)
        file.write(_START.pack(MAGIC, VERSION, len(right), zlib.crc32(right)) + right)


def _head(kind: bytes, frame: bytes, size: int) -> bytes:
    return _HEAD.pack(kind, len(frame), size, _checksum(kind, frame, size))


def _checksum(kind: bytes, frame: bytes, size: int) -> int:
    return zlib.crc32(frame, zlib.crc32(_HEAD.pack(kind, len(frame), size, 0)))


class Blocks:
    """A trace file opened for reading: ``header``, and where its blocks are.

    Raises TraceFileError for a file that is foreign, of a newer version, truncated or changed: the header and the heads
    of the blocks at once, the blocks when they are read.
    """

    def __init__(self, path: Path, budget: Budget | None = None) -> None:
        self.path = path
        try:
            self._file = open_regular(path)
            self._size = os.fstat(self._file.fileno()).st_size
        except (OSError, ValueError) as error:
            raise TraceFileError(path, 0, said(error)) from error
        self.account = Account(path, self._size, budget)
        size, checksum = self._start(self._read(0, _START.size))
        text = self._read(_START.size, size)
        if len(text) < size:
            raise self.error(_START.size, f"the file ends inside its header of {size} bytes")
        if zlib.crc32(text) != checksum:
            raise self.error(_START.size, "the header is damaged: its checksum differs")
        try:
            self.header: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self.error(_START.size, f"the header is no JSON: {error}") from error
        self._base = _START.size + size
        self._blocks = self._listed()
        self._by_kind: dict[bytes, list[Block]] = {}
        for block in self._blocks:
            self._by_kind.setdefault(block.kind, []).append(block)

    def error(self, offset: int, detail: str) -> TraceFileError:
        return TraceFileError(self.path, offset, detail)

    def _read(self, at: int, size: int) -> bytes:
        """Up to ``size`` bytes; fewer where the file ends."""
        parts = []
        try:
            while size and (part := os.pread(self._file.fileno(), size, at)):
                parts.append(part)
                at, size = at + len(part), size - len(part)
        except OSError as error:
            raise self.error(at, error.strerror or str(error)) from error
        return b"".join(parts)

    def _start(self, start: bytes) -> tuple[int, int]:
        """Size and checksum of the header."""
        if start[:8] != MAGIC[: len(start)] or not start:
            raise self.error(0, "no trace file of testbed (testbed run -o FILE.trace writes them)")
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
        at = self._base
        while True:
            head = self._read(at, _HEAD.size)
            if len(head) < _HEAD.size:
                raise self.error(at, "the file ends before its last block: it is truncated")
            kind, stored, size, checksum = _HEAD.unpack(head)
            block = Block(kind, at, stored, size, checksum)
            at += _HEAD.size + stored
            if at > self._size:
                raise self.error(block.offset, f"a block of {stored} bytes reaches past the end: the file is truncated")
            if size > BLOCK:
                raise self.error(block.offset, f"a block claims {size} bytes; at most {BLOCK} are read")
            if kind == END:
                self._frame(block)
                break
            self.account.spend("entries", 1, block.offset)
            self.account.spend("unpacked", size // HELD, block.offset)
            blocks.append(block)
        if at != self._size:
            raise self.error(at, "bytes follow the last block")
        return blocks

    def _frame(self, block: Block) -> bytes:
        frame = self._read(block.offset + _HEAD.size, block.stored)
        if len(frame) < block.stored:
            raise self.error(
                block.offset, f"a block of {block.stored} bytes reaches past the end: it was cut meanwhile"
            )
        if _checksum(block.kind, frame, block.size) != block.checksum:
            raise self.error(block.offset, "a block is damaged: its checksum differs")
        return frame

    def count(self, kind: bytes) -> int:
        """How many blocks of a kind there are."""
        return len(self._by_kind.get(kind, ()))

    def read(self, kind: bytes, number: int, what: str) -> tuple[bytes, int]:
        """A block, the ``number``-th of its kind: its content, and its offset in the file."""
        there = self._by_kind.get(kind, [])
        if number >= len(there):
            raise self.error(self._base, f"{what} is missing")
        block = there[number]
        frame = self._frame(block)
        try:
            if zstandard.frame_content_size(frame) != block.size:
                raise self.error(block.offset, f"{what}: the frame has another size than the block says")
            return zstandard.ZstdDecompressor().decompress(frame), block.offset
        except zstandard.ZstdError as error:
            raise self.error(block.offset, f"{what}: {error}") from error

    def only(self, counts: Mapping[bytes, int]) -> None:
        """Raises TraceFileError where there are other blocks than so many of each kind."""
        for kind, blocks in self._by_kind.items():
            expected = counts.get(kind, 0)
            if len(blocks) > expected:
                raise self.error(blocks[expected].offset, "a block that the header does not tell of")
