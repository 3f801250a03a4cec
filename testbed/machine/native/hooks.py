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
instruction whose byte is not 0, and ``HALTED`` says so.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from testbed.native.compiled import callback, compiled

# fmt: off
(STEPS, CAPACITY, BUDGET, ENDED, OVER, OVER_PC, ROWS, SIZES,
 WRITES, WRITE_CAPACITY, WRITE_STEPS, WRITE_ADDRESSES, WRITE_SIZES, WRITE_VALUES,
 COUNT, IDS, POINTERS, PC, FLAGS, ISA_FLAG, HAS_ISAS, BLOCK_STATE, WORD,
 READ, READ_BATCH, WRITE_REGISTER, STOP, GROW, LEARN,
 TABLE, CODE, CODE_SIZE, SET, ENTRY, HALTS, HALT_CODE, HALT_SIZE, HALTED,
 RANGES, RANGE_COUNT, WRITABLE_COUNT, PLACES) = range(42)
# fmt: on
RANGE = 3  # words of a range of code: its first address, its bytes, its table

LONGEST = 16  # bytes of an instruction; Unicorn gives a magic number as the size of one it cannot decode
REGISTERS = 0x07FF_FFFF_FFFF_FFFF
ONCE, CHECKS = 1 << 59, 3
UNKNOWN, SETTLED = 1 << 61, 1 << 63

_U = types.uint64
CODE_HOOK = types.void(_U, _U, types.uint32, _U)  # engine, address, size, state
WRITE_HOOK = types.void(_U, types.int32, _U, types.int32, types.uint64, _U)  # engine, type, address, size, value, state


def _loader(bits: int, kind: Any) -> Any:
    def load(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer()))

        return kind(_U), generate

    return intrinsic(load)


def _storer(bits: int, kind: Any) -> Any:
    def store(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[1], builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer()))
            return context.get_dummy_value()

        return types.void(_U, kind), generate

    return intrinsic(store)


_load, _load_id, _load_byte = _loader(64, _U), _loader(32, types.int32), _loader(8, types.uint8)
_store, _store_step, _store_byte = _storer(64, _U), _storer(32, types.uint32), _storer(8, types.uint8)


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def _call(typing_context: Any, function: Any, first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """Call a C function of up to four word arguments; what it does not take, it does not look at."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.IntType(32), [word] * 4)
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(_U, _U, _U, _U, _U), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def _lowest(typing_context: Any, word: Any) -> Any:
    """The number of the lowest set bit; ``word`` is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.true_bit)

    return _U(_U), generate


@compiled(inline=True)
def _has_room(step: Any, address: Any, state: Any) -> Any:
    """Whether there is a row for this step, made if need be; where there is none, the run is over."""
    if step >= _load(state + _U(8 * BUDGET)):
        _store(state + _U(8 * ENDED), _U(1))
        _store(state + _U(8 * OVER), _U(1))
        _store(state + _U(8 * OVER_PC), address)
        return False
    if step >= _load(state + _U(8 * CAPACITY)):
        _call(_load(state + _U(8 * GROW)), _U(0), _U(0), _U(0), _U(0))
        # An exception may have kept it from making room.
        if _load(state + _U(8 * ENDED)) != _U(0) or step >= _load(state + _U(8 * CAPACITY)):
            _store(state + _U(8 * ENDED), _U(1))
            return False
    return True


@compiled(inline=True)
def _halts(address: Any, state: Any) -> Any:
    """Whether the machine shall stop before this instruction."""
    halts, offset = _load(state + _U(8 * HALTS)), address - _load(state + _U(8 * HALT_CODE))
    if halts == _U(0) or offset >= _load(state + _U(8 * HALT_SIZE)) or _load_byte(halts + offset) == types.uint8(0):
        return False
    _store(state + _U(8 * HALTED), _U(1))
    _store(state + _U(8 * ENDED), _U(1))
    return True


@compiled(inline=True)
def _read_written(engine: Any, address: Any, row: Any, written: Any, state: Any) -> None:
    """A row is the row before, but for the pc and for what the instruction between may have written."""
    eight = _U(8)
    count, ids, read = _load(state + _U(8 * COUNT)), _load(state + _U(8 * IDS)), _load(state + _U(8 * READ))
    before = row - count * eight
    for k in range(count):
        _store(row + _U(k) * eight, _load(before + _U(k) * eight))
    while written != _U(0):
        k = _lowest(written)
        written &= written - _U(1)
        _call(read, engine, _U(_load_id(ids + k * _U(4))), row + k * eight, _U(0))
    _store(row + _load(state + _U(8 * PC)) * eight, address)


@compiled(inline=True)
def _read_all(engine: Any, row: Any, state: Any) -> None:
    """A row of all registers; what changed is added to the write set of the instruction before."""
    eight = _U(8)
    count, pointers = _load(state + _U(8 * COUNT)), _load(state + _U(8 * POINTERS))
    before = row - count * eight
    for k in range(count):
        _store(pointers + _U(k) * eight, row + _U(k) * eight)
    _call(_load(state + _U(8 * READ_BATCH)), engine, _load(state + _U(8 * IDS)), pointers, count)
    entry = _load(state + _U(8 * ENTRY))
    if entry == _U(0):
        return
    known = _load(entry)
    if known != _U(0) and known & _U(UNKNOWN) == _U(0):
        known += _U(ONCE)
        for k in range(count):
            if _load(row + _U(k) * eight) != _load(before + _U(k) * eight):
                known |= _U(1) << _U(k)
        if (known >> _U(59)) & _U(3) == _U(CHECKS):
            known |= _U(SETTLED)
        _store(entry, known)


@compiled(inline=True)
def _enter_range(address: Any, state: Any) -> Any:
    """Make the range of code that holds an address the one in use; whether there is one."""
    ranges = _load(state + _U(8 * RANGES))
    for k in range(_load(state + _U(8 * RANGE_COUNT))):
        at = ranges + _U(k) * _U(8 * RANGE)
        low, size = _load(at), _load(at + _U(8))
        if address - low < size:
            _store(state + _U(8 * CODE), low)
            _store(state + _U(8 * CODE_SIZE), size)
            _store(state + _U(8 * TABLE), _load(at + _U(16)))
            return True
    return False


@compiled(inline=True)
def _forget_written(address: Any, length: Any, state: Any) -> None:
    """Code that is written over: every instruction that the bytes may belong to is new."""
    ranges, first = _load(state + _U(8 * RANGES)), address - _U(LONGEST - 1)
    for r in range(_load(state + _U(8 * WRITABLE_COUNT))):
        at = ranges + _U(r) * _U(8 * RANGE)
        low, span = _load(at), _load(at + _U(8))
        if address + length - low < span + _U(LONGEST):
            for k in range(_U(LONGEST - 1) + length):
                offset = first + _U(k) - low
                if offset < span:
                    entry = _load(at + _U(16)) + offset * _U(16)
                    _store(entry, _U(0))
                    _store(entry + _U(8), _U(0))


@compiled(inline=True)
def _expect(address: Any, size: Any, row: Any, state: Any) -> None:
    """Note the write set of the instruction that executes now, for the next row."""
    if address - _load(state + _U(8 * CODE)) >= _load(state + _U(8 * CODE_SIZE)) and not _enter_range(address, state):
        _store(state + _U(8 * SET), _U(0))
        _store(state + _U(8 * ENTRY), _U(0))
        return
    offset = address - _load(state + _U(8 * CODE))
    isa = _U(0)
    if _load(state + _U(8 * HAS_ISAS)) != _U(0):
        flags = _load(row + _load(state + _U(8 * FLAGS)) * _U(8))
        isa = (flags >> _load(state + _U(8 * ISA_FLAG))) & _U(1)
    entry = _load(state + _U(8 * TABLE)) + (offset * _U(2) + isa) * _U(8)
    if _load(entry) == _U(0):
        _call(_load(state + _U(8 * LEARN)), address, _U(size), isa, _U(0))
    _store(state + _U(8 * SET), _load(entry))
    _store(state + _U(8 * ENTRY), entry)


@callback(CODE_HOOK)
def on_code(engine: Any, address: Any, size: Any, state: Any) -> None:
    step = _load(state + _U(8 * STEPS))
    if _load(state + _U(8 * ENDED)) != _U(0) or _halts(address, state) or not _has_room(step, address, state):
        _call(_load(state + _U(8 * STOP)), engine, _U(0), _U(0), _U(0))
        return
    row = _load(state + _U(8 * ROWS)) + step * _load(state + _U(8 * COUNT)) * _U(8)
    written = _load(state + _U(8 * SET))
    if written >= _U(SETTLED):
        _read_written(engine, address, row, written & _U(REGISTERS), state)
    else:
        _read_all(engine, row, state)
    _store_byte(_load(state + _U(8 * SIZES)) + step, types.uint8(size if size <= types.uint32(LONGEST) else 1))
    _store(state + _U(8 * STEPS), step + _U(1))
    _expect(address, size, row, state)


@callback(WRITE_HOOK)
def on_write(engine: Any, kind: Any, address: Any, size: Any, value: Any, state: Any) -> None:
    zero, eight = _U(0), _U(8)
    length = _U(size)
    if _load(state + _U(8 * ENDED)) == zero:
        number = _load(state + _U(8 * WRITES))
        if number >= _load(state + _U(8 * WRITE_CAPACITY)):
            _call(_load(state + _U(8 * GROW)), _U(1), zero, zero, zero)
            if _load(state + _U(8 * ENDED)) != zero or number >= _load(state + _U(8 * WRITE_CAPACITY)):
                _store(state + _U(8 * ENDED), _U(1))
                return
        step = _load(state + _U(8 * STEPS)) - _U(1)
        _store_step(_load(state + _U(8 * WRITE_STEPS)) + number * _U(4), types.uint32(step))
        _store(_load(state + _U(8 * WRITE_ADDRESSES)) + number * eight, address)
        _store_byte(_load(state + _U(8 * WRITE_SIZES)) + number, types.uint8(length))
        mask = ~zero >> (_U(64) - eight * length)
        _store(_load(state + _U(8 * WRITE_VALUES)) + number * eight, value & mask)
        _store(state + _U(8 * WRITES), number + _U(1))
        _forget_written(address, length, state)
    stale = _load(state + _U(8 * BLOCK_STATE))
    if stale != zero:
        # A hooked store in a Thumb IT block leaves the block's state behind: see `testbed.machine.python_hooks`.
        word, flags = _load(state + _U(8 * WORD)), _load(state + _U(8 * FLAGS))
        number = _U(_load_id(_load(state + _U(8 * IDS)) + flags * _U(4)))
        _call(_load(state + _U(8 * READ)), engine, number, word, zero)
        if _load(word) & stale != zero:
            _store(word, _load(word) & ~stale)
            _call(_load(state + _U(8 * WRITE_REGISTER)), engine, number, word, zero)
