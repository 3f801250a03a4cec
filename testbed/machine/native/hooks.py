"""The hooks of the recorder: what the emulator calls before every instruction and every write.

They keep a row of registers per step by copying the row before and reading again only what the instruction before may
have written. For each pc a table holds that write set, in bits::

    0-58   the registers, by column
    59-60  how often it was checked: the first times all registers are read, and what changed is added to the set
    61     not known: all registers are read every time
    62     settled: only these are read

0 is an instruction that was not seen yet; the host fills it in (``learn``). All that the hooks work on is one record,
``run`` (`testbed.machine.native.state`), so that compiled code holds no address and can be kept on disk.
"""

from __future__ import annotations

from typing import Any

from testbed.machine.native.detours import goes_elsewhere, stop_byte_at
from testbed.machine.native.state import RUN
from testbed.native.compiled import compiled
from testbed.native.memory import (
    call,
    copy_words,
    load,
    load_id,
    lowest,
    record_at,
    store,
    store_byte,
    store_step,
)

RANGE = 3  # words of a range of code: its first address, its bytes, its table

LONGEST = 16  # bytes of an instruction; Unicorn gives a magic number as the size of one it cannot decode
REGISTERS = (1 << 59) - 1
ONCE, CHECKS = 1 << 59, 3
UNKNOWN, SETTLED = 1 << 61, 1 << 62

CODE_HOOK = "void(int64, int64, uint32, int64)"  # engine, address, size, run
WRITE_HOOK = "void(int64, int32, int64, int32, int64, int64)"  # engine, type, address, size, value, run


@compiled(signature=CODE_HOOK)
def on_code(engine: Any, address: Any, size: Any, run: Any) -> None:
    """Unicorn's hook before each instruction: it records the step."""
    before_instruction(engine, address, size, record_at(RUN, run))


@compiled(signature=WRITE_HOOK)
def on_write(engine: Any, kind: Any, address: Any, size: Any, value: Any, run: Any) -> None:
    """Unicorn's hook before each memory write: it records what is overwritten."""
    before_write(engine, address, size, value, record_at(RUN, run))


@compiled(inline=True)
def before_instruction(engine: Any, address: Any, size: Any, run: Any) -> None:
    """A row for the instruction that executes now, unless the machine goes elsewhere or the run is over."""
    step = run.steps
    if goes_elsewhere(engine, address, step, run):
        return
    if run.ended != 0 or _halts(address, run) or not _has_room(step, address, run):
        call(run.stop, engine, 0, 0, 0)
        return
    row = run.rows + 8 * step * run.count
    if run.written & SETTLED:
        _read_written(engine, address, row, run)
    else:
        _read_all(engine, row, run)
    store_byte(run.sizes + step, size if size <= LONGEST else 1)
    run.steps = step + 1
    _expect(address, size, row, run)


@compiled(inline=True)
def before_write(engine: Any, address: Any, size: Any, value: Any, run: Any) -> None:
    """An entry of the journal: memory at an address gets the lowest ``size`` bytes of a value."""
    if run.ended == 0 and _has_room_for_write(run):
        number = run.writes
        store_step(run.write_steps + 4 * number, run.steps - 1)
        store(run.write_addresses + 8 * number, address)
        store_byte(run.write_sizes + number, size)
        store(run.write_values + 8 * number, value if size >= 8 else value & ((1 << 8 * size) - 1))
        run.writes = number + 1
        _forget_written(address, size, run)
    if run.block_state != 0:
        _leave_block(engine, run)


@compiled(inline=True)
def _leave_block(engine: Any, run: Any) -> None:
    """Undo what a hooked store in a Thumb IT block does to the processor.

    Unicorn 2.1.4 writes the block's state back for the hook and forgets to clear it, so the code after the block runs
    as if it were inside: `subs` sets no flags (https://github.com/unicorn-engine/unicorn/issues/2309). Nobody reads
    that state but the next translation, so it may be cleared while the block is still running.
    """
    number = load_id(run.ids + 4 * run.flags)
    call(run.read, engine, number, run.word, 0)
    if load(run.word) & run.block_state:
        store(run.word, load(run.word) & ~run.block_state)
        call(run.write_register, engine, number, run.word, 0)


@compiled(inline=True)
def _has_room(step: Any, address: Any, run: Any) -> Any:
    """Whether there is a row for this step, made if need be; where there is none, the run is over."""
    if step >= run.budget:
        run.ended = 1
        run.over = 1
        run.over_pc = address
        return False
    if step >= run.capacity:
        call(run.grow, 0, 0, 0, 0)
        if step >= run.capacity:  # an exception kept it from making room
            run.ended = 1
    return run.ended == 0


@compiled(inline=True)
def _has_room_for_write(run: Any) -> Any:
    if run.writes >= run.write_capacity:
        call(run.grow, 1, 0, 0, 0)
        if run.writes >= run.write_capacity:
            run.ended = 1
    return run.ended == 0


@compiled(inline=True)
def _halts(address: Any, run: Any) -> Any:
    """Whether the machine shall stop before this instruction."""
    if stop_byte_at(address, run) == 0:
        return False
    run.halted = 1
    run.ended = 1
    return True


@compiled(inline=True)
def _read_written(engine: Any, address: Any, row: Any, run: Any) -> None:
    """A row is the row before, but for the pc and for what the instruction between may have written."""
    copy_words(row, row - 8 * run.count, run.count)
    written = run.written & REGISTERS
    while written != 0:
        k = lowest(written)
        written &= written - 1
        call(run.read, engine, load_id(run.ids + 4 * k), row + 8 * k, 0)
    store(row + 8 * run.pc, address)


@compiled(inline=True)
def _read_all(engine: Any, row: Any, run: Any) -> None:
    """A row of all registers; what changed is added to the write set of the instruction before."""
    call(run.read_batch, engine, run.ids, run.pointers, run.count)
    copy_words(row, run.cells, run.count)
    if run.entry == 0:
        return
    known = load(run.entry)
    if known == 0 or known & UNKNOWN:
        return
    known += ONCE
    for k in range(run.count):
        if load(row + 8 * k) != load(row + 8 * (k - run.count)):
            known |= 1 << k
    if (known >> 59) & 3 == CHECKS:
        known |= SETTLED
    store(run.entry, known)


@compiled(inline=True)
def _expect(address: Any, size: Any, row: Any, run: Any) -> None:
    """Note the write set of the instruction that executes now, for the next row."""
    run.written = 0
    run.entry = 0
    if not (0 <= address - run.code < run.code_size or _enter_range(address, run)):
        return
    isa = 0
    if run.has_isas != 0:
        isa = (load(row + 8 * run.flags) >> run.isa_flag) & 1
    entry = run.table + 16 * (address - run.code) + 8 * isa
    if load(entry) == 0:
        call(run.learn, address, size, isa, 0)
    run.written = load(entry)
    run.entry = entry


@compiled(inline=True)
def _enter_range(address: Any, run: Any) -> Any:
    """Make the range of code that holds an address the one in use; whether there is one."""
    for k in range(run.range_count):
        at = run.ranges + 8 * RANGE * k
        low, size = load(at), load(at + 8)
        if 0 <= address - low < size:
            run.code = low
            run.code_size = size
            run.table = load(at + 16)
            return True
    return False


@compiled(inline=True)
def _forget_written(address: Any, length: Any, run: Any) -> None:
    """Code that is written over: every instruction that the bytes may belong to is new."""
    for r in range(run.writable_count):
        at = run.ranges + 8 * RANGE * r
        low, size, table = load(at), load(at + 8), load(at + 16)
        for offset in range(max(address - low - LONGEST + 1, 0), min(address - low + length, size)):
            store(table + 16 * offset, 0)
            store(table + 16 * offset + 8, 0)
