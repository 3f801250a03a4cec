"""The light recorder: its rows, its journal, and what it says about how a run ended."""

from __future__ import annotations

import random
import re
import subprocess
import sys

import numpy as np
import pytest
from unicorn import unicorn_const as const

from testbed.arch import ARCHES
from testbed.image import LoadedImage
from testbed.machine import Machine, Tape, plant, record, record_light, start_machine
from testbed.machine.load import PAGE, STACK_SIZE, map_stack
from testbed.machine.stops import Stops
from testbed.trace import Exited, History, Trace, Writes
from testbed.words.errors import EmulationError
from tests.machine.snippets import arch_of, image_of

# Stores of every size, across granules and unaligned; floating-point registers; loops; calls.
STORES = {
    "x86_64": """
fn main
    push rbp
    mov rbp, rsp
    sub rsp, 96
    mov ecx, 20
loop:
    mov [rsp + rcx], cl
    mov [rsp + rcx + 31], cx
    mov [rsp + 2*rcx + 3], ecx
    mov [rsp + rcx + 5], rbx
    movq xmm0, rbx
    punpcklqdq xmm0, xmm0
    movups [rsp + rcx + 41], xmm0
    call bump
    dec ecx
    jnz loop
    mov rdi, rsp
    mov ecx, 5
    mov al, 0x55
    rep stosb
    xor [rsp + 8], rbx
    mov eax, 42
    leave
    ret
fn bump
    add rbx, 0x1234567
    push rbx
    pop rdx
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-128]!
    mov x29, sp
    mov x1, #20
loop:
    add x2, sp, x1
    strb w1, [x2, #17]
    strh w1, [x2, #33]
    stur w20, [x2, #41]
    stur x21, [x2, #51]
    stp x22, x23, [sp, #64]
    fmov d8, x24
    stur q8, [x2, #70]
    bl bump
    subs x1, x1, #1
    b.ne loop
    mov x0, #42
    ldp x29, x30, [sp], #128
    ret
fn bump
    add x20, x20, #0x123
    add x24, x24, x20
    str x20, [sp, #-16]!
    ldr x3, [sp], #16
    ret
""",
    "a32": """
fn main
    push {r4, r5, r11, lr}
    sub sp, sp, #128
    mov r1, #20
loop:
    add r2, sp, r1
    strb r1, [r2, #17]
    strh r1, [r2, #33]
    str r6, [r2, #41]
    strd r8, r9, [sp, #64]
    vmov d8, r6, r8
    vstr d8, [sp, #80]
    vpush {d8-d9}
    vpop {d8-d9}
    bl bump
    subs r1, r1, #1
    bne loop
    mov r0, #42
    add sp, sp, #128
    pop {r4, r5, r11, pc}
fn bump
    add r6, r6, #0x120
    tst r1, #1
    ite eq
    addeq r8, r8, r6
    pushne {r6}
    it ne
    popne {r3}
    bx lr
""",
}
STORES["thumb"] = STORES["a32"]


def record_slowly(machine: Machine, budget: int) -> Tape:
    """The reference: the binding's own hooks and reads, one register at a time."""
    uc, registers = machine.uc, machine.arch.registers
    stops = Stops(machine)
    rows: list[list[int]] = []
    sizes: list[int] = []
    journal: list[tuple[int, int, int, int]] = []

    def on_code(_uc: object, _address: int, size: int, _data: object) -> None:
        assert len(rows) < budget
        rows.append([uc.reg_read(register.unicorn) for register in registers])
        sizes.append(size)

    def on_write(_uc: object, _access: int, address: int, size: int, value: int, _data: object) -> None:
        journal.append((len(rows) - 1, address, size, value % (1 << 8 * size)))
        if stale := machine.arch.block_state:
            flags = machine.arch.by_name[machine.arch.flags].unicorn
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


IT_STORES = """
fn main
    push {r4, r5, r6, lr}
    sub sp, sp, #8
    mov r4, #5
    mov r5, #0
loop:
    tst r4, #1
    it ne
    strne r4, [sp]
    adds r5, r5, #3
    tst r4, #1
    itete eq
    streq r5, [sp]
    ldrne r6, [sp, #4]
    ldreq r6, [sp]
    strne r4, [sp, #4]
    subs r4, r4, #1
    bne loop
    mov r0, r5
    add sp, sp, #8
    pop {r4, r5, r6, pc}
"""


def test_stores_in_it_blocks_do_not_disturb_what_follows() -> None:
    """Unicorn's store hook corrupts the state of an IT block; without any hook the run is right."""
    image = image_of("thumb", IT_STORES)
    machine = start_machine(LoadedImage(image), seed=1)
    stops = Stops(machine)
    machine.uc.emu_start(machine.start, machine.arch.word_mask - 3, count=1000)
    assert stops.ending == Exited(15)
    trace = record(image, budget=1000)
    assert trace.end == Exited(15), trace.end
    assert not (trace.column("cpsr") & np.uint64(machine.arch.block_state)).any()
    final = [machine.uc.reg_read(register.unicorn) for register in machine.arch.registers]
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


def test_a_load_bias_moves_everything() -> None:
    body = "fn main\n lea rax, [rip + main]\n mov eax, 42\n ret\n"
    image = image_of("x86_64", body)
    there, here = record(LoadedImage(image, 0x5000_0000)), record(image)
    assert there.end == here.end == Exited(42)
    assert (there.pc == here.pc + np.uint64(0x5000_0000)).all()


NOP = {
    "x86_64": "nop\n mov ebx, 0x10\n",
    "arm64": "nop\n mov x19, #0x10\n",
    "a32": "nop\n mov r4, #0x10\n",
    "thumb": "nop\n movs r4, #0x10\n",
}
FAULTS = {
    "x86_64": {
        "wild jump: 0x1230000 is not mapped": "mov eax, 0x1230000\nlast: jmp rax",
        "wild jump: 0x0 is not mapped": "xor eax, eax\nlast: call rax",
        "wild jump: 0x7f[0-9a-f]+ is not executable": "last: jmp rsp",
        "reads 8 bytes at 0x10, which is not mapped": "last: mov rax, [rbx]",
        "writes 8 bytes at 0x18, which is not mapped": "last: mov [rbx + 8], rax",
        "writes 4 bytes at 0x[0-9a-f]+, which is not writable": "lea rax, [rip + last]\nlast: mov [rax], ecx",
        "undefined instruction": "last: ud2",
        "breakpoint": "last: int3",
        "divide error": "xor ecx, ecx\nlast: div ecx",
        "system call 39 is not emulated": "mov eax, 39\nlast: syscall",
    },
    "arm64": {
        "wild jump: 0x1230000 is not mapped": "mov x0, #0x1230000\nlast: br x0",
        "wild jump: 0x0 is not mapped": "mov x0, #0\nlast: blr x0",
        "wild jump: 0x7f[0-9a-f]+ is not executable": "mov x0, sp\nlast: br x0",
        "reads 8 bytes at 0x10, which is not mapped": "last: ldr x0, [x19]",
        "writes 8 bytes at 0x18, which is not mapped": "last: str x0, [x19, #8]",
        "writes 4 bytes at 0x[0-9a-f]+, which is not writable": "adr x0, last\nlast: str w1, [x0]",
        "undefined instruction": "last: udf #0",
        "breakpoint": "last: brk #1",
        "system call 172 is not emulated": "mov x8, #172\nlast: svc #0",
    },
    "a32": {
        "wild jump: 0x1200000 is not mapped": "mov r0, #0x1200000\nlast: bx r0",
        "wild jump: 0x0 is not mapped": "mov r0, #0\nlast: blx r0",
        "wild jump: 0xbe[0-9a-f]+ is not executable": "mov r0, sp\nlast: bx r0",
        "reads 4 bytes at 0x10, which is not mapped": "last: ldr r0, [r4]",
        "writes 4 bytes at 0x18, which is not mapped": "last: str r0, [r4, #8]",
        "writes 4 bytes at 0x[0-9a-f]+, which is not writable": "sub r0, pc, #16\nlast: str r1, [r0]",
        "undefined instruction": "last: udf #0",
        "breakpoint": "last: bkpt #1",
        "system call 20 is not emulated": "mov r7, #20\nlast: svc #0",
    },
}
FAULTS["thumb"] = FAULTS["a32"] | {
    "writes 4 bytes at 0x[0-9a-f]+, which is not writable": "mov r0, pc\nlast: str r1, [r0]"
}
CASES = [(isa, detail, code) for isa, faults in FAULTS.items() for detail, code in faults.items()]


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
    assert symbol is not None
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


def test_the_recorder_needs_no_compiler_and_no_numba() -> None:
    script = "import testbed.machine, testbed.truth, sys; print('numba' in sys.modules, 'llvmlite' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
