"""A machine with the compiled hooks on it: what `record_native` and `stream` share.

The hooks are in `testbed.machine.native.hooks`. Python is called back for an instruction that was not seen before and
when the columns are full, so also a key pressed in the terminal is noticed.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from unicorn import unicorn_const as const
from unicorn.unicorn_py3.unicorn import uclib

from testbed.arch import Arch
from testbed.machine.native import hooks, places
from testbed.machine.native.code_ranges import CodeRange, PlannedCode
from testbed.machine.native_columns import Column
from testbed.machine.start import Machine
from testbed.machine.stops import Fault, Stops, out_of_budget
from testbed.machine.unicorn_arches import UNICORN
from testbed.machine.write_sets import write_set
from testbed.native.compiled import address
from testbed.trace import Exited

MOST_CODE = 1 << 24  # bytes of code that write sets are kept for; a run outside reads all registers
MOST_STEPS = (1 << 32) - 1  # the journal has steps of 32 bits
State = ctypes.Array[ctypes.c_uint64]
_BACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64)
_PLACES = (places.WRITE_STEPS, places.WRITE_ADDRESSES, places.WRITE_SIZES, places.WRITE_VALUES)


class NativeStops(Stops):
    """Tells the hooks that the run is over: a Thumb IT block executes on until its end."""

    state: State

    def end(self, ending: Exited | Fault) -> None:
        super().end(ending)
        self.state[places.ENDED] = 1


class NativeRun:
    """A machine that writes its steps into ``rows``, ``sizes`` and ``journal`` once it goes.

    ``full`` is called when those of the steps are, before an instruction executes, or (with true) when the journal is,
    while one executes: it makes room, or, in the first case, may stop the machine. ``stops`` says what ends it besides.
    ``code`` is the address that the byte map of `halt_at` counts from; it has ``most_code`` bytes at most. That is the
    one range of code that the machine has at first; ``planned`` is where others are told.
    """

    def __init__(
        self,
        machine: Machine,
        full: Callable[[NativeRun, bool], None],
        stops: type[NativeStops] = NativeStops,
        most_code: int = MOST_CODE,
    ) -> None:
        self.machine = machine
        self.stopped = False
        self.count = count = len(machine.arch.registers)
        assert count < 59, "a write set has no room for more registers"
        self.state: State = (ctypes.c_uint64 * places.PLACES)()
        self.stops = stops(machine)
        self.stops.state = self.state
        self.rows, self.sizes = Column(np.uint64, count), Column(np.uint8)
        self.journal = (Column(np.uint32), Column(np.uint64), Column(np.uint8), Column(np.uint64))
        arch, settings = machine.arch, UNICORN[machine.arch.name]
        self._ids = (ctypes.c_int * count)(*(settings.registers[register.name] for register in arch.registers))
        self._pointers, self._word = (ctypes.c_uint64 * count)(), ctypes.c_uint64()
        self.planned = PlannedCode(self.state)

        def full_back(journal: int, _1: int, _2: int, _3: int) -> int:
            full(self, bool(journal))
            return 0

        def learn_back(address: int, length: int, isa: int, _: int) -> int:
            code = bytes(machine.uc.mem_read(address, length)) if length <= hooks.LONGEST else b""
            if not self.is_left_to_host(code, isa):
                self.planned.learn(address, isa, _entry(arch, isa, code, address))
            return 0

        self._called = (full_back, learn_back)
        self._back = tuple(map(_BACK, self._called))  # kept alive until the run is over
        # Item access gives function objects of our own: their argument types do not disturb the binding's.
        self._emu_start, self._emu_stop = uclib["uc_emu_start"], uclib["uc_emu_stop"]
        self._emu_start.argtypes = (ctypes.c_void_p, *(ctypes.c_uint64,) * 3, ctypes.c_size_t)
        library = ("uc_reg_read", "uc_reg_read_batch", "uc_reg_write", "uc_emu_stop")
        functions = (*(uclib[name] for name in library), *self._back)
        calls = (places.READ, places.READ_BATCH, places.WRITE_REGISTER, places.STOP, places.GROW, places.LEARN)
        for place, value in {
            places.COUNT: count,
            places.IDS: ctypes.addressof(self._ids),
            places.POINTERS: ctypes.addressof(self._pointers),
            places.PC: arch.index[arch.pc],
            places.FLAGS: arch.index[arch.flags],
            places.ISA_FLAG: arch.isa_flag or 0,
            places.HAS_ISAS: arch.isa_flag is not None,
            places.BLOCK_STATE: settings.block_state,
            places.WORD: ctypes.addressof(self._word),
            **dict(zip(calls, map(_address, functions), strict=True)),
        }.items():
            self.state[place] = value
        self.code, self.code_size = low, size = _code(machine, most_code)
        self.planned.plan([CodeRange(low, size, writable=True)] if size else [])
        _add_hooks(machine, self.state)

    def is_left_to_host(self, code: bytes, isa: int) -> bool:
        """True where this instruction is never to be known, so that its every execution asks here before."""
        return False

    @property
    def steps(self) -> int:
        """How many rows there are now."""
        return self.state[places.STEPS]

    @property
    def writes(self) -> int:
        """How many entries the journal has now."""
        return self.state[places.WRITES]

    def last_pc(self) -> int:
        """The pc of the last row."""
        at = self.state[places.ROWS] + 8 * ((self.steps - 1) * self.count + self.state[places.PC])
        return ctypes.c_uint64.from_address(at).value

    def grow_steps(self, capacity: int, *, spare: int = 0) -> None:
        """Room for this many rows; ``spare`` more lie before the first one, and stay empty."""
        self.state[places.ROWS] = self.rows.grow(capacity + spare) + 8 * self.count * spare
        self.state[places.SIZES] = self.sizes.grow(capacity + spare) + spare
        self.state[places.CAPACITY] = capacity  # last: an exception before leaves the hooks without room, not astray

    def write_into(self, rows: Column, sizes: Column, *, spare: int = 0) -> None:
        """From now on the columns of steps are these, in which there is as much room."""
        self.rows, self.sizes = rows, sizes
        self.state[places.ROWS] = rows.address + 8 * self.count * spare
        self.state[places.SIZES] = sizes.address + spare

    def grow_writes(self, capacity: int) -> None:
        """Room for this many entries of the journal."""
        for place, column in zip(_PLACES, self.journal, strict=True):
            self.state[place] = column.grow(capacity)
        self.state[places.WRITE_CAPACITY] = capacity

    def limit_steps(self, capacity: int) -> None:
        """As if there were room for this many rows, of those that there is room for."""
        self.state[places.CAPACITY] = capacity

    def begin(self, budget: int) -> None:
        """Forget all rows, and that registers are known; ``budget`` more steps are allowed."""
        self.stopped = False
        for place in (places.STEPS, places.WRITES, places.SET, places.ENTRY):
            self.state[place] = 0
        self.state[places.BUDGET] = min(budget, MOST_STEPS)

    def halt_at(self, halts: NDArray[np.uint8]) -> None:
        """From now on, stop before every instruction at ``code + i`` with ``halts[i]`` not 0."""
        assert len(halts) >= self.code_size
        self._halts = halts  # kept alive
        self.state[places.HALT_CODE], self.state[places.HALT_SIZE] = self.code, self.code_size
        self.state[places.HALTS] = halts.ctypes.data

    def go_on(self) -> None:
        """Ready to run once more after a stop; rows are added to those that there are, and registers are read anew."""
        self.stopped = False
        for place in (places.SET, places.ENTRY, places.ENDED, places.OVER, places.HALTED):
            self.state[place] = 0

    @property
    def halted(self) -> bool:
        """True where the machine stopped at a place of `halt_at`."""
        return bool(self.state[places.HALTED])

    def drop_last(self) -> None:
        """Forget the last row: its instruction did not execute."""
        self.state[places.STEPS] -= 1

    def stop(self) -> None:
        """Stop before the instruction whose hook is running; inside a Thumb IT block, after it."""
        self.stopped = True
        self._emu_stop(self.machine.uc._uch)

    def go(self, start: int) -> int:
        """Run from an address until something stops the machine; Unicorn's status."""
        # "until" is an address that no program can execute: 0 would hide a call through a null pointer.
        with _exceptions_of(self._called, self.state) as raised:
            status: int = self._emu_start(self.machine.uc._uch, start, self.machine.arch.word_mask - 3, 0, 0)
        if raised:
            raise raised[0]
        return status

    def ending(self, status: int, budget: int) -> Exited | Fault:
        """How the run ended, of which ``budget`` steps were allowed in all."""
        if self.state[places.OVER]:
            return out_of_budget(budget, self.state[places.OVER_PC])
        return self.stops.after(status)

    @property
    def over(self) -> bool:
        """True once the hooks know that nothing follows."""
        return bool(self.state[places.ENDED])


@contextmanager
def _exceptions_of(functions: tuple[object, ...], state: State) -> Iterator[list[BaseException]]:
    """What functions raise that the hooks call, in place of a message on standard error; it ends the run.

    A key pressed in the terminal raises before a function's first line: nothing inside of it could catch that.
    """
    raised: list[BaseException] = []
    before = sys.unraisablehook

    def notice(told: sys.UnraisableHookArgs) -> None:
        if told.object in functions and told.exc_value is not None:
            raised.append(told.exc_value)
            state[places.ENDED] = 1
        else:
            before(told)

    sys.unraisablehook = notice
    try:
        yield raised
    finally:
        sys.unraisablehook = before


def _add_hooks(machine: Machine, state: State) -> None:
    """From now on every instruction and every write of a machine calls the compiled hooks, with this state."""
    for kind, function in ((const.UC_HOOK_CODE, hooks.on_code), (const.UC_HOOK_MEM_WRITE, hooks.on_write)):
        hook = ctypes.c_size_t()
        status = uclib.uc_hook_add(
            machine.uc._uch,
            ctypes.byref(hook),
            kind,
            ctypes.c_void_p(address(function)),
            ctypes.c_void_p(ctypes.addressof(state)),
            ctypes.c_uint64(1),
            ctypes.c_uint64(0),
        )
        assert status == const.UC_ERR_OK, status


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _code(machine: Machine, most: int) -> tuple[int, int]:
    """The first address that may execute, and how many bytes from there write sets are kept for."""
    spans = [
        (mapping.address, mapping.address + len(mapping.data))
        for mapping in machine.mappings
        if mapping.permissions & const.UC_PROT_EXEC
    ]
    if not spans:
        return 0, 0
    low = min(start for start, _ in spans)
    # What lies further away has none, and makes no room needed either: a page of the kernel's at the end of memory.
    return low, min(max(end for start, end in spans if start < low + most) - low, most)


def _entry(arch: Arch, isa: int, code: bytes, address: int) -> int:
    """The table's entry for an instruction that was not seen before."""
    found = write_set(arch, arch.isas[isa], code, address)
    if found is None:
        return hooks.UNKNOWN
    # Not settled, so never 0 once it was checked; the bit of the pc, which is written anyway, tells it from "not seen".
    return sum(1 << arch.index[name] for name in {*found, arch.pc})
