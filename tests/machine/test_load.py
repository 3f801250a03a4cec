"""Programs in the emulator's memory, where they are linked or anywhere else; a second emulator; its registers."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from unicorn import unicorn_const as uc

from programs import PROGRAMS as CATALOGUE
from testbed.arch import ARCHES, Arch
from testbed.build import Built, build
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Unit, units
from testbed.conventions import platform
from testbed.image import Image, LoadedImage, Segment
from testbed.machine import initial_registers, record, start_machine
from testbed.machine.register_parts import WRITTEN
from testbed.machine.start import PAGE, SLIDE, STACK_SIZE, map_image, map_stack
from testbed.machine.unicorn_arches import UNICORN
from testbed.report.json_data import run_data
from testbed.runs.by_name import run_file
from testbed.runs.run import Run, judge_all, run_built
from testbed.trace import Exited, Trace
from testbed.truth import observe
from testbed.words.errors import ImageError, UsageError
from tests.image.macho_files import LIBRARY, File, program
from tests.machine.snippets import STORES, arch_of, image_of
from tests.truth.jumps import COROUTINE, LANDING, LONGJMP, MARK, RETPOLINE, TAIL
from unwinders import UNWINDERS


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_planted_registers_are_distinct_seeded_and_no_addresses(arch: Arch) -> None:
    stack, _ = map_stack(arch)
    first, again, other = (initial_registers(arch, seed, [stack]) for seed in (1, 1, 2))
    assert first == again
    zero = {*arch.frame_pointers, *filter(None, [arch.link])}
    values = [value for name, value in first.items() if name not in zero]
    assert len(set(values)) == len(values) == len(arch.registers) - 3 - len(zero)
    assert 0 not in values
    assert {first[name] for name in zero} == {0}
    assert all(first[name] != other[name] for name in first if name not in zero)
    assert not any(stack.address <= value < stack.address + STACK_SIZE + PAGE for value in values)
    wide = {register.bits for register in arch.registers if first.get(register.name, 0) >= 1 << 32}
    assert wide == {64}, "32-bit registers have 32-bit values, 64-bit ones use their width"


@pytest.mark.parametrize("isa", STORES)
def test_the_first_row_has_the_planted_values_and_a_linux_stack(isa: str) -> None:
    trace = record(image_of(isa, STORES[isa]), seed=11)
    machine = start_machine(LoadedImage(image_of(isa, STORES[isa])), seed=11)
    arch, chosen = arch_of(isa)
    snapshot = trace.snapshot(0)
    assert {name: snapshot.registers[name] for name in machine.planted} == machine.planted
    assert set(platform(arch).preserved) <= machine.planted.keys()
    assert snapshot.pc == trace.images[0].entry
    assert trace.isa(0) is chosen
    assert snapshot.sp % platform(arch).stack_alignment == 0
    assert snapshot.memory.read(snapshot.sp, 5 * arch.word) == bytes(5 * arch.word), "argc, argv, envp, auxv"
    assert snapshot.memory.read(snapshot.sp - STACK_SIZE, 1) == b"\0"


def test_segments_are_page_rounded_and_zero_filled() -> None:
    body = "fn main\n lea rax, [rip + room]\n mov qword ptr [rax + 72], 7\n mov eax, 42\n ret\n.bss\nroom: .space 80\n"
    trace = record(image_of("x86_64", body))
    assert trace.end == Exited(42)
    for region in trace.initial:
        assert region.address % PAGE == len(region.data) % PAGE == 0
    symbol = trace.images[0].image.symbol_named("room")
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


@pytest.mark.parametrize("executable", [False, True])
def test_code_may_run_on_the_stack_where_the_file_asks_for_it(executable: bool) -> None:
    """GCC's nested functions write a few instructions there, and call them."""
    image = replace(image_of("x86_64", "fn main\n mov eax, 42\n ret\n"), executable_stack=executable)
    machine = start_machine(LoadedImage(image), seed=1)
    (stack,) = (
        m for m in machine.mappings if m.address <= UNICORN[image.arch.name].stack_top < m.address + len(m.data)
    )
    assert bool(stack.permissions & uc.UC_PROT_EXEC) is executable


# Images that may lie anywhere are slid, and nothing about a run but its addresses changes.


TARGETS = [("x86_64", "macho-O2-nofp"), ("x86_64", "macho-O0"), ("arm64", "macho-O2"), ("arm64", "macho-O2-dwarf")]


def made(arch: str, recipe: str, name: str = "function_pointers") -> Built:
    return build(CATALOGUE[name], ARCHES[arch], RECIPES[recipe])


def run_at(built: Built, bias: int) -> Run:
    trace = record(LoadedImage(built.image, bias))
    return Run(built, trace, observe(trace))


def test_an_image_that_may_lie_anywhere_is_slid_and_others_are_not() -> None:
    slid = record(made("arm64", "macho-O2").image)
    assert [loaded.bias for loaded in slid.images] == [SLIDE]
    assert SLIDE % 0x4000 == 0 < SLIDE, "Apple's arm64 pages have 16 KiB"
    assert slid.end == Exited(173)
    assert int(slid.pc[0]) == slid.images[0].image.entry + SLIDE
    fixed = record(made("arm64", "clang-O2").image)
    assert [loaded.bias for loaded in fixed.images] == [0]


@pytest.mark.parametrize(("arch", "recipe"), TARGETS)
def test_a_run_is_the_same_at_every_bias(arch: str, recipe: str) -> None:
    """Instructions, truth and every unwinder's verdicts; the pointers in the program's own table are moved too."""
    built = made(arch, recipe)
    plain = run_at(built, 0)
    assert plain.failure == ""
    for bias in (SLIDE, 0x7000_0000_0000):
        slid = run_at(built, bias)
        assert slid.failure == ""
        assert np.array_equal(slid.trace.pc, plain.trace.pc + np.uint64(bias))
        assert slid.watched.node.tolist() == plain.watched.node.tolist()
        for unwinder in UNWINDERS.values():
            if unwinder.applies_to(built.image):
                outcomes = [[verdict.outcome for verdict in judge_all(run, unwinder)] for run in (plain, slid)]
                assert outcomes[0] == outcomes[1], unwinder.name


@pytest.mark.parametrize(("arch", "recipe"), TARGETS)
def test_names_and_locations_of_a_slid_run(arch: str, recipe: str) -> None:
    run = run_built(made(arch, recipe))
    image = run.loaded.image
    main = image.symbol_named("main")
    at = run.at("main")
    assert at.pc == main.address + SLIDE
    assert run.where(at.pc + 4) == "main+0x4"
    twice = next(symbol.address for symbol in image.symbols if symbol.name == "twice")
    assert run.step_at("twice") == run.trace.pc.tolist().index(at.pc - main.address + twice)
    assert run.frame_names(run.truth(run.step_at("twice")).frames) == ("twice", "apply", "main", "_start")
    steps = run.steps_in("main")
    assert steps and all(main.address <= int(run.trace.pc[step]) - SLIDE < main.address + main.size for step in steps)
    data = run_data(run, [])
    first = data["instructions"][data["steps"]["instruction"][run.step_at("main")]]
    assert (first["symbol"], first["offset"], first["pc"]) == ("main", 0, main.address + SLIDE)


def test_the_words_that_hold_addresses_are_moved_and_no_others() -> None:
    """A table of 8-byte pointers across the end of a page, at an odd place."""
    start, words = 0x10_0000, (0xFFC, 0x1004)
    content = bytearray(0x2000)
    for at, value in zip(words, (0x10_1234, 0xFFFF_FFFF_FFFF_FFF0), strict=True):
        content[at : at + 8] = value.to_bytes(8, "little")
    segment = Segment(start, bytes(content), len(content), True, True, False)
    arch = ARCHES["arm64"]
    image = Image(Path("x"), arch, start, (segment,), {}, (), rebases=tuple(start + at for at in words))
    (mapping,) = map_image(LoadedImage(image, 0x4_0000))
    moved = bytearray(content)
    for at, value in zip(words, (0x14_1234, 0x3_FFF0), strict=True):  # wraps at the word
        moved[at : at + 8] = value.to_bytes(8, "little")
    assert (mapping.address, mapping.data) == (start + 0x4_0000, bytes(moved))
    (mapping,) = map_image(LoadedImage(image))
    assert mapping.data == bytes(content)
    outside = Image(Path("x"), arch, start, (segment,), {}, (), rebases=(start + 0x1FFC,))
    with pytest.raises(ImageError, match="a word to rebase at 0x101ffc is not in a segment"):
        map_image(LoadedImage(outside, 0x4_0000))


# Files from elsewhere


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (program(kind=LIBRARY), "has no entry point in its code"),
        (program().add(0x8000_0028, (0x1028).to_bytes(16, "little")), "has no entry point in its code"),
        (program().symbols(("_puts", 1, 0, 0), ("_exit", 1, 0, 0)), "imports puts, exit; only programs that need no"),
    ],
)
def test_a_file_that_is_no_program_of_its_own_is_refused(tmp_path: Path, content: File, said: str) -> None:
    path = tmp_path / "other"
    path.write_bytes(content.bytes())
    with pytest.raises(UsageError, match=said):
        run_file(path)


# A second, independent emulator steps the same files: same pcs, same registers, same stack at every step.


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
FLOATS = {("arm64", "vector_calls"), ("arm32", "vector_calls")}  # nor does it know fmadd, nor vcvt to and from integers
CORPUS = [
    unit
    for unit in units(CATALOGUE.values(), ARCHES.values(), RECIPES.values())
    if unit.arch in ARCHITECTURES
    and unit.program not in THUMB
    and not any(
        source.header.signals for source in CATALOGUE[unit.program].sources.values()
    )  # they come from our recorder
    and unit.program not in SIGNING
    and (unit.arch, unit.program) not in LITERALS | FLOATS
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


# What the machine knows of each architecture fits the architecture's own table.


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_what_the_machine_knows_of_an_architecture_fits_it(arch: Arch) -> None:
    """Each recorded register has an id of its own, a system call is reported in one way, parts are of registers."""
    settings = UNICORN[arch.name]
    assert settings.registers.keys() == arch.index.keys()
    assert len(set(settings.registers.values())) == len(settings.registers)
    assert settings.cpus.keys() == set(arch.cpus), "those that programs may ask for"
    assert (settings.call_instruction is None) != (settings.call_exception is None)
    assert settings.call_exception not in settings.exceptions
    for name, wholes in WRITTEN[arch.name].parts.items():
        assert name not in arch.index or wholes == (name,)
        assert arch.index.keys() >= set(wholes)
