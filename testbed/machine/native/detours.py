"""Where a machine goes on elsewhere than its code says, without a stop: calls that are answered, forced branches.

An *answered* call leads to code whose byte in `HALTS` is `ANSWER_0` or `ANSWER_VALUE`: the function is not executed.
The register ``RESULT`` becomes 0, or the value that stands in ``RESULTS``, and control goes on at ``ANSWER``. Step and
callee are noted in ``ANSWERS``, ``ANSWERED`` of them. Left to the host, which is told by a stop as at any other such
byte, are what is reached by no jump, what comes when the steps are used up, and `STUCK` answers one after the other.

A *forced* branch goes on at an address before a given step. ``FORCES`` has ``FORCE_COUNT`` such pairs, ``FORCED`` of
them done. An address has no bit for the instruction set: the one in force stays.
"""

from __future__ import annotations

from typing import Any

from numba import types

from testbed.machine.native.places import (
    ANSWER,
    ANSWERED,
    ANSWERS,
    CAPACITY,
    COUNT,
    ENDED,
    ENTRY,
    FLAGS,
    FORCE_COUNT,
    FORCED,
    FORCES,
    HALT_CODE,
    HALT_SIZE,
    HALTED,
    HALTS,
    HAS_ISAS,
    IDS,
    ISA_FLAG,
    PC,
    READ,
    RESULT,
    RESULTS,
    ROWS,
    SET,
    SIZES,
    WORD,
    WRITE_REGISTER,
    call,
    load,
    load_byte,
    load_id,
    store,
)
from testbed.native.compiled import compiled

HALT, ANSWER_0, ANSWER_VALUE = 1, 2, 3  # bytes of `HALTS`
STUCK = 4  # calls answered one after the other, with nothing executed between them

_U = types.uint64


@compiled(inline=True)
def _go_to(engine: Any, address: Any, state: Any) -> None:
    """Execute from an address on; all registers are read for the next row."""
    word = load(state + _U(8 * WORD))
    store(word, address)
    number = _U(load_id(load(state + _U(8 * IDS)) + load(state + _U(8 * PC)) * _U(4)))
    call(load(state + _U(8 * WRITE_REGISTER)), engine, number, word, _U(0))
    store(state + _U(8 * SET), _U(0))
    store(state + _U(8 * ENTRY), _U(0))


@compiled(inline=True)
def _isa(engine: Any, state: Any) -> Any:
    """The bit of the instruction set in force."""
    if load(state + _U(8 * HAS_ISAS)) == _U(0):
        return _U(0)
    word = load(state + _U(8 * WORD))
    number = _U(load_id(load(state + _U(8 * IDS)) + load(state + _U(8 * FLAGS)) * _U(4)))
    store(word, _U(0))
    call(load(state + _U(8 * READ)), engine, number, word, _U(0))
    return (load(word) >> load(state + _U(8 * ISA_FLAG))) & _U(1)


@compiled(inline=True)
def _is_stuck(step: Any, state: Any) -> Any:
    count = load(state + _U(8 * ANSWERED))
    if count < _U(STUCK):
        return False
    return load(load(state + _U(8 * ANSWERS)) + (count - _U(STUCK)) * _U(16)) + _U(STUCK + 1) > step


@compiled(inline=True)
def _follows(address: Any, step: Any, state: Any) -> Any:
    """Whether an instruction is the next one in memory behind the last one that was executed."""
    if step == _U(0):
        return True
    row = load(state + _U(8 * ROWS)) + (step - _U(1)) * load(state + _U(8 * COUNT)) * _U(8)
    last = load(row + load(state + _U(8 * PC)) * _U(8))
    return last + _U(load_byte(load(state + _U(8 * SIZES)) + step - _U(1))) == address


@compiled(inline=True)
def goes_elsewhere(engine: Any, address: Any, step: Any, state: Any) -> Any:
    """Send the machine elsewhere if it is to go there; whether it does."""
    if load(state + _U(8 * ENDED)) != _U(0) or step >= load(state + _U(8 * CAPACITY)):
        return False
    forced = load(state + _U(8 * FORCED))
    if forced < load(state + _U(8 * FORCE_COUNT)):
        pair = load(state + _U(8 * FORCES)) + forced * _U(16)
        if load(pair) == step:
            if _is_stuck(step, state):
                store(state + _U(8 * HALTED), _U(1))
                store(state + _U(8 * ENDED), _U(1))
                return False
            store(state + _U(8 * FORCED), forced + _U(1))
            _go_to(engine, load(pair + _U(8)) | _isa(engine, state), state)
            return True
    halts, offset = load(state + _U(8 * HALTS)), address - load(state + _U(8 * HALT_CODE))
    if halts == _U(0) or offset >= load(state + _U(8 * HALT_SIZE)):
        return False
    kind = load_byte(halts + offset)
    if kind <= types.uint8(HALT) or _is_stuck(step, state) or _follows(address, step, state):
        return False
    noted = load(state + _U(8 * ANSWERED))
    pair = load(state + _U(8 * ANSWERS)) + noted * _U(16)
    store(pair, step - _U(1))
    store(pair + _U(8), address)
    store(state + _U(8 * ANSWERED), noted + _U(1))
    word, results = load(state + _U(8 * WORD)), load(state + _U(8 * RESULTS))
    store(word, results if kind == types.uint8(ANSWER_VALUE) else _U(0))
    call(load(state + _U(8 * WRITE_REGISTER)), engine, load(state + _U(8 * RESULT)), word, _U(0))
    _go_to(engine, load(state + _U(8 * ANSWER)), state)
    return True
