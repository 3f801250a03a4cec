"""The native recorder: what `record_light` records, some hundred times faster, for runs of millions of steps.

The hooks are in `testbed.machine.native_hooks`, compiled once and kept on disk by numba; nothing imports this module
before a run is long. Python is called back for an instruction that was not seen before and when the columns are full,
so also a key pressed in the terminal is noticed.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from unicorn import unicorn_const as const
from unicorn.unicorn_py3.unicorn import uclib

from testbed.arch import Arch
from testbed.machine import native_hooks as hooks
from testbed.machine.columns import Column
from testbed.machine.start import Machine
from testbed.machine.stops import Fault, Stops, out_of_budget
from testbed.machine.tape import Tape
from testbed.machine.write_sets import write_set
from testbed.trace import Exited, Writes

CHUNK = 1 << 22  # steps, and writes, that room is made for at first; then it is doubled
MOST_CODE = 1 << 24  # bytes of code that write sets are kept for; a run outside reads all registers
_BACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64)


class _Stops(Stops):
    """Tells the hooks that the run is over: a Thumb IT block executes on until its end."""

    state: ctypes.Array[ctypes.c_uint64]

    def end(self, ending: Exited | Fault) -> None:
        super().end(ending)
        self.state[hooks.ENDED] = 1


def record_native(machine: Machine, budget: int) -> Tape:
    """Run a machine to its end, or for ``budget`` steps, with compiled hooks."""
    uc, arch = machine.uc, machine.arch
    count = len(arch.registers)
    assert count < 59, "a write set has no room for more registers"
    state = (ctypes.c_uint64 * hooks.PLACES)()
    stops = _Stops(machine)
    stops.state = state
    ids = (ctypes.c_int * count)(*(register.unicorn for register in arch.registers))
    pointers, word = (ctypes.c_uint64 * count)(), ctypes.c_uint64()
    low, size = _code(machine)
    table = np.zeros(2 * size, np.uint64)
    rows, sizes = Column(np.uint64, count), Column(np.uint8)
    journal = (Column(np.uint32), Column(np.uint64), Column(np.uint8), Column(np.uint64))

    def grow() -> None:
        if state[hooks.STEPS] >= state[hooks.CAPACITY]:
            capacity = min(max(2 * state[hooks.STEPS], CHUNK), budget)
            state[hooks.ROWS], state[hooks.SIZES] = rows.grow(capacity), sizes.grow(capacity)
            state[hooks.CAPACITY] = capacity  # last: an exception before leaves the hooks without room, not astray
        if state[hooks.WRITES] >= state[hooks.WRITE_CAPACITY]:
            capacity = max(2 * state[hooks.WRITES], CHUNK)
            places = (hooks.WRITE_STEPS, hooks.WRITE_ADDRESSES, hooks.WRITE_SIZES, hooks.WRITE_VALUES)
            for place, column in zip(places, journal, strict=True):
                state[place] = column.grow(capacity)
            state[hooks.WRITE_CAPACITY] = capacity

    def learn(address: int, length: int, isa: int) -> None:
        code = bytes(uc.mem_read(address, length)) if length <= hooks.LONGEST else b""
        table[2 * (address - low) + isa] = _entry(arch, isa, code, address)

    def grow_back(_0: int, _1: int, _2: int, _3: int) -> int:
        grow()
        return 0

    def learn_back(address: int, length: int, isa: int, _: int) -> int:
        learn(address, length, isa)
        return 0

    back = (_BACK(grow_back), _BACK(learn_back))  # kept alive until the run is over
    # Item access gives function objects of our own: their argument types do not disturb the binding's.
    emu_start = uclib["uc_emu_start"]
    emu_start.argtypes = (ctypes.c_void_p, *(ctypes.c_uint64,) * 3, ctypes.c_size_t)
    library = ("uc_reg_read", "uc_reg_read_batch", "uc_reg_write", "uc_emu_stop")
    addresses = [_address(function) for function in (*(uclib[name] for name in library), *back)]
    for place, value in {
        hooks.BUDGET: min(budget, (1 << 32) - 1),  # the journal has steps of 32 bits
        hooks.COUNT: count,
        hooks.IDS: ctypes.addressof(ids),
        hooks.POINTERS: ctypes.addressof(pointers),
        hooks.PC: arch.index[arch.pc],
        hooks.FLAGS: arch.index[arch.flags],
        hooks.ISA_FLAG: arch.isa_flag or 0,
        hooks.HAS_ISAS: arch.isa_flag is not None,
        hooks.BLOCK_STATE: arch.block_state,
        hooks.WORD: ctypes.addressof(word),
        hooks.TABLE: table.ctypes.data,
        hooks.CODE: low,
        hooks.CODE_SIZE: size,
    }.items():
        state[place] = value
    for place, value in zip(
        (hooks.READ, hooks.READ_BATCH, hooks.WRITE_REGISTER, hooks.STOP, hooks.GROW, hooks.LEARN),
        addresses,
        strict=True,
    ):
        state[place] = value
    for kind, function in ((const.UC_HOOK_CODE, hooks.on_code), (const.UC_HOOK_MEM_WRITE, hooks.on_write)):
        hook = ctypes.c_size_t()
        status = uclib.uc_hook_add(
            uc._uch,
            ctypes.byref(hook),
            kind,
            ctypes.c_void_p(function.address),
            ctypes.c_void_p(ctypes.addressof(state)),
            ctypes.c_uint64(1),
            ctypes.c_uint64(0),
        )
        assert status == const.UC_ERR_OK, status
    # "until" is an address that no program can execute: 0 would hide a call through a null pointer.
    with _exceptions_of((grow_back, learn_back), state) as raised:
        status = emu_start(uc._uch, machine.start, arch.word_mask - 3, 0, 0)
    if raised:
        raise raised[0]
    ending = out_of_budget(budget, state[hooks.OVER_PC]) if state[hooks.OVER] else stops.after(status)
    steps, writes = state[hooks.STEPS], state[hooks.WRITES]
    return Tape(
        rows.filled(steps).reshape(-1, count),
        sizes.filled(steps),
        Writes(*(column.filled(writes) for column in journal)),
        ending,
    )


@contextmanager
def _exceptions_of(
    functions: tuple[object, ...], state: ctypes.Array[ctypes.c_uint64]
) -> Iterator[list[BaseException]]:
    """What functions raise that the hooks call, in place of a message on standard error; it ends the run.

    A key pressed in the terminal raises before a function's first line: nothing inside of it could catch that.
    """
    raised: list[BaseException] = []
    before = sys.unraisablehook

    def notice(told: sys.UnraisableHookArgs) -> None:
        if told.object in functions and told.exc_value is not None:
            raised.append(told.exc_value)
            state[hooks.ENDED] = 1
        else:
            before(told)

    sys.unraisablehook = notice
    try:
        yield raised
    finally:
        sys.unraisablehook = before


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _code(machine: Machine) -> tuple[int, int]:
    """The first address that may execute, and how many bytes from there write sets are kept for."""
    spans = [
        (mapping.address, mapping.address + len(mapping.data))
        for mapping in machine.mappings
        if mapping.permissions & const.UC_PROT_EXEC
    ]
    if not spans:
        return 0, 0
    low = min(start for start, _ in spans)
    return low, min(max(end for _, end in spans) - low, MOST_CODE)


def _entry(arch: Arch, isa: int, code: bytes, address: int) -> int:
    """The table's entry for an instruction that was not seen before."""
    found = write_set(arch, arch.isas[isa], code, address)
    if found is None:
        return hooks.UNKNOWN
    # Not settled, so never 0 once it was checked; the bit of the pc, which is written anyway, tells it from "not seen".
    return sum(1 << arch.index[name] for name in {*found, arch.pc})
