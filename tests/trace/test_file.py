"""Trace files: everything comes back, and a file that is not whole is told so, wherever it was hurt."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import recipes_for
from testbed.image import LoadedImage
from testbed.machine import record
from testbed.machine.chunks import record_chunks
from testbed.runs.files import load_run, open_run, save_run
from testbed.runs.judging import judge_all
from testbed.runs.long import judge_long, watch_chunks
from testbed.runs.run import run_program
from testbed.trace import Exited, Trace, Writes
from testbed.trace import compact_columns as trace_columns
from testbed.trace.file import load_trace, load_trace_and_notes, save_trace
from testbed.trace.file_blocks import Blocks
from testbed.verdicts.one import counted
from testbed.words.errors import EmulationError, TraceFileError
from tests.machine.snippets import STORES, image_of
from tests.trace.saved import blocks_of, ran
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
    import testbed.trace.file as file

    monkeypatch.setattr(file, "CHUNK", rows)
    run = ran("leaf_call", "arm64", "clang-asm")
    file.save_trace(run.trace, tmp_path / "small")
    same_trace(file.load_trace(tmp_path / "small"), run.trace)


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
    import testbed.trace.file as file

    monkeypatch.setattr(file, "CHUNK", 100)
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
    import testbed.trace.file as file

    monkeypatch.setattr(file, "CHUNK", rows)
    run = ran("recursion", "arm64", "clang-O2")
    last = file.save_chunks(record_chunks(run.built.image, chunk=chunk), tmp_path / "pieces", notes={"a": "b"})
    assert last.end == run.trace.end
    same_trace(file.load_trace(tmp_path / "pieces").load(), run.trace)
    file.save_trace(run.trace, tmp_path / "whole", notes={"a": "b"})
    here, there = (blocks_of(tmp_path / name) for name in ("pieces", "whole"))
    assert sorted(here) == sorted(there)
    assert Blocks(tmp_path / "pieces").header == Blocks(tmp_path / "whole").header


@pytest.mark.parametrize("rows", [3, 16, 1 << 16])
def test_a_file_is_a_run_in_pieces(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import testbed.trace.file as file

    monkeypatch.setattr(file, "CHUNK", rows)
    run = ran("recursion", "arm64", "clang-O2")
    save_run(run, tmp_path / "file")
    saved, built = open_run(tmp_path / "file")
    long = watch_chunks(built, saved.chunks())
    assert len(long) == len(run) and long.end == run.trace.end and "registers" not in vars(saved)
    list(long.pieces())
    for step in (*range(0, len(run), 41), len(run) - 1, 2):
        piece, window = long.piece(step)
        row = window.row(step)
        assert piece.truth(row).pcs == run.truth(step).pcs and piece.words(row) == run.words(step)
        sp = int(run.trace.sp[step])
        assert piece.trace.memory(row).read(sp, 16) == run.trace.memory(step).read(sp, 16)
    unwinders = [UNWINDERS["eh_frame"], UNWINDERS["fp_chain"]]
    for unwinder, found in zip(unwinders, judge_long(long, unwinders), strict=True):
        assert found == counted(judge_all(run, unwinder))
