"""Trace files: everything comes back, and a file that is not whole is told so, wherever it was hurt."""

import json
import random
import re
import struct
import tracemalloc
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import zstandard

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import recipes_for
from testbed.image import LoadedImage
from testbed.machine import record
from testbed.machine.recording import record_chunks
from testbed.machine.unicorn_arches import UNICORN
from testbed.runs.files import load_run, open_run, save_run
from testbed.runs.long import judge_long, watch_chunks
from testbed.runs.run import judge_all, run_program
from testbed.trace import Exited, Region, Trace, Writes
from testbed.trace import compact_columns as trace_columns
from testbed.trace.file import load_trace, load_trace_and_notes, save_chunks, save_trace
from testbed.trace.file_blocks import MAGIC, VERSION, Blocks, write_blocks
from testbed.trace.native import PAGE
from testbed.trace.rolling_memory import RollingMemory
from testbed.trace.sparse import copy_used, sparse_bytes, used_pages
from testbed.verdicts.verdict import counted
from testbed.words.errors import EmulationError, TraceFileError
from tests.corpus import ran
from tests.machine.snippets import STORES, image_of
from tests.trace.saved import blocks_of
from tests.truth.pieces import LESS
from unwinders import UNWINDERS

NAMES = ("leaf_call", "tail_call", "recursion", "big_frame", "struct_return", "interworking")
CELLS = [
    pytest.param(name, arch.name, recipe.name, id=f"{name}-{arch}-{recipe.name}")
    for name in NAMES
    for arch in PROGRAMS[name].arches()
    for recipe in {recipe.isa_on(arch): recipe for recipe in recipes_for(PROGRAMS[name], arch)}.values()
]


def same_trace(one: Trace, other: Trace) -> None:
    assert one.arch is other.arch and one.seed == other.seed and one.initial == other.initial
    assert type(one.end) is type(other.end) and str(one.end) == str(other.end)
    assert one.registers.dtype == other.registers.dtype and one.sizes.dtype == other.sizes.dtype
    assert np.array_equal(one.registers, other.registers) and np.array_equal(one.sizes, other.sizes)
    for column in ("step", "address", "size", "value"):
        left, right = getattr(one.writes, column), getattr(other.writes, column)
        assert left.dtype == right.dtype and np.array_equal(left, right), column
    for left, right in zip(one.images, other.images, strict=True):
        assert left.bias == right.bias
        for part in ("arch", "entry", "segments", "sections", "symbols", "isa_marks", "frame_records", "content"):
            assert getattr(left.image, part) == getattr(right.image, part), part


@pytest.mark.parametrize(("name", "arch", "recipe"), CELLS)
def test_a_run_comes_back_with_its_truth_and_its_verdicts(name: str, arch: str, recipe: str, tmp_path: Path) -> None:
    run, path = ran(name, arch, recipe), tmp_path / "run.trace"
    save_run(run, path)
    back = load_run(path)
    same_trace(back.trace, run.trace)
    assert (str(back), back.failure) == (str(run), run.failure)
    assert back.built.source.header == run.built.source.header
    for step in range(len(run)):
        assert back.truth(step) == run.truth(step) and back.words(step) == run.words(step)
        assert back.instruction(step) == run.instruction(step)
    for unwinder in UNWINDERS.values():
        assert unwinder.applies_to(back.built.image) == unwinder.applies_to(run.built.image)
        if unwinder.applies_to(run.built.image):
            assert list(judge_all(back, unwinder)) == list(judge_all(run, unwinder)), unwinder.name


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_the_length_of_chunks_changes_nothing(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.trace.file.CHUNK", rows)
    run = ran("leaf_call", "arm64", "clang-asm")
    save_trace(run.trace, tmp_path / "small")
    same_trace(load_trace(tmp_path / "small"), run.trace)


def test_any_values_come_back() -> None:
    """Registers that jump across their whole width, and addresses in any order."""
    source = np.random.default_rng(1)
    for arch in ARCHES.values():
        masks = np.array([(1 << register.bits) - 1 for register in arch.registers], np.uint64)
        rows = source.integers(0, 1 << 64, (300, len(arch.registers)), np.uint64, endpoint=False) & masks
        rows[100:200] = rows[100]
        sizes = source.integers(1, 17, 300, np.uint8)
        into, lengths = np.empty_like(rows), np.empty_like(sizes)
        trace_columns.decode_steps(arch, trace_columns.encode_steps(arch, rows, sizes), into, lengths)
        assert np.array_equal(into, rows) and np.array_equal(lengths, sizes)
    writes = Writes(
        np.sort(source.integers(0, 300, 50).astype(np.uint32)),
        source.integers(0, 1 << 64, 50, np.uint64),
        source.integers(1, 9, 50, np.uint8),
        source.integers(0, 1 << 64, 50, np.uint64),
    )
    for first, end in ((0, 20), (20, 50)):
        before = int(writes.step[first - 1]) if first else 0
        back = trace_columns.decode_writes(trace_columns.encode_writes(writes, first, end), end - first, 300, before)
        for column in ("step", "address", "size", "value"):
            assert np.array_equal(getattr(back, column), getattr(writes, column)[first:end])


def test_a_run_that_ended_with_an_error_comes_back(tmp_path: Path) -> None:
    run = run_program(PROGRAMS["leaf_call"], ARCHES["arm32"], budget=9)
    assert isinstance(run.trace.end, EmulationError) and run.trace.end.last_steps
    save_run(run, tmp_path / "cut")
    back = load_run(tmp_path / "cut")
    same_trace(back.trace, run.trace)
    assert isinstance(back.trace.end, EmulationError) and back.trace.end.last_steps == run.trace.end.last_steps
    assert (back.trace.end.pc, back.trace.end.detail) == (run.trace.end.pc, run.trace.end.detail)


def test_notes_come_back_and_a_bare_trace_is_no_run(tmp_path: Path) -> None:
    run = ran("leaf_call", "x86_64", "clang-asm")
    save_trace(run.trace, tmp_path / "bare", notes={"why": "ünïcode\n"})
    assert load_trace_and_notes(tmp_path / "bare")[1] == {"why": "ünïcode\n"}
    with pytest.raises(TraceFileError, match="which program ran"):
        load_run(tmp_path / "bare")


MIXING = """
fn main
    mov ecx, 2000
    mov eax, 1
again:
    imul eax, eax, 1103515245
    add eax, 12345
    push rax
    call stir
    pop rdx
    dec ecx
    jnz again
    mov eax, 7
    ret
fn stir
    xor [rsp + 8], ecx
    ret
"""


def test_a_step_costs_few_bytes(tmp_path: Path) -> None:
    """Numbers that no compressor foresees, stores and calls; program and memory are in the file once and left out."""
    trace = record(image_of("x86_64", MIXING))
    save_trace(trace, tmp_path / "file")
    same_trace(load_trace(tmp_path / "file"), trace)
    blocks = Blocks(tmp_path / "file")
    stored = sum(block.stored for block in blocks._blocks if block.kind in (b"step", b"wrts"))
    assert len(trace) > 18_000 and stored <= 3 * len(trace), (stored, len(trace))


# Files that are not whole


def test_a_file_that_is_not_there_or_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TraceFileError, match="No such file"):
        load_trace(tmp_path / "nowhere")
    with pytest.raises(TraceFileError, match="cannot be written"):
        save_trace(ran("leaf_call", "x86_64", "clang-asm").trace, tmp_path / "no" / "folder")


def test_what_is_saved_replaces_a_file_at_once_and_leaves_nothing_else(tmp_path: Path) -> None:
    trace = ran("leaf_call", "x86_64", "clang-asm").trace
    path = tmp_path / "file"
    path.write_text("old")
    foreign = replace(trace.images[0].image, content=b"")
    with pytest.raises(TraceFileError, match="did not come from a file"):
        save_trace(replace(trace, images=(LoadedImage(foreign),)), path)
    assert path.read_text() == "old"
    save_trace(trace, path)
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_the_header_says_in_plain_text_what_the_file_is(whole: Path) -> None:
    content = whole.read_bytes()
    (size,) = struct.unpack_from("<I", content, 12)
    header = json.loads(content[20 : 20 + size])
    run = ran("leaf_call", "x86_64", "clang-asm")
    assert isinstance(run.trace.end, Exited)
    assert (
        header["arch"] == "x86_64" and header["steps"] == len(run) and header["end"] == {"exit": run.trace.end.status}
    )
    assert not any("/" in image["path"] for image in header["images"])


# Parts of a file


@pytest.mark.parametrize("isa", ["x86_64", "a32"])
def test_only_what_is_touched_is_read(isa: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.trace.file.CHUNK", 100)
    trace = record(image_of(isa, STORES[isa] if isa != "x86_64" else MIXING))
    save_trace(trace, tmp_path / "file")
    read: list[bytes] = []
    before = Blocks.read
    monkeypatch.setattr(
        Blocks, "read", lambda self, kind, number, what: (read.append(kind), before(self, kind, number, what))[1]
    )
    back = load_trace(tmp_path / "file")
    assert len(back) == len(trace) and back.end == trace.end and back.initial[0].data == trace.initial[0].data
    assert not {b"step", b"wrts"} & set(read), "opening read a column"
    assert np.array_equal(back.writes.value, trace.writes.value)
    assert b"step" not in read
    read.clear()
    for name in (trace.arch.sp, trace.arch.pc, trace.arch.flags, trace.arch.registers[1].name):
        assert np.array_equal(back.column(name), trace.column(name))
    assert np.array_equal(back.pc, trace.pc) and np.array_equal(back.sizes, trace.sizes)
    assert "registers" not in vars(back) and b"wrts" not in read
    same_trace(back, trace)
    read.clear()
    same_trace(back, trace)
    assert not read, "what was read is kept"


@pytest.mark.parametrize(("rows", "chunk"), [(7, 5), (10, 64), (64, 9), (1 << 16, 50)])
def test_pieces_of_any_length_are_the_file_of_the_whole(
    rows: int, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("testbed.trace.file.CHUNK", rows)
    run = ran("recursion", "arm64", "clang-O2")
    last = save_chunks(record_chunks(run.built.image, chunk=chunk), tmp_path / "pieces", notes={"a": "b"})
    assert last.end == run.trace.end
    same_trace(load_trace(tmp_path / "pieces").load(), run.trace)
    save_trace(run.trace, tmp_path / "whole", notes={"a": "b"})
    here, there = (blocks_of(tmp_path / name) for name in ("pieces", "whole"))
    assert sorted(here) == sorted(there)
    assert Blocks(tmp_path / "pieces").header == Blocks(tmp_path / "whole").header


@pytest.mark.parametrize("rows", [3, 16, 1 << 16])
def test_a_file_is_a_run_in_pieces(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.trace.file.CHUNK", rows)
    run = ran("recursion", "arm64", "clang-O2")
    save_run(run, tmp_path / "file")
    saved, built = open_run(tmp_path / "file")
    long = watch_chunks(built, saved.chunks())
    assert len(long) == len(run) and long.end == run.trace.end and "registers" not in vars(saved)
    list(long.pieces())
    for step in (*range(0, len(run), 41), len(run) - 1, 2):
        piece, window = long.piece(step)
        row = window.row(step)
        assert piece.truth(row).pcs == run.truth(step).pcs and piece.words(row) <= run.words(step)
        assert run.words(step) - piece.words(row) <= LESS
        sp = int(run.trace.sp[step])
        assert piece.trace.memory(row).read(sp, 16) == run.trace.memory(step).read(sp, 16)
    unwinders = [UNWINDERS["eh_frame"], UNWINDERS["fp_chain"]]
    for unwinder, found in zip(unwinders, judge_long(long, unwinders), strict=True):
        assert found == counted(judge_all(run, unwinder))


# Damaged, foreign and false trace files: an error with its place, wherever the file was hurt.


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
        file.truncate(path.stat().st_size // 4)
    with pytest.raises(TraceFileError, match="it was cut meanwhile"):
        trace.load()


# Memory that is mostly zeros: the same bytes as ever, and no room for the zeros.

SIZES = [0, 1, 7, PAGE - 1, PAGE, PAGE + 1, 5 * PAGE, 64 * PAGE + 24]


def some(random: Random, size: int, count: int) -> bytes:
    """Zeros, but for a few bytes."""
    out = bytearray(size)
    for at in random.sample(range(size), min(count, size)):
        out[at] = random.randrange(256)
    return bytes(out)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [0, 1, 9])
def test_what_is_copied_sparsely_is_the_same(size: int, count: int) -> None:
    data = some(Random(size + count), size, count)
    used = used_pages(data)
    assert used.tolist() == [any(data[at : at + PAGE]) for at in range(0, size, PAGE)]
    into = np.zeros(size, np.uint8)
    copy_used(data, used, into)
    assert into.tobytes() == data == sparse_bytes(into, used)


def test_memory_rolled_forward_is_what_was_written() -> None:
    random = Random(7)
    regions = [Region(0x7000, some(random, 3 * PAGE + 5, 40)), Region(0x1_0003, bytes(PAGE)), Region(0x8_0000, b"xyz")]
    memory, plain = RollingMemory(regions), {region.address: bytearray(region.data) for region in regions}
    for _ in range(6):
        rows = []
        for _ in range(30):
            region, size = random.choice(regions), random.randint(1, 8)
            rows.append((region.address + random.randrange(-4, len(region.data) + 4), size, random.getrandbits(64)))
        address, sizes, value = zip(*rows, strict=True)
        memory.apply(
            Writes(
                np.zeros(len(rows), np.uint32),
                np.array(address, np.uint64),
                np.array(sizes, np.uint8),
                np.array(value, np.uint64),
            )
        )
        for at, size, word in rows:
            for i in range(size):
                for start, octets in plain.items():
                    if start <= at + i < start + len(octets):
                        octets[at + i - start] = word >> 8 * i & 0xFF
        assert {region.address: region.data for region in memory.regions()} == plain
    before = memory.regions()
    assert all(now is then for now, then in zip(memory.regions(), before, strict=True)), "made anew without a write"


def resident() -> int:
    (kb,) = re.findall(r"VmRSS:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(kb) << 10


def test_zeros_take_no_room() -> None:
    size, before = 512 << 20, resident()
    memory, kept = RollingMemory([Region(0, bytes(size))]), []
    for step in range(4):
        one = np.array([step * 100 * PAGE], np.uint64)
        memory.apply(Writes(np.zeros(1, np.uint32), one, np.ones(1, np.uint8), np.ones(1, np.uint64)))
        kept.append(memory.regions())
    assert [region.used.sum() for (region,) in kept] == [1, 2, 3, 4]
    assert resident() - before < 64 << 20
