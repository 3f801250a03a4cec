"""Recorded runs in files: header and blocks damaged *inside*, with sizes, compression and checksums made right."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from functools import cache
from random import Random

import zstandard

from testbed.runs.files import load_run, save_run
from testbed.trace.file_blocks import MAGIC, VERSION
from testbed.words.errors import UnwindError
from tests.hostile import real
from tests.hostile.damage import damaged_bytes, damaged_json
from tests.hostile.folder import file_with, folder
from tests.hostile.target import Target
from unwinders import UNWINDERS

_START, _HEAD = struct.Struct("<8sIII"), struct.Struct("<4sIII")
_MOST = 1 << 24  # bytes of a block that are unpacked here to be damaged


@cache
def _seeds() -> Sequence[bytes]:
    found = []
    for run in real.runs()[::2]:
        path = folder() / "seed.trace"
        save_run(run, path)
        found.append(path.read_bytes())
    return found


def _blocks(content: bytes) -> list[tuple[bytes, bytes]] | None:
    """The kinds and frames of a trace file's blocks; the first one is the header, of no kind."""
    if len(content) < _START.size:
        return None
    size = _START.unpack_from(content)[2]
    at = _START.size + size
    found = [(b"", content[_START.size : at])]
    while at + _HEAD.size <= len(content):
        kind, stored, _, _ = _HEAD.unpack_from(content, at)
        found.append((kind, content[at + _HEAD.size : at + _HEAD.size + stored]))
        at += _HEAD.size + stored
    return found


def _file(blocks: Sequence[tuple[bytes, bytes]], sizes: Sequence[int | None]) -> bytes:
    """A trace file of these blocks, with right lengths and checksums. A size of None: what the frame really holds."""
    text = blocks[0][1]
    out = [_START.pack(MAGIC, VERSION, len(text), zlib.crc32(text)) + text]
    for (kind, frame), size in zip(blocks[1:], sizes[1:], strict=True):
        size = _unpacked_size(frame) if size is None else size
        check = zlib.crc32(frame, zlib.crc32(_HEAD.pack(kind, len(frame), size & 0xFFFFFFFF, 0)))
        out.append(_HEAD.pack(kind, len(frame), size & 0xFFFFFFFF, check) + frame)
    return b"".join(out)


def _unpacked_size(frame: bytes) -> int:
    try:
        size = zstandard.frame_content_size(frame) if frame else 0
    except zstandard.ZstdError:
        size = 0
    return max(size, 0) & 0xFFFFFFFF


def _damaged(content: bytes, dice: Random, seeds: Sequence[bytes]) -> bytes:
    """One block of a trace damaged behind its compression, or the list of blocks; now and then the plain bytes."""
    blocks = _blocks(content)
    if blocks is None or len(blocks) < 2 or not dice.randrange(10):
        return damaged_bytes(content, dice, seeds)
    sizes: list[int | None] = [None] * len(blocks)
    at = 0 if not dice.randrange(3) else dice.randrange(len(blocks))
    kind, frame = blocks[at]
    others = [each[1] for each in blocks]
    if at == 0:
        blocks[0] = (b"", damaged_json(frame, dice, others))
    else:
        match dice.randrange(8):
            case 0:
                del blocks[at], sizes[at]
            case 1:
                other = dice.randrange(1, len(blocks))
                blocks[at], blocks[other] = blocks[other], blocks[at]
            case 2:
                blocks.insert(at, blocks[at])
                sizes.insert(at, None)
            case 3:
                sizes[at] = dice.choice((0, 1, 0xFFFFFFFF, 1 << 26, dice.getrandbits(20)))
            case 4:
                blocks[at] = (kind, damaged_bytes(frame, dice, others))
            case _:
                blocks[at] = (kind, _repacked(frame, dice))
    return _file(blocks, sizes)


def _repacked(frame: bytes, dice: Random) -> bytes:
    try:
        plain = zstandard.ZstdDecompressor().decompress(frame, max_output_size=_MOST) if frame else b""
    except zstandard.ZstdError:
        return frame
    return zstandard.ZstdCompressor(level=1).compress(damaged_bytes(plain, dice, [plain or b"\0"]))


def _mended(content: bytes) -> bytes:
    """The same file with right checksums, where it still has the form of one."""
    blocks = _blocks(content)
    if blocks is None or content[:8] != MAGIC:
        return content
    at = _START.size + len(blocks[0][1])
    told: list[int | None] = [None]
    for _, frame in blocks[1:]:
        told.append(_HEAD.unpack_from(content, at)[2])
        at += _HEAD.size + len(frame)
    return _file(blocks, told)


def _read(content: bytes) -> None:
    """All that a trace has, and what two strategies say at three of its steps."""
    run = load_run(file_with(content, "hostile.trace"))
    trace = run.trace
    for step in {0, len(trace) // 2, len(trace) - 1} if len(trace) else ():
        snapshot = trace.snapshot(step)
        for name in ("eh_frame", "fp_chain"):
            try:
                UNWINDERS[name].unwind(snapshot)
            except UnwindError:
                continue


TARGETS = (Target("trace", "recorded runs in files", _seeds, _read, _damaged, _mended, weight=0.2),)
