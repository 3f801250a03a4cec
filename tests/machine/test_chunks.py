"""A run recorded in pieces is the run recorded at once: registers, writes, memory, and how it ends."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from testbed.arch import ARCHES, Arch
from testbed.image import Image
from testbed.machine import record
from testbed.machine.chunks import chunks_of, record_chunks
from testbed.trace import Exited, Trace
from testbed.trace.chunk import CHUNK, LEAST, ROWS, Chunk, usual_chunk
from testbed.words.errors import EmulationError
from tests.machine.faults import CASES, NOP
from tests.machine.loops import LOOPS
from tests.machine.snippets import image_of
from tests.machine.stores import IT_STORES, STORES


def agree(image: Image, chunk: int, budget: int = 100_000) -> tuple[Trace, list[Chunk]]:
    """The whole trace, and the chunks, whose columns are written over by now: all of them were compared."""
    whole, chunks, reached, entries = record(image, budget=budget), list[Chunk](), 0, 0
    for each in record_chunks(image, budget=budget, chunk=chunk):
        chunks.append(each)
        assert each.first == reached
        trace, reached = each.trace, reached + len(each)
        assert np.array_equal(trace.registers, whole.registers[each.first : reached])
        assert np.array_equal(trace.sizes, whole.sizes[each.first : reached])
        here = slice(entries, entries := entries + len(trace.writes))
        assert np.array_equal(trace.writes.step + np.uint32(each.first), whole.writes.step[here])
        for name in ("address", "size", "value"):
            assert np.array_equal(getattr(trace.writes, name), getattr(whole.writes, name)[here])
        for region in trace.initial:
            part = min(len(region.data), 4096)
            for at in (region.address, region.end - part):
                assert trace.memory(0).read(at, part) == whole.memory(each.first).read(at, part)
    assert (reached, entries) == (len(whole), len(whole.writes))
    assert all(each.end is None and len(each) >= chunk for each in chunks[:-1])
    last = chunks[-1].end
    if isinstance(whole.end, EmulationError):  # the last steps that it tells of are those of the last piece
        assert isinstance(last, EmulationError) and (last.pc, last.detail) == (whole.end.pc, whole.end.detail)
    else:
        assert last == whole.end
    return whole, chunks


@pytest.mark.parametrize("isa", STORES)
@pytest.mark.parametrize("chunk", [LEAST, 7, 64])
def test_the_pieces_are_the_run(isa: str, chunk: int) -> None:
    whole, chunks = agree(image_of(isa, STORES[isa]), chunk)
    assert whole.end == Exited(42) and len(chunks) > 1


@pytest.mark.parametrize("isa", LOOPS)
def test_any_register_survives_the_border(isa: str) -> None:
    whole, chunks = agree(image_of(isa, LOOPS[isa]), 13)
    assert isinstance(whole.end, Exited) and len(chunks) > 10


def test_the_emulator_does_not_stop_inside_an_it_block() -> None:
    longer = 0
    for length in range(4, 13):
        _, chunks = agree(image_of("thumb", IT_STORES), length)
        longer += sum(len(each) > length for each in chunks[:-1])
    assert longer > 3, "no border was in a block"


@pytest.mark.parametrize("isa", STORES)
def test_any_budget_ends_at_the_same_place(isa: str) -> None:
    image = image_of(isa, STORES[isa])
    length = len(record(image))
    for budget in (1, 4, 5, 8, 9, 20, 21, length - 1, length):
        whole, chunks = agree(image, 4, budget)
        assert isinstance(chunks[-1].end, EmulationError) == (budget < length) == isinstance(whole.end, EmulationError)


@pytest.mark.parametrize("case", CASES, ids=[f"{c[0]}-{c[2].split('last:')[1].strip()}" for c in CASES])
def test_faults_end_the_last_piece(case: tuple[str, str, str]) -> None:
    isa, _, code = case
    # The last steps in the message are those of the last piece.
    image = image_of(isa, f"fn main\n {NOP[isa] * 9}{code}\n nop\n")
    whole, last = record(image), list(record_chunks(image, chunk=5))[-1].end
    assert isinstance(whole.end, EmulationError) and isinstance(last, EmulationError)
    assert (last.pc, last.detail, last.where) == (whole.end.pc, whole.end.detail, whole.end.where)
    assert last.last_steps == whole.end.last_steps[-len(last.last_steps) :]


@pytest.mark.parametrize("isa", LOOPS)
def test_a_keyframe_is_enough_to_go_on(isa: str) -> None:
    """In a machine of its own, with what it knows of instructions forgotten."""
    image = image_of(isa, LOOPS[isa])
    whole, chunks = agree(image, 17)
    made_again = chunks_of(image, budget=100_000, chunk=17)
    for each in chunks[:: max(1, len(chunks) // 7)]:
        reached = each.first
        for again in made_again(each.keyframe):
            assert again.first == reached
            reached += len(again)
            assert np.array_equal(again.trace.registers, whole.registers[again.first : reached])
        assert reached == len(whole) and again.end == whole.end


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_a_piece_takes_as_much_memory_on_every_architecture(arch: Arch) -> None:
    steps = usual_chunk(arch)
    assert CHUNK // 2 <= steps <= CHUNK and 8 * len(arch.registers) * steps <= ROWS


MEASURED = """
import re, sys
from pathlib import Path
from testbed.machine.chunks import record_chunks
from tests.machine.snippets import image_of

def largest():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024

body = "mov ecx, 1000000; 1: push rcx; add [rsp], eax; pop rdx; dec ecx; jnz 1b; mov eax, 42; ret"
image = image_of("x86_64", "fn main\\n " + body.replace("; ", "\\n ") + "\\n")
steps, before = 0, 0
for chunk in record_chunks(image, budget=1 << 40, chunk=50_000):
    steps = chunk.first + len(chunk)
    if steps < 400_000:
        before = largest()
print(steps, before, largest())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of memory is read from /proc")
def test_memory_does_not_grow_with_the_run() -> None:
    """Five million steps, 148 bytes each: 700 MB at once. Half of the run's pieces take no more than the first few."""
    said = subprocess.run([sys.executable, "-c", MEASURED], capture_output=True, text=True, check=True).stdout
    steps, before, after = map(float, re.findall(r"[\d.]+", said))
    assert steps > 5_000_000
    assert after < before + 100, f"{before:.0f} MB after the first pieces, {after:.0f} MB after the last"
