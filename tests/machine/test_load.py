"""What is in memory and registers when a program starts: planted values, the stack, segments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from unicorn import unicorn_const as uc

from testbed.arch import ARCHES
from testbed.image import LoadedImage, Segment
from testbed.machine import plant, record, start_machine
from testbed.machine.load import PAGE, STACK_SIZE, map_image, map_stack
from testbed.machine.unicorn_arches import UNICORN
from testbed.trace import Exited
from tests.machine.snippets import arch_of, image_of
from tests.machine.stores import STORES


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_planted_registers_are_distinct_seeded_and_no_addresses(arch: object) -> None:
    assert arch in ARCHES.values()
    table = next(a for a in ARCHES.values() if a is arch)
    stack, _ = map_stack(table)
    first, again, other = plant(table, 1, [stack]), plant(table, 1, [stack]), plant(table, 2, [stack])
    assert first == again
    zero = {*table.frame_pointers, *filter(None, [table.link])}
    values = [value for name, value in first.items() if name not in zero]
    assert len(set(values)) == len(values) == len(table.registers) - 3 - len(zero)
    assert 0 not in values
    assert {first[name] for name in zero} == {0}
    assert all(first[name] != other[name] for name in first if name not in zero)
    assert not any(stack.address <= value < stack.address + STACK_SIZE + PAGE for value in values)
    wide = {register.bits for register in table.registers if first.get(register.name, 0) >= 1 << 32}
    assert wide == {64}, "32-bit registers have 32-bit values, 64-bit ones use their width"


@pytest.mark.parametrize("isa", STORES)
def test_the_first_row_has_the_planted_values_and_a_linux_stack(isa: str) -> None:
    trace = record(image_of(isa, STORES[isa]), seed=11)
    machine = start_machine(LoadedImage(image_of(isa, STORES[isa])), seed=11)
    arch, chosen = arch_of(isa)
    snapshot = trace.snapshot(0)
    assert {name: snapshot.registers[name] for name in machine.planted} == machine.planted
    assert set(arch.preserved) <= machine.planted.keys()
    assert snapshot.pc == trace.images[0].entry
    assert trace.isa(0) is chosen
    assert snapshot.sp % arch.stack_alignment == 0
    assert snapshot.memory.read(snapshot.sp, 5 * arch.word) == bytes(5 * arch.word), "argc, argv, envp, auxv"
    assert snapshot.memory.read(snapshot.sp - STACK_SIZE, 1) == b"\0"


def test_segments_are_page_rounded_and_zero_filled() -> None:
    body = "fn main\n lea rax, [rip + room]\n mov qword ptr [rax + 72], 7\n mov eax, 42\n ret\n.bss\nroom: .space 80\n"
    trace = record(image_of("x86_64", body))
    assert trace.end == Exited(42)
    for region in trace.initial:
        assert region.address % PAGE == len(region.data) % PAGE == 0
    symbol = trace.images[0].image.symbol_named("room")
    assert symbol is not None
    assert trace.memory(0).read(symbol.address, 80) == bytes(80)
    assert trace.memory(len(trace)).unsigned(symbol.address + 72, 8) == 7


@pytest.mark.parametrize("order", [1, -1])
def test_two_segments_on_one_page_share_it_with_what_either_allows(order: int) -> None:
    code = Segment(4 * PAGE, b"code", 4, True, False, True)
    data = Segment(4 * PAGE + 8, b"data", PAGE, True, True, False)
    image = replace(image_of("x86_64", STORES["x86_64"]), segments=(code, data)[::order])
    shared, own = map_image(LoadedImage(image))
    assert (shared.address, shared.permissions) == (4 * PAGE, uc.UC_PROT_ALL)
    assert shared.data == b"code\0\0\0\0data" + bytes(PAGE - 12)
    assert (own.address, own.permissions) == (5 * PAGE, uc.UC_PROT_READ | uc.UC_PROT_WRITE)


def test_a_load_bias_moves_everything() -> None:
    body = "fn main\n lea rax, [rip + main]\n mov eax, 42\n ret\n"
    image = image_of("x86_64", body)
    there, here = record(LoadedImage(image, 0x5000_0000)), record(image)
    assert there.end == here.end == Exited(42)
    assert (there.pc == here.pc + np.uint64(0x5000_0000)).all()


@pytest.mark.parametrize("executable", [False, True])
def test_code_may_run_on_the_stack_where_the_file_asks_for_it(executable: bool) -> None:
    """GCC's nested functions write a few instructions there, and call them."""
    image = replace(image_of("x86_64", "fn main\n mov eax, 42\n ret\n"), executable_stack=executable)
    machine = start_machine(LoadedImage(image), seed=1)
    (stack,) = (
        m for m in machine.mappings if m.address <= UNICORN[image.arch.name].stack_top < m.address + len(m.data)
    )
    assert bool(stack.permissions & uc.UC_PROT_EXEC) is executable
