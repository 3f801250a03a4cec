"""A second, independent emulator steps the same files: same pcs, same registers, same stack at every step."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from programs import PROGRAMS as CATALOGUE
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from testbed.image import Image, LoadedImage
from testbed.machine import record, start_machine
from testbed.machine.unicorn_arches import UNICORN
from testbed.trace import Exited, Trace
from tests.machine.snippets import image_of
from tests.machine.stores import STORES
from tests.truth.calls import RETPOLINE, TAIL
from tests.truth.coroutines import COROUTINE
from tests.truth.jumps import LANDING, LONGJMP, MARK

ARCHITECTURES = {"x86_64": "x86_64", "arm64": "aarch64", "arm32": "armv7"}
PROGRAMS = {
    f"{name}-{isa}": (isa, body)
    for name, bodies in {
        "stores": STORES,
        "tail": TAIL,
        "landing": LANDING,
        "coroutine": COROUTINE,
        "longjmp": {isa: LONGJMP[isa] + MARK[isa] for isa in LONGJMP},
        "retpoline": {"x86_64": RETPOLINE},
    }.items()
    for isa, body in bodies.items()
    if isa in ARCHITECTURES
}
THUMB = {"interworking"}  # icicle 0.0.11 does not enter Thumb code: A32 is all of arm32 that it can witness
SIGNING = {"pac_ret", "pac_ret_wrong"}  # nor does it know retaa: the other programs that sign run without signatures
LITERALS = {("arm64", "veneer")}  # icicle loads four bytes for `ldr x16, label`, and leaves the upper four as they were
CORPUS = [
    unit
    for unit in units(CATALOGUE.values(), ARCHES.values(), RECIPES.values())
    if unit.arch in ARCHITECTURES
    and unit.program not in THUMB
    and not CATALOGUE[unit.program].has_signals  # they come from our recorder
    and unit.program not in SIGNING
    and (unit.arch, unit.program) not in LITERALS
    and unit.recipe in ("clang-asm", "clang-O0-fp", "clang-O2")
]


@pytest.fixture(scope="module")
def icicle() -> ModuleType:
    module: ModuleType = pytest.importorskip("icicle", reason="needs the package icicle-emu: pip install icicle-emu")
    return module


def machine_for(icicle: ModuleType, image: Image, architecture: str, seed: int) -> Any:
    """The other emulator with the same memory and the same planted registers."""
    start = start_machine(LoadedImage(image), seed=seed)
    vm = icicle.Icicle(architecture, jit=False)
    for mapping in start.mappings:
        vm.mem_map(mapping.address, len(mapping.data), icicle.MemoryProtection.ReadWrite)
        vm.mem_write(mapping.address, mapping.data)
        if mapping.permissions & 4:
            vm.mem_protect(mapping.address, len(mapping.data), icicle.MemoryProtection.ExecuteRead)
    for name, value in start.planted.items():
        vm.reg_write(name, value)
    vm.sp = UNICORN[start.arch.name].stack_top
    vm.pc = start.start
    return vm


def compared(trace: Trace) -> list[str]:
    """General registers, SP, the preserved floating-point ones; not the flags, which the two name differently."""
    arch = trace.arch
    return [register.name for register in arch.registers if register.name not in (arch.pc, arch.flags)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_emulators_agree_at_every_step(icicle: ModuleType, name: str) -> None:
    isa, body = PROGRAMS[name]
    agree(icicle, image_of(isa, body), exit=42)


@pytest.mark.parametrize("unit", CORPUS, ids=str)
def test_both_emulators_agree_on_the_corpus(icicle: ModuleType, unit: Unit) -> None:
    built = build(CATALOGUE[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe])
    agree(icicle, built.image, exit=built.source.header.exit or 0)


def agree(icicle: ModuleType, image: Image, *, exit: int) -> None:
    """Same pc and registers before every instruction, and the same stack at the end."""
    trace = record(image, seed=21)
    assert trace.end == Exited(exit)
    vm = machine_for(icicle, image, ARCHITECTURES[image.arch.name], 21)
    names = compared(trace)
    previous = -1
    for step, (pc, row) in enumerate(zip(trace.pc.tolist(), trace.registers.tolist(), strict=True)):
        if pc == previous:  # a turn of `rep`: the two count them differently
            continue
        for _ in range(64):
            if vm.pc != previous:
                break
            vm.step(1)
        previous = pc
        assert vm.pc == pc, f"step {step}"
        theirs = {name: vm.reg_read(name) for name in names}
        ours = {name: row[trace.arch.index[name]] for name in names}
        assert theirs == ours, f"step {step} at {pc:#x}"
        vm.step(1)
    stack = trace.initial[-1]
    assert vm.mem_read(stack.address, len(stack.data)) == trace.memory(len(trace)).read(stack.address, len(stack.data))
