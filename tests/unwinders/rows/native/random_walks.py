"""Traces and rows at random, and the sweep over them beside the walk of each snapshot."""

from __future__ import annotations

import random

import numpy as np

from testbed.arch import Arch
from testbed.contract.backtraces import Backtraces
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.rows import (
    RA_SIGNED,
    AtRegister,
    Constant,
    ExpressionRule,
    Offset,
    Operation,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
    ValExpression,
    ValOffset,
)
from testbed.conventions import platform
from testbed.image import LoadedImage
from testbed.trace import Exited, Region, Snapshot, Trace, Writes
from testbed.words.errors import NoUnwindInfo
from tests.unwinders.frames import START, image
from tests.unwinders.said import said
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import RowFor, walk

STACK, STACK_SIZE = 0x8004, 0x19C  # neither begins nor ends on a granule
ABOVE, ABOVE_SIZE = STACK + STACK_SIZE, 0x22  # a second region right behind the first
PCS = tuple(range(START + 1, START + 0x20, 2))
OUTSIDE = 0x7000_0000
OPERATIONS = (Operation(0x30 + 5, (), 0),)  # DW_OP_lit5


def trace_of(arch: Arch, registers: list[dict[str, int]], writes: list[tuple[int, int, int, int]], seed: int) -> Trace:
    """A trace of these register files; a write is (step, address, size, value)."""
    rng = random.Random(seed)
    table = np.zeros((len(registers), len(arch.registers)), np.uint64)
    for step, values in enumerate(registers):
        for name, value in values.items():
            table[step, arch.index[name]] = value
    columns = np.array(writes, np.uint64).reshape(-1, 4)
    journal = Writes(
        columns[:, 0].astype(np.uint32), columns[:, 1].copy(), columns[:, 2].astype(np.uint8), columns[:, 3]
    )
    regions = tuple(
        Region(address, b"".join(_slot(arch, rng, i).to_bytes(arch.word, "little") for i in range(size))[:size])
        for address, size in ((ABOVE, ABOVE_SIZE), (STACK, STACK_SIZE))
    )
    loaded = (LoadedImage(image(arch)),)
    return Trace(arch, loaded, table, np.ones(len(registers), np.uint8), journal, regions, Exited(0), seed)


def _pool(arch: Arch, rng: random.Random) -> int:
    """A value such as stacks and registers hold: a return address, an address in the stack, zero, anything."""
    kind = rng.random()
    if kind < 0.6:
        return rng.choice(PCS) + 1
    if kind < 0.88:
        return STACK + arch.word * rng.randrange(STACK_SIZE // arch.word + 3) - rng.choice((0, 0, 0, 0, 1))
    if kind < 0.92:
        return OUTSIDE + rng.randrange(4)
    return rng.choice((0, 0, 1, arch.word_mask, rng.getrandbits(8 * arch.word)))


def _slot(arch: Arch, rng: random.Random, i: int) -> int:
    """What a stack holds: every other word is a return address, mostly."""
    return rng.choice(PCS) + 1 if i % 2 and rng.random() < 0.8 else _pool(arch, rng)


def _rule(arch: Arch, rng: random.Random) -> Rule:
    # Few rare rules: a stack with one of them anywhere is the specification's.
    if rng.random() < 0.004:
        return rng.choice((ExpressionRule(OPERATIONS), ValExpression(OPERATIONS)))
    offset = rng.choice((arch.word * rng.randrange(-4, 3), rng.randrange(-20, 20)))
    base = rng.choice(
        (arch.sp, *arch.frame_pointers, *platform(arch).preserved[:3], rng.choice(arch.registers).name, "dwarf99")
    )
    return rng.choice(
        (
            Offset(offset),
            Offset(offset),
            Offset(offset),
            ValOffset(offset),
            AtRegister(base, offset),
            RegisterPlus(base, offset),
            SameValue(),
            Undefined(),
            Constant(_pool(arch, rng)),
        )
    )


def _row(arch: Arch, rng: random.Random, number: int) -> UnwindRow:
    names = rng.sample([register.name for register in arch.registers], 3)
    rules = {name: _rule(arch, rng) for name in (*names, *rng.sample(platform(arch).preserved, 2))}
    cfa: Rule | None = RegisterPlus(
        rng.choice((arch.sp, arch.sp, *arch.frame_pointers)), 2 * arch.word * rng.randrange(4)
    )
    if rng.random() < 0.1:
        cfa = rng.choice((None, AtRegister(arch.sp, arch.word), AtRegister("dwarf99", 0), _rule(arch, rng)))
    if rng.random() < 0.9:
        rules[arch.return_address] = Offset(-arch.word)
    if rng.random() < 0.04:
        rules[arch.return_address] = _rule(arch, rng)
    if rng.random() < 0.05:
        rules[RA_SIGNED] = Constant(rng.choice((1, 2, 3)))
    return UnwindRow(
        START,
        START + 1,
        cfa,
        rules,
        rng.choice(platform(arch).preserved) if rng.random() < 0.03 else arch.return_address,
        signal_frame=rng.random() < 0.01,
        found_by=f"row {number % 3}",
        outermost_if_zero=rng.choice(arch.frame_pointers) if rng.random() < 0.1 else None,
    )


def rows_of(arch: Arch, rng: random.Random) -> RowFor:
    """A row, or an error, for every pc and kind of frame."""
    plain = UnwindRow(
        *(START, START + 1),
        RegisterPlus(arch.sp, 2 * arch.word),
        {arch.return_address: Offset(-arch.word), platform(arch).preserved[0]: Offset(-2 * arch.word)},
        arch.return_address,
    )
    rows = [*(_row(arch, rng, i) for i in range(8)), *[plain] * 8]
    chosen = {(kind, pc): rng.choice((*rows, None)) for kind in FrameKind for pc in PCS}
    outside = rng.choice((None, rows[0]))

    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        row = outside if loaded is None else chosen.get((frame.kind, frame.lookup_pc))
        if row is None:
            raise NoUnwindInfo(f"nothing about {frame.lookup_pc:#x}")
        return row

    return row_for


def machine(arch: Arch, rng: random.Random, steps: int) -> tuple[list[dict[str, int]], list[tuple[int, int, int, int]]]:
    """Registers that change now and then, writes that hit the stack now and then."""
    mask = {register.name: (1 << register.bits) - 1 for register in arch.registers}
    state = {name: _pool(arch, rng) & mask[name] for name in mask}
    state[arch.sp] = STACK + 2 * arch.word * rng.randrange(4)
    registers, writes = [], []
    for step in range(steps):
        state[arch.pc] = rng.choice((*PCS[:4], *PCS, OUTSIDE)) if rng.random() < 0.4 or step == 0 else state[arch.pc]
        if rng.random() < 0.3:
            name = rng.choice(list(mask))
            if name != arch.pc:
                state[name] = _pool(arch, rng) & mask[name]
        if rng.random() < 0.3:
            state[arch.sp] = STACK + 2 * arch.word * rng.randrange(6)
        registers.append(dict(state))
        for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
            size = rng.choice((arch.word, arch.word, 1, 2, 4, 8))
            address = rng.choice((STACK, ABOVE - 0x20)) + rng.choice((arch.word, 1)) * rng.randrange(24)
            writes.append((step, address, size, _pool(arch, rng) & ((1 << 8 * size) - 1)))
    return registers, writes


def compared(trace: Trace, row_for: RowFor) -> Backtraces:
    def unwind(snapshot: Snapshot) -> Backtrace:
        return walk(snapshot, row_for)

    found = over_traces(unwind, lambda arch: row_for)(trace)
    for step in range(len(trace)):
        assert said(found[step]) == said(unwind(trace.snapshot(step))), f"seed {trace.seed}, step {step}"
    return found
