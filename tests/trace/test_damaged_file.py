"""Damaged, foreign and false trace files: an error with its place, wherever the file was hurt."""

from __future__ import annotations

import random
import struct
import tracemalloc
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import zstandard

from testbed.machine.unicorn_arches import UNICORN
from testbed.runs.files import load_run
from testbed.trace.file import load_trace
from testbed.trace.file_blocks import MAGIC, VERSION, Blocks, write_blocks
from testbed.words.errors import TraceFileError
from tests.trace.saved import blocks_of


def test_a_file_cut_anywhere_is_an_error_with_its_place(whole: Path, tmp_path: Path) -> None:
    content, path = whole.read_bytes(), tmp_path / "cut"
    cuts = {*range(64), *range(len(content) - 64, len(content)), *range(64, len(content), 97)}
    for cut in sorted(cuts):
        path.write_bytes(content[:cut])
        with pytest.raises(TraceFileError) as caught:
            load_run(path)
        assert caught.value.path == path and caught.value.offset <= cut, cut
        assert str(caught.value).startswith(f"{path}: at offset {caught.value.offset:#x}: ")


def test_a_changed_byte_anywhere_is_an_error(whole: Path, tmp_path: Path) -> None:
    content, path, source = whole.read_bytes(), tmp_path / "changed", random.Random(2)
    for at in sorted({*range(24), *range(len(content) - 40, len(content)), *range(24, len(content), 61)}):
        flipped = bytearray(content)
        flipped[at] ^= 1 << source.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(TraceFileError):
            load_run(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no trace file"),
        (b"\x7fELF" + bytes(100), "no trace file"),
        (MAGIC.replace(b"\r\n", b"\n") + bytes(100), "no trace file"),
        (struct.pack("<8sIII", MAGIC, VERSION + 1, 2, zlib.crc32(b"{}")) + b"{}", f"version {VERSION + 1}"),
        (struct.pack("<8sIII", MAGIC, VERSION, 1 << 31, 0), "the header claims"),
        (struct.pack("<8sIII", MAGIC, VERSION, 2, zlib.crc32(b"[]")) + b"[]", "ends before its last block"),
    ],
)
def test_a_foreign_or_newer_file_says_what_it_is(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(TraceFileError, match=said):
        load_trace(path)


def written(
    path: Path, whole: Path, change: Mapping[str, Any], blocks: list[tuple[bytes, bytes]] | None = None
) -> Path:
    """The whole file with other claims in its header, checksums right; with ``blocks``, these in place of its own."""
    own = blocks_of(whole)
    with path.open("wb") as file:
        write_blocks(file, {**Blocks(whole).header, **change}, own if blocks is None else blocks)
    return path


@pytest.mark.parametrize(
    "change",
    [
        {"steps": 1 << 60},
        {"steps": (1 << 32) - 1},
        {"steps": 1},
        {"steps": -1},
        {"steps": "many"},
        {"writes": 1 << 39},
        {"writes": 0},
        {"arch": "pdp11"},
        {"arch": None},
        {"registers": []},
        {"regions": [{"address": 0, "bytes": 1 << 39}]},
        {"regions": []},
        {"regions": 5},
        {"images": []},
        {"images": [{}]},
        {"end": {}},
        {"end": {"exit": 1 << 70}},
        {"seed": None},
        {"notes": {"program": 5}},
        {"notes": {}},
        {"format": "something else"},
    ],
    ids=str,
)
def test_false_claims_in_a_header_are_errors_and_allocate_nothing(
    change: Mapping[str, Any], whole: Path, tmp_path: Path
) -> None:
    path = written(tmp_path / "false", whole, change)
    tracemalloc.start()
    try:
        with pytest.raises(TraceFileError):
            load_run(path)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_frame_that_claims_more_than_its_block_is_not_decompressed(whole: Path, tmp_path: Path) -> None:
    content, path = whole.read_bytes(), tmp_path / "bomb"
    frame = zstandard.ZstdCompressor().compress(bytes(1 << 28))
    first = Blocks(whole)._blocks[0]
    head = struct.pack("<4sIII", first.kind, len(frame), first.size, 0)
    checked = head[:12] + struct.pack("<I", zlib.crc32(frame, zlib.crc32(head)))
    path.write_bytes(content[: first.offset] + checked + frame + content[first.offset + 16 + first.stored :])
    tracemalloc.start()
    try:
        with pytest.raises(TraceFileError, match="another size"):
            load_trace(path)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_blocks_whose_content_is_wrong_are_errors(whole: Path, tmp_path: Path) -> None:
    """Right checksums around wrong content: what a faulty writer would make."""
    own = blocks_of(whole)
    source, tried = random.Random(3), 0
    for i, (kind, content) in enumerate(own):
        if kind == b"mem.":
            continue  # any bytes are memory
        for made in (b"", content[:-1], content + b"\0", bytes(len(content)), b"\xff" * len(content)):
            if made == content:
                continue
            tried += 1
            path = written(tmp_path / "wrong", whole, {}, [*own[:i], (kind, made), *own[i + 1 :]])
            if kind == b"step" and made == bytes(len(content)):
                continue
            with pytest.raises(TraceFileError):
                load_trace(path).load()
        for _ in range(50):
            hurt = bytearray(content)
            hurt[source.randrange(len(hurt))] = source.randrange(256)
            path = written(tmp_path / "wrong", whole, {}, [*own[:i], (kind, bytes(hurt)), *own[i + 1 :]])
            try:
                load_trace(path).load()  # other values of registers are as good as the right ones
            except TraceFileError:
                tried += 1
    assert tried > 10
    for left_out in range(len(own)):
        path = written(tmp_path / "wrong", whole, {}, own[:left_out] + own[left_out + 1 :])
        with pytest.raises(TraceFileError):
            load_trace(path).load()
    with pytest.raises(TraceFileError, match="does not tell of"):
        load_trace(written(tmp_path / "wrong", whole, {}, [*own, (b"more", b"x")]))


def length_of(path: Path) -> int:
    return path.stat().st_size


def test_damage_that_is_found_late_has_its_place(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    for kind, touch in (
        (b"step", lambda trace: trace.registers),
        (b"step", lambda trace: trace.pc),
        (b"step", lambda trace: trace.sizes),
        (b"step", lambda trace: trace.snapshot(3)),
        (b"wrts", lambda trace: trace.writes),
        (b"wrts", lambda trace: trace.memory(3).read(UNICORN[trace.arch.name].stack_top - 8, 8)),
    ):
        block = next(block for block in Blocks(whole)._blocks if block.kind == kind)
        hurt = bytearray(content)
        hurt[block.offset + 16 + block.stored // 2] ^= 0x10
        path = tmp_path / "hurt"
        path.write_bytes(hurt)
        trace = load_trace(path)
        assert len(trace) > 0
        with pytest.raises(TraceFileError, match="its checksum differs") as caught:
            touch(trace)
        assert (caught.value.path, caught.value.offset) == (path, block.offset)
        with pytest.raises(TraceFileError):
            list(trace.chunks()(None))


def test_a_file_that_is_cut_while_it_is_open_is_an_error(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "shrinks"
    path.write_bytes(whole.read_bytes())
    trace = load_trace(path)
    with path.open("r+b") as file:
        file.truncate(length_of(path) // 4)
    with pytest.raises(TraceFileError, match="it was cut meanwhile"):
        trace.load()
