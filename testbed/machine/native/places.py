"""The array of words that the compiled hooks work on, and how compiled code reads and writes memory by address.

All that the hooks need is reached through that one array, so that compiled code holds no address and can be kept on
disk. ``load(state + 8 * STEPS)`` is the word at the place `STEPS`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

# fmt: off
(STEPS, CAPACITY, BUDGET, ENDED, OVER, OVER_PC, ROWS, SIZES,
 WRITES, WRITE_CAPACITY, WRITE_STEPS, WRITE_ADDRESSES, WRITE_SIZES, WRITE_VALUES,
 COUNT, IDS, POINTERS, PC, FLAGS, ISA_FLAG, HAS_ISAS, BLOCK_STATE, WORD,
 READ, READ_BATCH, WRITE_REGISTER, STOP, GROW, LEARN,
 TABLE, CODE, CODE_SIZE, SET, ENTRY, HALTS, HALT_CODE, HALT_SIZE, HALTED,
 RANGES, RANGE_COUNT, WRITABLE_COUNT,
 ANSWER, RESULT, RESULTS, ANSWERED, ANSWERS, FORCED, FORCES, FORCE_COUNT, PLACES) = range(50)
# fmt: on
_U = types.uint64


def _loader(bits: int, kind: Any) -> Any:
    def loaded(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer()))

        return kind(_U), generate

    return intrinsic(loaded)


def _storer(bits: int, kind: Any) -> Any:
    def stored(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[1], builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer()))
            return context.get_dummy_value()

        return types.void(_U, kind), generate

    return intrinsic(stored)


load, load_id, load_byte = _loader(64, _U), _loader(32, types.int32), _loader(8, types.uint8)
store, store_step, store_byte = _storer(64, _U), _storer(32, types.uint32), _storer(8, types.uint8)


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def call(typing_context: Any, function: Any, first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """Call a C function of up to four word arguments; what it does not take, it does not look at."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.IntType(32), [word] * 4)
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(_U, _U, _U, _U, _U), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def lowest(typing_context: Any, word: Any) -> Any:
    """The number of the lowest set bit; ``word`` is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.true_bit)

    return _U(_U), generate
