"""A machine with the recorder's hooks on it, and the columns that they fill.

The hooks are in `testbed.machine.native.hooks`. They run as Python, or, for a long run, compiled: some hundred times
faster, once they are there. Python is called back for an instruction that was not seen before and when the columns are
full, so also a key pressed in the terminal is noticed.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
from capstone import CS_GRP_CALL, CS_GRP_JUMP, CsError, CsInsn
from numpy.typing import NDArray
from unicorn import unicorn_const as const
from unicorn.unicorn_py3.unicorn import uclib

from testbed.arch import Arch, Isa
from testbed.image.disassembly import disassembler
from testbed.machine.code_ranges import CodeRange, PlannedCode
from testbed.machine.columns import Column
from testbed.machine.native import hooks
from testbed.machine.native.state import RunState
from testbed.machine.register_parts import WRITTEN
from testbed.machine.start import Machine
from testbed.machine.stops import Fault, Stops, out_of_budget
from testbed.machine.unicorn_arches import UNICORN
from testbed.native.compiled import address, is_allowed
from testbed.trace import Exited

# Which recorded registers an instruction may write, as a disassembler says.
#
# Only hooks that are compiled ask, to read less; they check the answer against all registers the first times that the
# instruction executes. None is always a right answer: "any register".


def write_set(arch: Arch, isa: Isa, code: bytes, address: int) -> frozenset[str] | None:
    """The names of the registers that the first instruction of ``code`` may change, pc left out; None: not known."""
    return _write_set(arch, isa, code)  # wherever it lies


@lru_cache(maxsize=1 << 16)
def _write_set(arch: Arch, isa: Isa, code: bytes) -> frozenset[str] | None:
    instruction = next(disassembler(isa.name, detail=True).disasm(code, 0, 1), None)
    if instruction is None or instruction.mnemonic.startswith(WRITTEN[arch.name].distrusted):
        return None
    try:
        _, written = instruction.regs_access()
    except CsError:
        return None
    found: set[str] = set()
    for number in written:
        named = recorded_parts(arch, instruction.reg_name(number))
        if named is None:
            return None
        found.update(named)
    # Capstone's sets leave the flags out for most of Thumb (`subs r0, #1`), where it notes them apart. A branch may
    # change the bit of the flags that says which instruction set executes.
    if getattr(instruction, "update_flags", False) or _may_switch(arch, instruction, found):
        found.add(arch.flags)
    return frozenset(found - {arch.pc})


def recorded_parts(arch: Arch, name: str) -> tuple[str, ...] | None:
    """The recorded registers that a register of the disassembler is, or is a part of; None: it is not known."""
    return (name,) if name in arch.index else WRITTEN[arch.name].parts.get(name)


def _may_switch(arch: Arch, instruction: CsInsn, written: set[str]) -> bool:
    return arch.isa_flag is not None and (
        arch.pc in written or any(group in (CS_GRP_CALL, CS_GRP_JUMP) for group in instruction.groups)
    )


MOST_CODE = 1 << 24  # bytes of code that write sets are kept for; a run outside reads all registers
NATIVE_FROM = 100_000  # steps; loading the compiled hooks takes as long as recording so many without
MOST_STEPS = (1 << 32) - 1  # the journal has steps of 32 bits
SLACK = 64  # rows for what a machine executes after it was stopped: a Thumb IT block, up to its end
_WORD, _UNSIGNED = ctypes.c_int64, (1 << 64) - 1
_BACK = ctypes.CFUNCTYPE(ctypes.c_int, _WORD, _WORD, _WORD, _WORD)
_CODE = ctypes.CFUNCTYPE(None, _WORD, _WORD, ctypes.c_uint32, _WORD)
_WRITE = ctypes.CFUNCTYPE(None, _WORD, ctypes.c_int32, _WORD, ctypes.c_int32, _WORD, _WORD)


class HookedStops(Stops):
    """Tells the hooks that the run is over: a Thumb IT block executes on until its end."""

    state: RunState

    def end(self, ending: Exited | Fault) -> None:
        super().end(ending)
        self.state.ended = 1


class HookedRun:
    """A machine that writes its steps into ``rows``, ``sizes`` and ``journal`` once it goes.

    ``full`` is called when those of the steps are, before an instruction executes, or (with true) when the journal is,
    while one executes: it makes room, or, in the first case, may stop the machine. ``stops`` says what ends it besides.
    ``code`` is the address that the byte map of `halt_at` counts from; it has ``most_code`` bytes at most. That is the
    one range of code that the machine has at first; ``planned`` is where others are told. ``natively``: the hooks are
    compiled, and read only what an instruction may have written.
    """

    def __init__(
        self,
        machine: Machine,
        full: Callable[[HookedRun, bool], None],
        stops: type[HookedStops] = HookedStops,
        most_code: int = MOST_CODE,
        *,
        natively: bool = True,
    ) -> None:
        self.machine = machine
        self.stopped = False
        self.count = count = len(machine.arch.registers)
        assert count < 59, "a write set has no room for more registers"
        self.state = RunState()
        self.stops = stops(machine)
        self.stops.state = self.state
        self.rows, self.sizes = Column(np.uint64, count), Column(np.uint8)
        self.journal = (Column(np.uint32), Column(np.uint64), Column(np.uint8), Column(np.uint64))
        arch, settings = machine.arch, UNICORN[machine.arch.name]
        self._ids = (ctypes.c_int * count)(*(settings.registers[register.name] for register in arch.registers))
        self._cells, self._word = (ctypes.c_uint64 * count)(), ctypes.c_uint64()
        cells = ctypes.addressof(self._cells)
        self._pointers = (ctypes.c_uint64 * count)(*range(cells, cells + 8 * count, 8))
        self.is_native = natively
        self.planned = PlannedCode(self.state)

        def full_back(journal: int, _1: int, _2: int, _3: int) -> int:
            full(self, bool(journal))
            return 0

        def learn_back(signed: int, length: int, isa: int, _: int) -> int:
            address = signed & _UNSIGNED
            code = bytes(machine.uc.mem_read(address, length)) if length <= hooks.LONGEST else b""
            if not self.is_left_to_host(address, code):
                entry = _entry(arch, isa, code, address) if self.is_native else hooks.UNKNOWN
                self.planned.learn(address, isa, entry)
            return 0

        def code_hook(engine: int, address: int, size: int, _: int) -> None:
            hooks.before_instruction(engine, address, size, self.state)

        def write_hook(engine: int, _1: int, address: int, size: int, value: int, _2: int) -> None:
            hooks.before_write(engine, address, size, value, self.state)

        # Kept alive until the run is over.
        self._called = (full_back, learn_back, code_hook, write_hook)
        self._back = (_BACK(full_back), _BACK(learn_back), _CODE(code_hook), _WRITE(write_hook))
        grow, learn, *_ = self._back
        # Item access gives function objects of our own: their argument types do not disturb the binding's.
        self._emu_start, self._emu_stop = uclib["uc_emu_start"], uclib["uc_emu_stop"]
        self._emu_start.argtypes = (ctypes.c_void_p, *(ctypes.c_uint64,) * 3, ctypes.c_size_t)
        for name, value in {
            "count": count,
            "ids": ctypes.addressof(self._ids),
            "cells": cells,
            "pointers": ctypes.addressof(self._pointers),
            "pc": arch.index[arch.pc],
            "flags": arch.index[arch.flags],
            "isa_flag": arch.isa_flag or 0,
            "has_isas": arch.isa_flag is not None,
            "block_state": settings.block_state,
            "word": ctypes.addressof(self._word),
            "read": _address(uclib["uc_reg_read"]),
            "read_batch": _address(uclib["uc_reg_read_batch"]),
            "write_register": _address(uclib["uc_reg_write"]),
            "stop": _address(self._emu_stop),
            "grow": _address(grow),
            "learn": _address(learn),
        }.items():
            setattr(self.state, name, value)
        self.code, self.code_size = low, size = _code(machine, most_code)
        self.planned.plan([CodeRange(low, size, writable=True)] if size else [])
        self._hooks: list[int] = []
        self._add_hooks()

    def is_left_to_host(self, address: int, code: bytes) -> bool:
        """True where this instruction is never to be known, so that its every execution asks here before.

        Its row is there already.
        """
        return False

    def go_native(self) -> None:
        """From now on the hooks are compiled. The machine does not execute."""
        if self.is_native:
            return
        self.is_native = True
        self.planned.forget_all()
        if is_allowed():
            for hook in self._hooks:
                uclib.uc_hook_del(self.machine.uc._uch, ctypes.c_size_t(hook))
            self.machine.uc.ctl_flush_tb()  # what was translated calls the others
            self._add_hooks()

    def _add_hooks(self) -> None:
        """From now on every instruction and every write of the machine calls the hooks, with this state."""
        if self.is_native and is_allowed():
            places = [address(hooks.on_code), address(hooks.on_write)]
        else:
            places = list(map(_address, self._back[2:]))
        for kind, place in zip((const.UC_HOOK_CODE, const.UC_HOOK_MEM_WRITE), places, strict=True):
            hook = ctypes.c_size_t()
            status = uclib.uc_hook_add(
                self.machine.uc._uch,
                ctypes.byref(hook),
                kind,
                ctypes.c_void_p(place),
                ctypes.c_void_p(ctypes.addressof(self.state)),
                ctypes.c_uint64(1),
                ctypes.c_uint64(0),
            )
            assert status == const.UC_ERR_OK, status
            self._hooks.append(hook.value)

    @property
    def steps(self) -> int:
        """How many rows there are now."""
        return self.state.steps

    @property
    def writes(self) -> int:
        """How many entries the journal has now."""
        return self.state.writes

    def last_pc(self) -> int:
        """The pc of the last row."""
        at = self.state.rows + 8 * ((self.steps - 1) * self.count + self.state.pc)
        return ctypes.c_uint64.from_address(at).value

    def grow_steps(self, capacity: int, *, spare: int = 0) -> None:
        """Room for this many rows; ``spare`` more lie before the first one, and stay empty."""
        self.state.rows = self.rows.grow(capacity + spare) + 8 * self.count * spare
        self.state.sizes = self.sizes.grow(capacity + spare) + spare
        self.state.capacity = capacity  # last: an exception before leaves the hooks without room, not astray

    def write_into(self, rows: Column, sizes: Column, *, spare: int = 0) -> None:
        """From now on the columns of steps are these, in which there is as much room."""
        self.rows, self.sizes = rows, sizes
        self.state.rows = rows.address + 8 * self.count * spare
        self.state.sizes = sizes.address + spare

    def grow_writes(self, capacity: int) -> None:
        """Room for this many entries of the journal."""
        state = self.state
        state.write_steps, state.write_addresses, state.write_sizes, state.write_values = (
            column.grow(capacity) for column in self.journal
        )
        self.state.write_capacity = capacity

    def add_row(self, values: Iterable[int]) -> None:
        """A row of size 0, for which there is room: the registers that a signal interrupted."""
        step = self.steps
        self.rows.view(step + 1)[step * self.count :] = list(values)
        self.sizes.view(step + 1)[step] = 0
        self.state.steps = step + 1

    def add_write(self, address: int, size: int, value: int) -> None:
        """An entry of the journal, of the last step."""
        hooks.before_write(self.machine.uc._uch.value, address, size, value, self.state)

    def limit_steps(self, capacity: int) -> None:
        """As if there were room for this many rows, of those that there is room for."""
        self.state.capacity = capacity

    def begin(self, budget: int) -> None:
        """Forget all rows, and that registers are known; ``budget`` more steps are allowed."""
        self.stopped = False
        state = self.state
        state.steps = state.writes = state.written = state.entry = 0
        self.state.budget = min(budget, MOST_STEPS)

    def halt_at(self, halts: NDArray[np.uint8]) -> None:
        """From now on, stop before every instruction at ``code + i`` with ``halts[i]`` not 0."""
        assert len(halts) >= self.code_size
        self._halts = halts  # kept alive
        self.state.halt_code, self.state.halt_size = self.code, self.code_size
        self.state.halts = halts.ctypes.data

    def go_on(self) -> None:
        """Ready to run once more after a stop; rows are added to those that there are, and registers are read anew."""
        self.stopped = False
        state = self.state
        state.written = state.entry = state.ended = state.over = state.halted = 0

    @property
    def halted(self) -> bool:
        """True where the machine stopped at a place of `halt_at`."""
        return bool(self.state.halted)

    def correct_size(self, size: int) -> None:
        """The size of the last row's instruction, which the machine did not know."""
        self.sizes.view(self.steps)[-1] = size

    def drop_last(self) -> None:
        """Forget the last row: its instruction did not execute."""
        self.state.steps -= 1

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
        if self.state.over:
            return out_of_budget(budget, self.state.over_pc & self.machine.arch.word_mask)
        return self.stops.after(status)

    @property
    def over(self) -> bool:
        """True once the hooks know that nothing follows."""
        return bool(self.state.ended)


@contextmanager
def _exceptions_of(functions: tuple[object, ...], state: RunState) -> Iterator[list[BaseException]]:
    """What functions raise that the hooks call, in place of a message on standard error; it ends the run.

    A key pressed in the terminal raises before a function's first line: nothing inside of it could catch that.
    """
    raised: list[BaseException] = []
    before = sys.unraisablehook

    def notice(told: sys.UnraisableHookArgs) -> None:
        if told.object in functions and told.exc_value is not None:
            raised.append(told.exc_value)
            state.ended = 1
        else:
            before(told)

    sys.unraisablehook = notice
    try:
        yield raised
    finally:
        sys.unraisablehook = before


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
