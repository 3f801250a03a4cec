"""The machine code of `testbed.native.memory`, as the compiler puts it into kernels."""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_WORD = types.int64


def _loader(bits: int, extend: str) -> Any:
    def loaded(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = builder.load(builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer()))
            return value if bits == 64 else getattr(builder, extend)(value, ir.IntType(64))

        return _WORD(_WORD), generate

    return intrinsic(loaded)


def _storer(bits: int) -> Any:
    def stored(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.IntType(bits)
            value = arguments[1] if bits == 64 else builder.trunc(arguments[1], kind)
            builder.store(value, builder.inttoptr(arguments[0], kind.as_pointer()))
            return context.get_dummy_value()

        return types.void(_WORD, _WORD), generate

    return intrinsic(stored)


load, load_id, load_byte = _loader(64, ""), _loader(32, "sext"), _loader(8, "zext")
store, store_step, store_byte = _storer(64), _storer(32), _storer(8)


@numba.njit(  # type: ignore[untyped-decorator,unused-ignore]
    forceinline=True, nogil=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True
)
def copy_words(to: Any, source: Any, count: Any) -> None:
    """Copy ``count`` words of 8 bytes from one address to another."""
    for k in range(count):
        store(to + 8 * k, load(source + 8 * k))


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def call(typing_context: Any, function: Any, first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """Call a C function at an address: four words in, an ``int`` out that nobody looks at."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.IntType(32), [word] * 4)
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(*[_WORD] * 5), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def lowest(typing_context: Any, word: Any) -> Any:
    """The number of the lowest bit that is set in a word that is not zero (``cttz``)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.true_bit)

    return _WORD(_WORD), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def prefetch(typing_context: Any, address: Any) -> Any:
    """Ask the processor to load an address into its cache; this changes nothing else."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        octets, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [octets, number, number, number])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [octets], kind)
        read, keep, data = number(0), number(3), number(1)
        builder.call(hint, [builder.inttoptr(arguments[0], octets), read, keep, data])
        return context.get_dummy_value()

    return types.void(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def record_at(typing_context: Any, kind: Any, address: Any) -> Any:
    """The record of a type of numpy's that lies at an address."""
    record = kind.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[1], context.get_value_type(record))

    return record(kind, _WORD), generate
