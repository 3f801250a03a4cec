"""The sweep on made-up traces, with rows, memory and registers that no compiler makes: what it remembers of the step
before is what the walk of each snapshot finds anew. Some are swept as Python, some compiled.
"""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import testbed
from testbed.arch import ARCHES, Arch
from testbed.contract.native import ROOT, SPECIFICATION, STOPPED
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
from testbed.contract.unwinder import Backtrace, Backtraces, Frame, FrameKind
from testbed.conventions import platform
from testbed.image import LoadedImage
from testbed.native.compiled import native
from testbed.runs.run import judge, judge_all
from testbed.trace import Exited, Region, Snapshot, Trace, Writes
from testbed.verdicts.trace import Verdicts
from testbed.verdicts.verdict import OUTCOMES
from testbed.words.errors import NoUnwindInfo
from testbed.words.outcome import Outcome
from tests.unwinders.frames import START, image
from tests.unwinders.said import said
from unwinders.chains.fp_chain import FP_CHAIN
from unwinders.rows.native import plan, traces
from unwinders.rows.native.chain import SweptNodes, fill_outer_facts
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import MAX_FRAMES, RowFor, walk
from unwinders.tables.eh_frame import EH_FRAME

# Traces and rows at random, and the sweep over them beside the walk of each snapshot.


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


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
@pytest.mark.parametrize("seeds", [range(12), range(12, 120)], ids=["some", "more"])
def test_on_anything_it_says_what_the_walk_of_a_snapshot_says(
    arch: Arch, seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: Counter[int] = Counter()
    stops: Counter[str] = Counter()
    slow = steps = shared = 0
    for seed in seeds:
        rng = random.Random(seed)
        with monkeypatch.context() as form:
            form.setattr(traces, "sooner", lambda sweep, _, when=seed % 3 > 0: native(sweep, when=when))
            found = compared(trace_of(arch, *machine(arch, rng, 60), seed), rows_of(arch, rng))
        slow, steps = slow + len(found.slow_steps), steps + len(found)
        shared += len(found) - len(found.sites)
        lengths.update(len(backtrace.frames) for backtrace in found)
        stops.update(type(backtrace.stopped).__name__ for backtrace in found)
    assert 0 < slow < steps / 3, "rare rows are there, and rare"
    assert shared > steps / 4, "what was said is said again, not found again"
    assert sum(count for length, count in lengths.items() if length > 3) > steps / 10, lengths
    assert {"NoneType", "NoUnwindInfo", "UnknownRegister", "UnreadableMemory", "NoProgress"} <= set(stops), stops


# Traps of their own: each of these is a stack that one of the kernel's shortcuts would get wrong.

ARM64 = ARCHES["arm64"]
P0, P1, P2, P3 = PCS[0], PCS[1] + 1, PCS[2] + 1, PCS[3] + 1  # the interrupted pc, then return addresses


def by_pc(rows: dict[int, UnwindRow]) -> RowFor:
    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        if frame.lookup_pc not in rows:
            raise NoUnwindInfo(f"nothing about {frame.lookup_pc:#x}")
        return rows[frame.lookup_pc]

    return row_for


def row(cfa: Rule | None, *, fp: Rule, ra: Rule, **rules: Rule) -> UnwindRow:
    return UnwindRow(START, START + 1, cfa, {"x29": fp, "x30": ra, **rules}, "x30")


def with_memory(trace: Trace, words: dict[int, int]) -> Trace:
    """The trace with these words in its first region."""
    data = bytearray(0x200)
    for address, value in words.items():
        data[address - 0x8000 : address - 0x8000 + 8] = value.to_bytes(8, "little")
    return replace(trace, initial=(Region(0x8000, bytes(data)),))


def test_a_frame_whose_return_address_is_its_pc_has_a_caller_there() -> None:
    """A leaf right behind a call that does not return: row, SP and FP say nothing new, and yet it was called."""
    other = START + 1
    leaf = row(RegisterPlus("sp", 0), fp=SameValue(), ra=SameValue())
    registers = [{"pc": pc, "sp": 0x8010, "x29": 0x8020, "x30": P1} for pc in (other, P1, P1, other, P1)]
    found = compared(trace_of(ARM64, registers, [], 0), by_pc({P1: leaf, other: leaf}))
    assert [len(backtrace.frames) for backtrace in found] == [2, 2, 2, 2, 2]
    assert len(found.slow_steps) == 0


def test_a_return_address_that_no_rule_names_is_looked_for_in_its_register_at_each_step() -> None:
    leaf = UnwindRow(START, START + 1, RegisterPlus("sp", 0), {"x29": SameValue()}, "x30")
    registers = [{"pc": P0, "sp": 0x8010, "x29": 0x8020, "x30": link} for link in (P1, P2, P2, P1)]
    found = compared(trace_of(ARM64, registers, [], 0), by_pc({P0: leaf}))
    assert [backtrace.frames[1].pc for backtrace in found] == [P1, P2, P2, P1]


def test_images_too_large_for_a_plan_are_left_to_the_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MAX_SPAN", 0)
    leaf = row(RegisterPlus("sp", 0), fp=SameValue(), ra=SameValue())
    registers = [{"pc": P0, "sp": 0x8010, "x29": 0x8020, "x30": P1}] * 3
    found = compared(trace_of(ARM64, registers, [], 0), by_pc({P0: leaf}))
    assert (len(found.slow_steps), [len(backtrace.frames) for backtrace in found]) == (3, [2, 2, 2])


def test_a_caller_may_be_where_the_interrupted_frame_is() -> None:
    """SP grows, is unknown, and is then computed from FP: it may be anything, also what it was at first; but once."""
    rows = {
        P0: row(RegisterPlus("sp", 16), fp=Offset(-16), ra=Offset(-8)),
        P1 - 1: row(None, fp=AtRegister("x29", 0), ra=AtRegister("x29", 8)),
        P2 - 1: row(RegisterPlus("x29", -0x70), fp=AtRegister("x29", 0), ra=AtRegister("x29", 8)),
        P0 - 1: row(None, fp=SameValue(), ra=Undefined()),
    }
    words = {0x8010: 0x8040, 0x8018: P1, 0x8040: 0x8080, 0x8048: P2, 0x8080: 0x80C0, 0x8088: P0}
    trace = with_memory(trace_of(ARM64, [{"pc": P0, "sp": 0x8010, "x29": 0x80C0}], [], 0), words)
    found = compared(trace, by_pc(rows))
    assert found[0].stopped is None and [frame.pc for frame in found[0].frames] == [P0, P1, P2, P0]


def test_a_caller_that_is_another_caller_again_is_found() -> None:
    """The same among callers, where a register tells the two apart: one is the root, if it may be there at all."""
    rows = {
        P0: row(RegisterPlus("sp", 16), fp=Offset(-16), ra=Offset(-8)),
        P1 - 1: replace(
            row(RegisterPlus("sp", 16), fp=Offset(-16), ra=Offset(-8), x19=Constant(0)), outermost_if_zero="x19"
        ),
        P2 - 1: row(None, fp=AtRegister("x29", 0), ra=AtRegister("x29", 8)),
        P3 - 1: row(RegisterPlus("x29", -0x60), fp=AtRegister("x29", 0), ra=AtRegister("x29", 8)),
    }
    words = {0x8010: 0x80C0, 0x8018: P1, 0x8020: 0x8040, 0x8028: P2, 0x8040: 0x8080, 0x8048: P3}
    words |= {0x8080: 0x80C0, 0x8088: P1}
    trace = with_memory(trace_of(ARM64, [{"pc": P0, "sp": 0x8010, "x29": 0x8030, "x19": 1}], [], 0), words)
    found = compared(trace, by_pc(rows))
    assert "same stack" in str(found[0].stopped) and len(found[0].frames) == 4


def test_rows_that_depend_on_registers_are_refused() -> None:
    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        frame.registers.get("sp")
        raise AssertionError("not reached")

    trace = trace_of(ARM64, [{"pc": P0, "sp": 0x8010}], [], 0)
    with pytest.raises(TypeError, match="depends on sp"):
        over_traces(lambda snapshot: walk(snapshot, row_for), lambda arch: row_for)(trace)


def test_a_trace_without_a_step_has_no_backtraces() -> None:
    rows = by_pc({P0: row(None, fp=SameValue(), ra=Undefined())})
    found = compared(trace_of(ARM64, [], [], 0), rows)
    assert len(found) == len(found.slow_steps) == found.frames == 0
    with pytest.raises(IndexError):
        found[0]


def test_registers_that_cannot_be_written_are_read_all_the_same() -> None:
    """As those of a file that is mapped into memory are."""
    rows = by_pc({P0: row(None, fp=SameValue(), ra=Undefined())})
    trace = trace_of(ARM64, [{"pc": P0, "sp": 0x8010}] * 3, [], 0)
    trace.registers.flags.writeable = False
    assert compared(trace, rows).frames == 3


RECURSION = """
.intel_syntax noprefix
.globl _start
_start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    mov edi, 0x500
    call down
    mov edi, 0
    mov eax, 0x3c
    syscall
    .cfi_endproc
down:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub edi, 1
    je done
    call down
done:
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
"""


def test_a_stack_deeper_than_a_walk_may_be_is_cut_where_the_walk_cuts_it() -> None:
    run = testbed.run(testbed.assemble("x86_64", RECURSION))
    deepest = int(np.argmin(run.trace.sp))
    for unwinder in (EH_FRAME, FP_CHAIN):
        assert unwinder.unwind_trace
        found = unwinder.unwind_trace(run.trace)
        verdicts = judge_all(run, unwinder, natively=True)
        assert isinstance(verdicts, Verdicts)
        assert len(found.slow_steps) == 0
        for step in (*range(5), *range(deepest - 2, deepest + 3), len(run) - 5):
            expected = unwinder.unwind(run[step])
            assert said(found[step]) == said(expected)
            assert OUTCOMES[verdicts.outcome[step]] is judge(run, step, expected, unwinder).outcome
        assert len(found[deepest].frames) == MAX_FRAMES < found.nodes.depth.max()
        assert OUTCOMES[verdicts.outcome[deepest]] is (
            Outcome.STOPPED if unwinder is EH_FRAME else Outcome.WRONG_REGISTER
        )


# What new nodes know of the chain further out.


def chain(*modes: int, end: int, known: tuple[int, ...], low: tuple[int, ...]) -> SweptNodes:
    """Frames, the innermost one first: each one's caller is the next one, and that of the last is ``end``."""
    count = len(modes)
    outer = np.array([*range(1, count), end], np.int32)
    values, pcs = 0x10 * np.arange(2 * count, dtype=np.uint64).reshape(count, 2), np.arange(count, dtype=np.uint64)
    blank = np.zeros(count, np.int32)
    columns = (pcs, np.array(known, np.uint64), values, pcs, blank > 0, outer, blank.copy(), blank.copy(), blank)
    return SweptNodes(*columns, np.array(low, np.uint64), np.array(modes, np.int8), blank > 0, blank)


@pytest.mark.parametrize(
    ("modes", "end", "known", "expected"),
    [
        ((0, 0, 0), ROOT, (3, 3, 3), ([ROOT] * 3, [True, True, False])),
        ((0, 0, 0), STOPPED, (3, 3, 0), ([STOPPED] * 3, [True, False, False])),
        ((1, 1, 1), ROOT, (0, 2, 1), ([ROOT] * 3, [False] * 3)),
        ((0, 1, 1), ROOT, (0, 0, 7), ([SPECIFICATION, ROOT, ROOT], [True, True, False])),
        ((1, 0, 1), ROOT, (0, 0, 0), ([SPECIFICATION, ROOT, ROOT], [False] * 3)),  # the outermost one has no guard
        ((1, 1, 0, 0), ROOT, (0, 0, 0, 0), ([SPECIFICATION] * 2 + [ROOT] * 2, [False] * 4)),
        ((1, 1, 0), SPECIFICATION, (0, 0, 0), ([SPECIFICATION] * 3, [False] * 3)),
    ],
)
def test_what_lies_further_out(
    modes: tuple[int, ...], end: int, known: tuple[int, ...], expected: tuple[list[int], list[bool]]
) -> None:
    """A walk that compares another register than the one further out did is the specification's."""
    count = len(modes)
    nodes = chain(*modes, end=end, known=known, low=(5, 4, 7, 6)[:count])
    native(fill_outer_facts, when=False)(0, count, 2, nodes)
    assert (nodes.end.tolist(), nodes.complete.tolist()) == expected
    assert nodes.depth.tolist() == [*range(count, 0, -1)]
    assert nodes.low.tolist() == ([4, 4, 7] if count == 3 else [4, 4, 6, 6])
    assert nodes.mode.tolist() == [*modes[:-1], -1]
