"""The hooks of the native recorder: compiled functions that the emulator calls for every instruction and write.

They keep a row of registers per step by copying the row before and reading again only what the instruction before may
have written. For each pc a table holds that write set, in bits::

    0-58   the registers, by column
    59-60  how often it was checked: the first times all registers are read, and what changed is added to the set
    61     not known: all registers are read every time
    63     settled: only these are read

0 is an instruction that was not seen yet; ``LEARN``, a Python function, fills it in. ``GROW``, another one, makes room
in the columns of steps, or, called with 1, in those of the journal. All that the hooks work on is reached through one
array of words, ``state``, whose places are below, so that compiled code holds no address and can be kept on disk.

Code lies in ranges: ``RANGES`` points to ``RANGE_COUNT`` of them, those that the program may write to first. ``CODE``,
``CODE_SIZE`` and ``TABLE`` are the range that was executed last, so the others are searched only where it is left.

Where ``HALTS`` is not 0 it points to a byte per byte of code from ``HALT_CODE`` on: the machine stops before an
instruction whose byte is not 0, and ``HALTED`` says so; or, where the byte is not `HALT`, goes on elsewhere: see
`testbed.machine.native.detours`.
"""

from __future__ import annotations

from typing import Any

from numba import types

from testbed.machine.native.detours import goes_elsewhere
from testbed.machine.native.places import (
    BLOCK_STATE,
    BUDGET,
    CAPACITY,
    CODE,
    CODE_SIZE,
    COUNT,
    ENDED,
    ENTRY,
    FLAGS,
    GROW,
    HALT_CODE,
    HALT_SIZE,
    HALTED,
    HALTS,
    HAS_ISAS,
    IDS,
    ISA_FLAG,
    LEARN,
    OVER,
    OVER_PC,
    PC,
    POINTERS,
    RANGE_COUNT,
    RANGES,
    READ,
    READ_BATCH,
    ROWS,
    SET,
    SIZES,
    STEPS,
    STOP,
    TABLE,
    WORD,
    WRITABLE_COUNT,
    WRITE_ADDRESSES,
    WRITE_CAPACITY,
    WRITE_REGISTER,
    WRITE_SIZES,
    WRITE_STEPS,
    WRITE_VALUES,
    WRITES,
    call,
    load,
    load_byte,
    load_id,
    lowest,
    store,
    store_byte,
    store_step,
)
from testbed.native.compiled import callback, compiled

RANGE = 3  # words of a range of code: its first address, its bytes, its table

LONGEST = 16  # bytes of an instruction; Unicorn gives a magic number as the size of one it cannot decode
REGISTERS = 0x07FF_FFFF_FFFF_FFFF
ONCE, CHECKS = 1 << 59, 3
UNKNOWN, SETTLED = 1 << 61, 1 << 63

_U = types.uint64
CODE_HOOK = "void(uint64, uint64, uint32, uint64)"  # engine, address, size, state
WRITE_HOOK = "void(uint64, int32, uint64, int32, uint64, uint64)"  # engine, type, address, size, value, state


@compiled(inline=True)
def _has_room(step: Any, address: Any, state: Any) -> Any:
    """Whether there is a row for this step, made if need be; where there is none, the run is over."""
    if step >= load(state + _U(8 * BUDGET)):
        store(state + _U(8 * ENDED), _U(1))
        store(state + _U(8 * OVER), _U(1))
        store(state + _U(8 * OVER_PC), address)
        return False
    if step >= load(state + _U(8 * CAPACITY)):
        call(load(state + _U(8 * GROW)), _U(0), _U(0), _U(0), _U(0))
        # An exception may have kept it from making room.
        if load(state + _U(8 * ENDED)) != _U(0) or step >= load(state + _U(8 * CAPACITY)):
            store(state + _U(8 * ENDED), _U(1))
            return False
    return True


@compiled(inline=True)
def _halts(address: Any, state: Any) -> Any:
    """Whether the machine shall stop before this instruction."""
    halts, offset = load(state + _U(8 * HALTS)), address - load(state + _U(8 * HALT_CODE))
    if halts == _U(0) or offset >= load(state + _U(8 * HALT_SIZE)) or load_byte(halts + offset) == types.uint8(0):
        return False
    store(state + _U(8 * HALTED), _U(1))
    store(state + _U(8 * ENDED), _U(1))
    return True


@compiled(inline=True)
def _read_written(engine: Any, address: Any, row: Any, written: Any, state: Any) -> None:
    """A row is the row before, but for the pc and for what the instruction between may have written."""
    eight = _U(8)
    count, ids, read = load(state + _U(8 * COUNT)), load(state + _U(8 * IDS)), load(state + _U(8 * READ))
    before = row - count * eight
    for k in range(count):
        store(row + _U(k) * eight, load(before + _U(k) * eight))
    while written != _U(0):
        k = lowest(written)
        written &= written - _U(1)
        call(read, engine, _U(load_id(ids + k * _U(4))), row + k * eight, _U(0))
    store(row + load(state + _U(8 * PC)) * eight, address)


@compiled(inline=True)
def _read_all(engine: Any, row: Any, state: Any) -> None:
    """A row of all registers; what changed is added to the write set of the instruction before."""
    eight = _U(8)
    count, pointers = load(state + _U(8 * COUNT)), load(state + _U(8 * POINTERS))
    before = row - count * eight
    for k in range(count):
        store(pointers + _U(k) * eight, row + _U(k) * eight)
    call(load(state + _U(8 * READ_BATCH)), engine, load(state + _U(8 * IDS)), pointers, count)
    entry = load(state + _U(8 * ENTRY))
    if entry == _U(0):
        return
    known = load(entry)
    if known != _U(0) and known & _U(UNKNOWN) == _U(0):
        known += _U(ONCE)
        for k in range(count):
            if load(row + _U(k) * eight) != load(before + _U(k) * eight):
                known |= _U(1) << _U(k)
        if (known >> _U(59)) & _U(3) == _U(CHECKS):
            known |= _U(SETTLED)
        store(entry, known)


@compiled(inline=True)
def _enter_range(address: Any, state: Any) -> Any:
    """Make the range of code that holds an address the one in use; whether there is one."""
    ranges = load(state + _U(8 * RANGES))
    for k in range(load(state + _U(8 * RANGE_COUNT))):
        at = ranges + _U(k) * _U(8 * RANGE)
        low, size = load(at), load(at + _U(8))
        if address - low < size:
            store(state + _U(8 * CODE), low)
            store(state + _U(8 * CODE_SIZE), size)
            store(state + _U(8 * TABLE), load(at + _U(16)))
            return True
    return False


@compiled(inline=True)
def _forget_written(address: Any, length: Any, state: Any) -> None:
    """Code that is written over: every instruction that the bytes may belong to is new."""
    ranges, first = load(state + _U(8 * RANGES)), address - _U(LONGEST - 1)
    for r in range(load(state + _U(8 * WRITABLE_COUNT))):
        at = ranges + _U(r) * _U(8 * RANGE)
        low, span = load(at), load(at + _U(8))
        if address + length - low < span + _U(LONGEST):
            for k in range(_U(LONGEST - 1) + length):
                offset = first + _U(k) - low
                if offset < span:
                    entry = load(at + _U(16)) + offset * _U(16)
                    store(entry, _U(0))
                    store(entry + _U(8), _U(0))


@compiled(inline=True)
def _expect(address: Any, size: Any, row: Any, state: Any) -> None:
    """Note the write set of the instruction that executes now, for the next row."""
    if address - load(state + _U(8 * CODE)) >= load(state + _U(8 * CODE_SIZE)) and not _enter_range(address, state):
        store(state + _U(8 * SET), _U(0))
        store(state + _U(8 * ENTRY), _U(0))
        return
    offset = address - load(state + _U(8 * CODE))
    isa = _U(0)
    if load(state + _U(8 * HAS_ISAS)) != _U(0):
        flags = load(row + load(state + _U(8 * FLAGS)) * _U(8))
        isa = (flags >> load(state + _U(8 * ISA_FLAG))) & _U(1)
    entry = load(state + _U(8 * TABLE)) + (offset * _U(2) + isa) * _U(8)
    if load(entry) == _U(0):
        call(load(state + _U(8 * LEARN)), address, _U(size), isa, _U(0))
    store(state + _U(8 * SET), load(entry))
    store(state + _U(8 * ENTRY), entry)


@callback(CODE_HOOK)
def on_code(engine: Any, address: Any, size: Any, state: Any) -> None:
    step = load(state + _U(8 * STEPS))
    if goes_elsewhere(engine, address, step, state):
        return
    if load(state + _U(8 * ENDED)) != _U(0) or _halts(address, state) or not _has_room(step, address, state):
        call(load(state + _U(8 * STOP)), engine, _U(0), _U(0), _U(0))
        return
    row = load(state + _U(8 * ROWS)) + step * load(state + _U(8 * COUNT)) * _U(8)
    written = load(state + _U(8 * SET))
    if written >= _U(SETTLED):
        _read_written(engine, address, row, written & _U(REGISTERS), state)
    else:
        _read_all(engine, row, state)
    store_byte(load(state + _U(8 * SIZES)) + step, types.uint8(size if size <= types.uint32(LONGEST) else 1))
    store(state + _U(8 * STEPS), step + _U(1))
    _expect(address, size, row, state)


@callback(WRITE_HOOK)
def on_write(engine: Any, kind: Any, address: Any, size: Any, value: Any, state: Any) -> None:
    zero, eight = _U(0), _U(8)
    length = _U(size)
    if load(state + _U(8 * ENDED)) == zero:
        number = load(state + _U(8 * WRITES))
        if number >= load(state + _U(8 * WRITE_CAPACITY)):
            call(load(state + _U(8 * GROW)), _U(1), zero, zero, zero)
            if load(state + _U(8 * ENDED)) != zero or number >= load(state + _U(8 * WRITE_CAPACITY)):
                store(state + _U(8 * ENDED), _U(1))
                return
        step = load(state + _U(8 * STEPS)) - _U(1)
        store_step(load(state + _U(8 * WRITE_STEPS)) + number * _U(4), types.uint32(step))
        store(load(state + _U(8 * WRITE_ADDRESSES)) + number * eight, address)
        store_byte(load(state + _U(8 * WRITE_SIZES)) + number, types.uint8(length))
        mask = ~zero >> (_U(64) - eight * length)
        store(load(state + _U(8 * WRITE_VALUES)) + number * eight, value & mask)
        store(state + _U(8 * WRITES), number + _U(1))
        _forget_written(address, length, state)
    stale = load(state + _U(8 * BLOCK_STATE))
    if stale != zero:
        # A hooked store in a Thumb IT block leaves the block's state behind: see `testbed.machine.python_hooks`.
        word, flags = load(state + _U(8 * WORD)), load(state + _U(8 * FLAGS))
        number = _U(load_id(load(state + _U(8 * IDS)) + flags * _U(4)))
        call(load(state + _U(8 * READ)), engine, number, word, zero)
        if load(word) & stale != zero:
            store(word, load(word) & ~stale)
            call(load(state + _U(8 * WRITE_REGISTER)), engine, number, word, zero)
