"""The compiled recorder, in one piece and in chunks, and the ranges of code that it knows."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from unicorn.unicorn_const import UC_PROT_EXEC

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.image import Image, LoadedImage
from testbed.machine import Machine, Tape, record, record_light, recording, start_machine
from testbed.machine.code_ranges import CodeRange
from testbed.machine.hooked_run import HookedRun, write_set
from testbed.machine.native import hooks
from testbed.machine.recording import chunks_of, isa_bit, record_chunks, record_native
from testbed.machine.start import load
from testbed.machine.stops import Fault
from testbed.machine.unicorn_arches import UNICORN
from testbed.native.compiled import VARIABLE
from testbed.trace import Exited, Trace
from testbed.trace.trace import CHUNK, ROWS, Chunk, usual_chunk
from testbed.words.budget import LEAST
from testbed.words.errors import EmulationError
from tests.corpus import UNITS, installed
from tests.machine.loops import LOOPS
from tests.machine.snippets import CASES, IT_STORES, NOP, STORES, arch_of, image_of

PART = 7


def both(image: Image, budget: int = 100_000, seed: int = 1, cpu: str | None = None) -> tuple[Tape, Tape]:
    """The tapes of both recorders, which must be the same."""
    light, here = (
        recorder(start_machine(load(image), seed=seed, cpu=cpu), budget) for recorder in (record_light, record_native)
    )
    assert here.ending == light.ending
    assert here.registers.shape == light.registers.shape
    different = np.argwhere(here.registers != light.registers)
    if len(different):
        step, column = (int(number) for number in different[0])
        pc = int(light.registers[step - 1, image.arch.index[image.arch.pc]])
        name, (said, wanted) = image.arch.registers[column].name, (t.registers[step, column] for t in (here, light))
        raise AssertionError(f"step {step}, after {pc:#x}: {name} is {int(said):#x}, not {int(wanted):#x}")
    assert here.registers.dtype == light.registers.dtype and here.sizes.dtype == light.sizes.dtype
    assert np.array_equal(here.sizes, light.sizes)
    for column_name in ("step", "address", "size", "value"):
        left, right = getattr(here.writes, column_name), getattr(light.writes, column_name)
        assert left.dtype == right.dtype and np.array_equal(left, right), column_name
    return light, here


@pytest.mark.parametrize("arch", ARCHES)
def test_on_every_program(arch: str, request: pytest.FixtureRequest) -> None:
    """On one of ``PART`` units; ``--everything``: on all."""
    steps = Counter[str]()
    for number, unit in enumerate(installed(UNITS)):
        if unit.arch == arch and (number % PART == 0 or request.config.getoption("--everything")):
            built = build(PROGRAMS[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe])
            steps[unit.recipe] += len(both(built.image, cpu=built.cpu)[0].sizes)
    assert len(steps) > 5 and min(steps.values()) > 10, steps


@pytest.mark.parametrize("isa", STORES)
@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_where_the_columns_grow_changes_nothing(isa: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "CHUNK", chunk)
    monkeypatch.setattr(recording, "ROOM", chunk + 1)
    light, _ = both(image_of(isa, STORES[isa]))
    assert light.ending == Exited(42) and len(light.sizes) > 2 * chunk and len(light.writes) > 2 * chunk


def test_stores_in_it_blocks_across_growing_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    for chunk in (1, 2, 3, 1000):
        monkeypatch.setattr(recording, "CHUNK", chunk)
        assert both(image_of("thumb", IT_STORES))[0].ending == Exited(15)


def test_an_exit_in_an_it_block_is_the_last_step_of_both() -> None:
    block = "itttt eq\n svceq #0\n moveq r1, #5\n streq r1, [sp]\n moveq r2, #6\n nop\n"
    light, _ = both(image_of("thumb", f"fn main\n movs r7, #1\n movs r0, #42\n cmp r7, #1\n {block}"))
    assert light.ending == Exited(42)


@pytest.mark.parametrize("isa", STORES)
def test_any_budget_ends_both_at_the_same_place(isa: str) -> None:
    image = image_of(isa, STORES[isa])
    whole = len(record(image))
    for budget in [0, 1, 2, 17, *range(20, 45), whole - 1, whole]:
        light, _ = both(image, budget)
        assert len(light.sizes) == min(budget, whole) and isinstance(light.ending, Fault) == (budget < whole)


@pytest.mark.parametrize(
    ("isa", "detail", "code"), CASES, ids=[f"{c[0]}-{c[2].split('last:')[1].strip()}" for c in CASES]
)
def test_faults_end_both_in_the_same_way(isa: str, detail: str, code: str) -> None:
    light, _ = both(image_of(isa, f"fn main\n {NOP[isa]}{code}\n nop\n"))
    assert isinstance(light.ending, Fault)


@pytest.mark.parametrize("isa", LOOPS)
def test_instructions_that_write_more_than_their_operands_say(isa: str) -> None:
    light, _ = both(image_of(isa, LOOPS[isa]))
    assert light.ending == Exited(42), light.ending
    assert len(light.sizes) > 9 * 30


# The function changes rbx ten times, then rcx: a set that was settled would be wrong from then on.
PATCHING = """
fn main
    mov r8d, 20
    lea rsi, [rip + spot]
again:
    call spot
    cmp r8d, 10
    jne 1f
    mov byte ptr [rsi + 2], 0xc1
1:  dec r8d
    jnz again
    mov eax, 42
    ret
fn spot
    inc rbx
    ret
"""


def test_code_that_is_written_over_is_learnt_anew() -> None:
    made = image_of("x86_64", PATCHING)
    image = replace(made, segments=tuple(replace(segment, writable=True) for segment in made.segments))
    light, _ = both(image)
    assert light.ending == Exited(42)
    for name in ("rbx", "rcx"):
        assert len(np.unique(light.registers[:, image.arch.index[name]])) >= 10, name


def test_an_interrupt_from_the_keyboard_is_noticed() -> None:
    image = image_of("x86_64", "fn main\nagain: jmp again\n")
    was = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    noticed = threading.Event()

    def press() -> None:  # again and again: Python drops an interrupt that comes in a finalizer
        while not noticed.wait(0.5):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            record_native(start_machine(LoadedImage(image), seed=1), 1 << 25)
    finally:
        noticed.set()
        thread.join()
        signal.signal(signal.SIGINT, was)


@pytest.mark.parametrize("isa", STORES)
def test_a_long_run_goes_over_to_the_native_recorder_and_is_the_same(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    image, asked = image_of(isa, STORES[isa]), list[int]()

    def counted(machine: Machine, budget: int) -> Tape:
        asked.append(budget)
        return record_native(machine, budget)

    whole = record(image)
    monkeypatch.setattr(recording, "record_native", counted)
    for start, budget, native_runs in ((100, 5000, 1), (len(whole), 5000, 0), (100, 100, 0), (100, 120, 1)):
        monkeypatch.setattr(recording, "NATIVE_FROM", start)
        asked.clear()
        trace, light = record(image, budget=budget), record(image, budget=budget, recorder=record_light)
        assert asked == [budget] * native_runs
        assert str(trace.end) == str(light.end)
        assert np.array_equal(trace.registers, light.registers) and np.array_equal(trace.sizes, light.sizes)
        assert np.array_equal(trace.writes.value, light.writes.value)


@pytest.mark.parametrize(
    ("isa", "code", "written"),
    [
        ("x86_64", "4801d8", {"rax", "rflags"}),
        ("x86_64", "50", {"rsp"}),
        ("x86_64", "0f28c1", set()),
        ("x86_64", "f3a4", None),
        ("x86_64", "06", None),
        ("arm64", "fd7bc1a8", {"x29", "x30", "sp"}),
        ("arm64", "0040a00c", None),
        ("a32", "0480bde8", {"r2", "sp", "cpsr"}),
        ("a32", "108b2ded", None),
        ("thumb", "0138", {"r0", "cpsr"}),
        ("thumb", "7047", {"cpsr"}),
    ],
)
def test_write_sets(isa: str, code: str, written: set[str] | None) -> None:
    arch, chosen = arch_of(isa)
    found = write_set(arch, chosen, bytes.fromhex(code), 0x1000)
    assert found == written


# A run recorded in pieces is the run recorded at once: registers, writes, memory, and how it ends.


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
from testbed.machine.recording import record_chunks
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


# Code in several ranges is recorded as in one, wherever it is cut, and what is forgotten is learnt anew.


ROOM = 1 << 14


def ready(image: Image) -> HookedRun:
    """A machine before its first step, with room for all of them."""
    run = HookedRun(start_machine(load(image), seed=1), lambda run, journal: None)
    run.grow_steps(ROOM)
    run.grow_writes(ROOM)
    run.begin(ROOM)
    return run


def rows_of(run: HookedRun) -> np.ndarray:
    run.go(run.machine.start)
    return np.array(run.rows.view(run.steps).reshape(-1, run.count))


def cut(run: HookedRun, width: int, *, writable: bool, every: int = 1) -> list[CodeRange]:
    """The machine's code in ranges of some bytes; with ``every``, one in so many of them, and no other."""
    end = run.code + run.code_size
    return [CodeRange(low, min(width, end - low), writable) for low in range(run.code, end, width * every)]


@pytest.mark.parametrize("isa", LOOPS)
@pytest.mark.parametrize(("width", "every"), [(1 << 20, 1), (40, 1), (4, 2), (8, 1)])
def test_ranges_change_nothing(isa: str, width: int, every: int) -> None:
    image = image_of(isa, LOOPS[isa])
    light = record_light(start_machine(load(image), seed=1), ROOM)
    run = ready(image)
    run.planned.plan(cut(run, width, writable=True, every=every))
    assert np.array_equal(rows_of(run), light.registers)
    known = [sets for sets in run.planned._planned.values() if sets.entries.any()]
    assert len(known) > (1 if width <= 40 else 0), "nothing was learnt"


@pytest.mark.parametrize("isa", STORES)
@pytest.mark.parametrize("jit", ["0", "1"])
def test_hooks_that_go_native_on_the_way_change_nothing(isa: str, jit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where write sets are used by hooks in Python, for nothing is to be compiled."""
    monkeypatch.setenv(VARIABLE, jit)
    image = image_of(isa, STORES[isa])
    light = record_light(start_machine(load(image), seed=1), ROOM)
    for first in (1, 50, 131):

        def full(run: HookedRun, journal: bool) -> None:
            run.stop()
            run.limit_steps(run.steps + 1)

        run = HookedRun(start_machine(load(image), seed=1), full, natively=False)
        run.grow_steps(ROOM)
        run.grow_writes(ROOM)
        run.begin(ROOM)
        run.limit_steps(first)
        run.go(run.machine.start)
        pc = UNICORN[image.arch.name].registers[image.arch.pc]
        if run.last_pc() == run.machine.uc.reg_read(pc):
            run.drop_last()
        assert first <= run.steps < first + 8
        run.go_native()
        run.limit_steps(ROOM)
        run.go_on()
        run.go(run.machine.uc.reg_read(pc) | isa_bit(run.machine))
        assert np.array_equal(run.rows.view(run.steps).reshape(-1, run.count), light.registers)
        assert np.array_equal(run.journal[3].view(run.writes), light.writes.value)


def test_ranges_that_are_planned_once_more_stay_known() -> None:
    run = ready(image_of("x86_64", LOOPS["x86_64"]))
    before = cut(run, 2048, writable=False)
    run.planned.plan(before)
    run.go(run.machine.start)
    known = {span: sets.entries.copy() for span, sets in run.planned._planned.items()}
    assert any(entries.any() for entries in known.values())
    run.planned.plan([*before, CodeRange(0x1000, 64)])
    for span, entries in known.items():
        assert np.array_equal(run.planned._planned[span].entries, entries)
    assert run.state.range_count == 3


def test_what_is_forgotten_is_what_the_bytes_may_belong_to() -> None:
    run = ready(image_of("x86_64", STORES["x86_64"]))
    run.go(run.machine.start)
    (sets,) = run.planned._planned.values()
    known = np.flatnonzero(sets.entries)
    middle = run.code + int(known[len(known) // 2]) // 2
    run.planned.forget(middle, middle + 1)
    left = np.flatnonzero(sets.entries)
    gone = sorted(set((known // 2 + run.code).tolist()) - set((left // 2 + run.code).tolist()))
    assert middle in gone and all(middle - hooks.LONGEST < at <= middle for at in gone)


def test_code_far_away_takes_no_room() -> None:
    """As the page that the kernel has at the end of 32-bit ARM's memory: tables up to there would be all of it."""
    image = image_of("a32", LOOPS["a32"])
    before = ready(image).code_size
    machine = start_machine(load(image), seed=1)
    far = replace(next(m for m in machine.mappings if m.permissions & UC_PROT_EXEC), address=0xFFFF_0000)
    near = replace(far, address=0x0040_0000 + (1 << 22))
    for beside, size in ((far, before), (near, near.address + len(near.data) - ready(image).code)):
        run = HookedRun(replace(machine, mappings=(*machine.mappings, beside)), lambda run, journal: None)
        assert run.code_size == size
