"""What no recorder of every step can go below: hooks that do nothing, and the memory of the rows."""

from __future__ import annotations

import ctypes

from unicorn import unicorn_const as const
from unicorn.unicorn_py3.unicorn import uclib

from benchmarks.native import on_code, on_write
from benchmarks.workload import BenchmarkTarget, steps
from testbed.machine.columns import Column
from testbed.machine.start import Machine
from testbed.machine.stops import Stops
from testbed.native.compiled import address
from testbed.trace import Exited


def run_empty_hooks(made: object) -> None:
    """A compiled hook for every instruction and one for every write; both return at once."""
    assert isinstance(made, Machine)
    stops = Stops(made)
    for kind, function in ((const.UC_HOOK_CODE, on_code), (const.UC_HOOK_MEM_WRITE, on_write)):
        hook, everywhere = ctypes.c_size_t(), (ctypes.c_uint64(1), ctypes.c_uint64(0))
        at = ctypes.c_void_p(address(function))
        assert uclib.uc_hook_add(made.uc._uch, ctypes.byref(hook), kind, at, None, *everywhere) == const.UC_ERR_OK
    made.uc.emu_start(made.start, made.arch.word_mask - 3)
    assert stops.ending == Exited(0), stops.ending


def fill_rows(target: BenchmarkTarget, scale: int, _: object) -> None:
    """New memory for the registers of every step, each row written to once; no emulator."""
    from numpy import uint64

    count = steps(target, scale)
    column = Column(uint64, len(target.value.registers))
    column.grow(count)
    column.filled(count)[:] = 1
