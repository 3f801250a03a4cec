"""Hooks of the recorder, and how runs stop."""

import random
import re
from pathlib import Path

import numpy as np
import pytest
from unicorn import unicorn_const as const

from testbed.image import LoadedImage, read_image
from testbed.machine import Machine, Tape, record, record_light, start_machine
from testbed.machine.stops import Stops
from testbed.machine.unicorn_arches import UNICORN
from testbed.runs.by_name import named_run
from testbed.trace import Exited, History, Trace, Writes
from testbed.words.errors import EmulationError, TestbedError
from tests.hard_input.elf_files import BASE, LOAD, Program, elf
from tests.machine.snippets import CASES, IT_STORES, NOP, STORES, arch_of, image_of


def record_slowly(machine: Machine, budget: int) -> Tape:
    """The reference: the binding's own hooks and reads, one register at a time."""
    uc, registers, settings = machine.uc, machine.arch.registers, UNICORN[machine.arch.name]
    stops = Stops(machine)
    rows: list[list[int]] = []
    sizes: list[int] = []
    journal: list[tuple[int, int, int, int]] = []

    def on_code(_uc: object, _address: int, size: int, _data: object) -> None:
        assert len(rows) < budget
        rows.append([uc.reg_read(settings.registers[register.name]) for register in registers])
        sizes.append(size)

    def on_write(_uc: object, _access: int, address: int, size: int, value: int, _data: object) -> None:
        journal.append((len(rows) - 1, address, size, value % (1 << 8 * size)))
        if stale := settings.block_state:
            flags = settings.registers[machine.arch.flags]
            uc.reg_write(flags, uc.reg_read(flags) & ~stale)

    uc.hook_add(const.UC_HOOK_CODE, on_code)
    uc.hook_add(const.UC_HOOK_MEM_WRITE, on_write)
    uc.emu_start(machine.start, machine.arch.word_mask - 3)
    step, address, size, value = (np.array(column, np.uint64) for column in zip(*journal, strict=True))
    writes = Writes(step.astype(np.uint32), address, size.astype(np.uint8), value)
    return Tape(np.array(rows, np.uint64), np.array(sizes, np.uint8), writes, stops.after(const.UC_ERR_OK))


@pytest.mark.parametrize("isa", STORES)
def test_the_rows_are_those_of_a_slow_reference(isa: str) -> None:
    image = image_of(isa, STORES[isa])
    fast, slow = record(image, seed=7), record(image, seed=7, recorder=record_slowly)
    assert fast.end == slow.end == Exited(42)
    assert len(fast) > 200
    assert (fast.registers == slow.registers).all()
    assert (fast.sizes == slow.sizes).all()
    for column in ("step", "address", "size", "value"):
        assert (getattr(fast.writes, column) == getattr(slow.writes, column)).all(), column


def test_a_register_is_cut_to_its_width() -> None:
    trace = record(image_of("a32", STORES["a32"]))
    assert int(trace.column("cpsr").max()) < 1 << 32
    assert int(trace.column("d8").max()) >= 1 << 32, "but a d register has 64 bits"


@pytest.mark.parametrize("isa", STORES)
def test_the_journal_replayed_is_the_memory_of_the_emulator(isa: str) -> None:
    machine = start_machine(LoadedImage(image_of(isa, STORES[isa])), seed=3)
    tape = record_light(machine, 10_000)
    assert tape.ending == Exited(42)
    history = History((mapping.region for mapping in machine.mappings), tape.writes)
    changed = 0
    for mapping in machine.mappings:
        final = bytes(machine.uc.mem_read(mapping.address, len(mapping.data)))
        assert history.read(mapping.address, len(mapping.data), len(tape.registers)) == final
        changed += final != mapping.data
    assert changed == 1, "only the stack is written to"


def brute_force(trace: Trace, step: int) -> dict[int, bytearray]:
    """Memory before a step, from the beginning, byte by byte."""
    memory = {region.address: bytearray(region.data) for region in trace.initial}
    columns = (trace.writes.step, trace.writes.address, trace.writes.size, trace.writes.value)
    for when, address, size, value in zip(*(column.tolist() for column in columns), strict=True):
        if when < step:
            base = max(start for start in memory if start <= address)
            memory[base][address - base : address - base + size] = value.to_bytes(size, "little")
    return memory


@pytest.mark.parametrize("isa", STORES)
def test_memory_as_of_any_step_is_what_a_replay_gives(isa: str) -> None:
    trace = record(image_of(isa, STORES[isa]))
    chosen = random.Random(5)
    seen = set()
    for step in [0, len(trace) - 1, *(chosen.randrange(len(trace)) for _ in range(25))]:
        for base, content in brute_force(trace, step).items():
            assert trace.memory(step).read(base, len(content)) == bytes(content)
            low = chosen.randrange(len(content) - 40)
            assert trace.memory(step).read(base + low, 37) == bytes(content[low : low + 37])
            seen.add(bytes(content))
    assert len(seen) > 10, "the steps chosen have different memories"


def test_x86_reports_each_turn_of_a_rep() -> None:
    trace = record(image_of("x86_64", STORES["x86_64"]))
    stosb = [int(trace.column("rcx")[k]) for k in range(1, len(trace)) if trace.pc[k] == trace.pc[k - 1]]
    assert stosb == [4, 3, 2, 1, 0]


def test_stores_in_it_blocks_do_not_disturb_what_follows() -> None:
    """Unicorn's store hook corrupts the state of an IT block; without any hook the run is right."""
    image = image_of("thumb", IT_STORES)
    machine = start_machine(LoadedImage(image), seed=1)
    stops = Stops(machine)
    machine.uc.emu_start(machine.start, machine.arch.word_mask - 3, count=1000)
    assert stops.ending == Exited(15)
    trace = record(image, budget=1000)
    assert trace.end == Exited(15), trace.end
    assert not (trace.column("cpsr") & np.uint64(UNICORN["arm32"].block_state)).any()
    ids = UNICORN["arm32"].registers
    final = [machine.uc.reg_read(ids[register.name]) for register in machine.arch.registers]
    names = [r.name for r in machine.arch.registers]
    assert dict(zip(names, final, strict=True)) | {"pc": 0, "cpsr": 0} == trace.snapshot(len(trace) - 1).registers | {
        "pc": 0,
        "cpsr": 0,
    }


def test_an_it_block_has_no_step_for_what_it_skips() -> None:
    trace = record(image_of("thumb", STORES["thumb"]))
    symbol = trace.images[0].image.symbol_named("bump")
    assert symbol is not None
    pcs = [pc - symbol.address for pc in trace.pc.tolist() if symbol.address <= pc < symbol.address + symbol.size]
    turns = [tuple(pcs[i : j + 1]) for i, j in zip([0, *(k + 1 for k in last(pcs))], last(pcs), strict=False)]
    assert len(turns) == 20
    assert len(set(turns)) == 2, "odd and even turns execute different halves"


def last(pcs: list[int]) -> list[int]:
    return [k for k, pc in enumerate(pcs) if pc == max(pcs)]


# How a run ends: exits, faults with their place, and the budget.


@pytest.mark.parametrize(
    ("isa", "detail", "code"), CASES, ids=[f"{c[0]}-{c[2].split('last:')[1].strip()}" for c in CASES]
)
def test_a_fault_is_told_with_its_place_and_the_steps_before(isa: str, detail: str, code: str) -> None:
    trace = record(image_of(isa, f"fn main\n {NOP[isa]}{code}\n nop\n"))
    error = trace.end
    assert isinstance(error, EmulationError)
    assert re.match(detail, error.detail), error.detail
    wild = re.match(r"wild jump: (0x[0-9a-f]+)", error.detail)
    last_pc = int(trace.pc[-1])
    assert error.pc == (int(wild[1], 16) if wild else last_pc)
    assert error.where == (wild[1] if wild else f"main+{last_pc - main(trace):#x}")
    # The last of the steps is the instruction that did it, with its symbol; those before it ran.
    mnemonic = code.split("last:")[1].split()[0]
    assert re.fullmatch(rf"main\+0x[0-9a-f]+  ({mnemonic}.*|\.byte.*)", error.last_steps[-1]), error.last_steps
    assert error.last_steps[0].startswith("_start")
    assert str(error).endswith(error.last_steps[-1])
    usable(trace)


def main(trace: Trace) -> int:
    symbol = trace.images[0].image.symbol_named("main")
    return symbol.address


def usable(trace: Trace) -> None:
    """What was recorded has the registers and memory of a run that goes on."""
    third = [name for name in ("rbx", "x19", "r4") if name in trace.arch.index]
    assert int(trace.column(third[0])[-1]) == 0x10
    assert trace.snapshot(len(trace) - 1).memory.read(int(trace.pc[-1]), 1)
    assert len(trace.sizes) == len(trace)


@pytest.mark.parametrize("isa", STORES)
def test_a_budget_ends_a_run_and_keeps_its_beginning(isa: str) -> None:
    image = image_of(isa, STORES[isa])
    whole = record(image)
    for budget in [0, 1, 17, *range(20, 45), len(whole) - 1]:
        part = record(image, budget=budget)
        assert isinstance(part.end, EmulationError)
        assert f"within {budget} steps" in part.end.detail
        assert part.end.pc == int(whole.pc[budget])
        assert len(part) == budget
        assert (part.registers == whole.registers[:budget]).all()
        before = int((whole.writes.step < budget).sum())
        assert (part.writes.address == whole.writes.address[:before]).all(), "no write of a step that is not there"
    assert record(image, budget=len(whole)).end == Exited(42)


@pytest.mark.parametrize(
    ("isa", "code"), [("x86_64", "mov eax, 300"), ("arm64", "mov x0, #300"), ("a32", "mov r0, #300")]
)
def test_an_exit_status_has_eight_bits(isa: str, code: str) -> None:
    code += "\n ret" if arch_of(isa)[1].name != "a32" else "\n bx lr"
    assert record(image_of(isa, f"fn main\n {code}\n")).end == Exited(300 & 0xFF)


@pytest.mark.parametrize(
    ("isa", "code"),
    [("x86_64", "mov eax, 231\n mov edi, 5\n syscall"), ("arm64", "mov x8, #94\n mov x0, #5\n svc #0")]
    + [(isa, "mov r7, #248\n mov r0, #5\n svc #0") for isa in ("a32", "thumb")],
)
def test_exit_group_is_an_exit_too(isa: str, code: str) -> None:
    assert record(image_of(isa, f"fn main\n {code}\n")).end == Exited(5)


# A file with a segment where the stack would be is told so; nothing of the emulator comes through.


EXITS = b"\xb8\x3c\0\0\0\x0f\x05"  # mov eax, 60; syscall


def test_a_segment_over_the_stack_is_a_typed_error(tmp_path: Path) -> None:
    path = tmp_path / "over"
    top = UNICORN["x86_64"].stack_top
    for address, names in ((top - 0x1000, True), (top + 0x100_0000, False)):
        path.write_bytes(elf(EXITS.ljust(4096, b"\0"), [Program(LOAD, 0, 4096), Program(LOAD, 0, 4096, address)]))
        assert len(read_image(path).segments) == 2 and read_image(path).segments[0].address == BASE
        if names:
            with pytest.raises(TestbedError, match="over"):
                named_run({}, str(path), None, None, seed=1, budget=100, fresh=False)
        else:
            assert len(named_run({}, str(path), None, None, seed=1, budget=100, fresh=False)) == 2
