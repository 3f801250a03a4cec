"""What a process does, step by step, in one sequence over all its threads: the recorder, and the kernel's part.

What the kernel writes belongs to the step before, as what a system call's instruction does. A signal is a row of its
own, of size 0. Reading a clock would make every run another one (`testbed.machine.clock_reads`). So such an instruction
stops the machine, and the process gives it the time that it gives to system calls, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from unicorn import Uc

from testbed.arch import Arch
from testbed.machine.clock_reads import CLOCK_READS
from testbed.machine.code_ranges import CodeRange
from testbed.machine.hooked_run import NATIVE_FROM, SLACK, HookedRun, HookedStops
from testbed.machine.start import Machine, new_engine
from testbed.machine.unicorn_arches import UNICORN
from testbed.process.address_space import WRITE, AddressSpace
from testbed.trace import Writes

# Why a program left for the kernel. The hooks only note it and stop the machine; the rest is done after.


@dataclass(frozen=True, slots=True)
class Called:
    """A system call."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The processor refused an access: ``kind`` is a UC_MEM_*, ``size`` the bytes at ``address``."""

    kind: int
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class Raised:
    """A processor exception that is no system call, by its number."""

    number: int


KernelEntry = Called | Refused | Raised


class KernelStops(HookedStops):
    """Notes the first event of a piece of the run; nothing is recorded after it until the run goes on."""

    entered: KernelEntry | None = None

    def enter(self, entry: KernelEntry) -> None:
        self.entered = self.entered or entry
        self.state.ended = 1

    def _invalid_access(self, uc: Uc, access: int, address: int, size: int, value: int, _: object) -> bool:
        self.enter(Refused(access, address, size))
        return False

    def _exception(self, uc: Uc, number: int, _: object) -> None:
        self.enter(Called() if number == self._settings.call_exception else Raised(number))
        uc.emu_stop()

    def _system_call(self, uc: Uc, *_: object) -> None:
        self.enter(Called())
        uc.emu_stop()


ROOM = 1 << 14  # steps, and writes, that room is made for at first; then it is doubled


class Recorded(NamedTuple):
    """All that one machine recorded."""

    registers: np.ndarray
    sizes: np.ndarray
    writes: Writes


class ProcessRecorder(HookedRun):
    """A machine for a process. ``budget`` steps are allowed; ``slice`` steps without a stop are, once that is set.

    With a ``piece`` it stops after that many steps, `piece_is_full`, until these were taken; ``total`` counts all,
    and those that are another machine's, ``before`` this one. ``natively``: the compiled hooks are loaded already.
    """

    def __init__(
        self, arch: Arch, budget: int, piece: int | None = None, before: int = 0, natively: bool = False
    ) -> None:
        uc = new_engine(arch, UNICORN[arch.name].process_cpu)
        super().__init__(
            Machine(arch, uc, (), 0, {}), lambda run, journal: self._full(journal), KernelStops, natively=natively
        )
        self.arch, self.uc, self.ids = arch, uc, UNICORN[arch.name].registers
        self._clock_read = CLOCK_READS[arch.name]
        self._budget = budget + before
        self._piece, self._before = piece or budget + SLACK, before
        self._room, self._journal_room = min(ROOM, budget + SLACK), ROOM
        self.grow_steps(self._room)
        self.grow_writes(self._journal_room)
        self.begin(budget)
        self.slice: int | None = None
        self._slice_end = 0
        self.cut_short = False  # by nothing but a full piece: the machine is to go on where it is
        self.reads_clock = False
        assert isinstance(self.stops, KernelStops)
        self.kernel_stops = self.stops
        self._told = 0  # entries of the journal that all who see shared memory know

    # The run.

    def execute(self) -> int:
        """Run from the pc until something stops the machine; Unicorn's status."""
        self.kernel_stops.entered, self.reads_clock = None, False
        if self.total >= NATIVE_FROM:
            self.go_native()
        self.go_on()
        if not self.cut_short:
            self._slice_end = self.steps + self.slice if self.slice else self._budget + SLACK
        self.cut_short = False
        self._limit()
        status = self.go(self.pc | self.arch.isa_of_flags(self[self.arch.flags]).address_bit)
        stopped = self.stopped and not self.reads_clock and self.kernel_stops.entered is None
        if stopped and self.steps and self.last_pc() == self.pc:  # its hook has run, the instruction has not
            self.drop_last()
        self.cut_short &= stopped
        return status

    @property
    def _stop_at(self) -> int:
        """The step before which the machine stops for a full piece, or for hooks of the other form."""
        return self._piece if self.is_native else min(self._piece, NATIVE_FROM - self._before)

    def _limit(self) -> None:
        self.limit_steps(min(self._room, max(min(self._slice_end, self._stop_at), self.steps)))

    def _full(self, journal: bool) -> None:
        if journal:
            self._journal_room *= 2
            self.grow_writes(self._journal_room)
        elif self.steps >= min(self._slice_end, self._stop_at):
            self.cut_short = self.steps < self._slice_end
            self.stop()  # every time: inside an IT block the emulator forgets that it was asked
            self._make_room(self.steps + 1)
            self.limit_steps(self.steps + 1)
        else:
            self._make_room(self.steps + 1)
            self._limit()

    def _make_room(self, rows: int) -> None:
        if rows > self._room:
            self._room = max(rows, min(2 * self._room, self._budget + SLACK))
            self.grow_steps(self._room)

    def is_left_to_host(self, address: int, code: bytes) -> bool:
        if self._clock_read(code) is None:
            return False
        self.reads_clock = True
        self.stop()
        return True

    def plan_code(self, memory: AddressSpace) -> None:
        """Follow what was mapped and changed since the machine stopped."""
        if memory.changed_code:
            spans = (CodeRange(a.start, a.end - a.start, bool(a.protection & WRITE)) for a in memory.code)
            self.planned.plan(spans)
            for low, high in memory.changed_code:
                self.planned.forget(low, high)
                self.uc.ctl_remove_cache(low, high)
            memory.changed_code.clear()

    # Registers.

    @property
    def pc(self) -> int:
        return self[self.arch.pc]

    def __getitem__(self, name: str) -> int:
        value: int = self.uc.reg_read(self.ids[name])
        return value & ((1 << self.arch.by_name[name].bits) - 1)

    def __setitem__(self, name: str, value: int) -> None:
        if name == self.arch.pc:  # the emulator takes the instruction set from its lowest bit
            value |= self.arch.isa_of_flags(self[self.arch.flags]).address_bit
        self.uc.reg_write(self.ids[name], value & ((1 << self.arch.by_name[name].bits) - 1))

    def registers(self) -> dict[str, int]:
        return {register.name: self[register.name] for register in self.arch.registers}

    # What is recorded besides.

    def add_signal(self, values: dict[str, int]) -> None:
        """A row of size 0: the registers that a signal interrupted."""
        self._make_room(self.steps + 1)
        self.add_row(values.values())

    def journal_write(self, address: int, data: bytes) -> None:
        """Entries for what the kernel writes, numbered by the last step; before the first one there are none.

        A forked process begins behind its parent's last step: -1, in 32 bits.
        """
        if not self.total:
            return
        head = min(-address % 8, len(data))
        body = (len(data) - head) // 8
        tail = len(data) - head - 8 * body
        values = [int.from_bytes(data[:head], "little")] if head else []
        parts = np.concatenate(
            (
                np.array(values, np.uint64),
                np.frombuffer(data, "<u8", body, head),
                np.array([int.from_bytes(data[len(data) - tail :], "little")] if tail else [], np.uint64),
            )
        )
        sizes = np.array([head] * bool(head) + [8] * body + [tail] * bool(tail), np.uint8)
        addresses = np.uint64(address) + np.concatenate(([0], np.cumsum(sizes[:-1], dtype=np.uint64))).astype(np.uint64)
        self._set_journal(self.writes, (np.full(len(parts), self._last_step), addresses, sizes, parts))

    @property
    def _last_step(self) -> np.uint32:
        return np.uint32((self.steps - 1) & 0xFFFF_FFFF)

    def _set_journal(self, first: int, columns: Sequence[np.ndarray]) -> None:
        """The journal's entries from the given one on."""
        end = first + len(columns[0])
        while end > self._journal_room:
            self._journal_room *= 2
        self.grow_writes(self._journal_room)
        for column, piece in zip(self.journal, columns, strict=True):
            column.view(end)[first:] = piece
        self.state.writes = end

    def untold(self) -> int:
        """The first entry of the journal that was not asked for before; from now on all were."""
        first, self._told = self._told, self.writes
        return first

    def journal_from(self, first: int) -> tuple[np.ndarray, ...]:
        """Steps, addresses, sizes and values of the journal from an entry on."""
        return tuple(column.view(self.writes)[first:].copy() for column in self.journal)

    def hear(self, addresses: np.ndarray, values: np.ndarray) -> None:
        """Entries for words that somebody else wrote, numbered by the last step."""
        count = len(addresses)
        self._set_journal(self.writes, (np.full(count, self._last_step), addresses, np.full(count, 8), values))
        self._told += count

    def add_copies(self, first: int, at: np.ndarray, address: np.ndarray, size: np.ndarray, value: np.ndarray) -> None:
        """One more place for each of some entries, counted from the given one: behind the entry, of the same step."""
        old, order = self.journal_from(first), np.argsort(at, kind="stable")
        at = at[order].astype(np.int64)
        new = (old[0][at], address[order], size[order], value[order])
        self._set_journal(first, [np.insert(a, at + 1, b.astype(a.dtype)) for a, b in zip(old, new, strict=True)])
        self._told = self.writes

    def drop_faulting(self, memory: AddressSpace) -> None:
        """Forget the last step, whose instruction was refused; what it wrote before, it wrote."""
        self.drop_refused_writes(memory)
        self.drop_last()

    def drop_refused_writes(self, memory: AddressSpace) -> None:
        """Forget those writes of the last step that memory did not allow."""
        first, step = self.writes, self.steps - 1
        columns = steps, addresses, _, _ = tuple(column.view(first) for column in self.journal)
        while first and steps[first - 1] == step:
            first -= 1
        kept = first
        for i in range(first, self.writes):
            area = memory.area_at(int(addresses[i]))
            if area is not None and area.backed and area.protection & WRITE:
                for column in columns:
                    column[kept] = column[i]
                kept += 1
        self.state.writes = kept

    @property
    def total(self) -> int:
        """How many steps were recorded in all, those of earlier pieces too."""
        return self._before + self.steps

    @property
    def piece_is_full(self) -> bool:
        """True once there are as many steps as a piece has."""
        return self.steps >= self._piece

    def next_piece(self) -> tuple[np.ndarray, np.ndarray, Writes]:
        """All rows, sizes and writes since the last time, copied; the next ones are written over them."""
        steps, writes = self.steps, self.writes
        rows = self.rows.view(steps).reshape(-1, self.count).copy()
        sizes, journal = self.sizes.view(steps).copy(), [column.view(writes).copy() for column in self.journal]
        self._before += steps
        self._slice_end -= steps
        self._told = 0
        self.begin(self._budget - self._before)
        return rows, sizes, Writes(*journal)

    def taken(self) -> Recorded:
        """All rows, sizes and writes; nothing is recorded any more."""
        steps, writes = self.steps, self.writes
        return Recorded(
            self.rows.filled(steps).reshape(-1, self.count),
            self.sizes.filled(steps),
            Writes(*(column.filled(writes) for column in self.journal)),
        )
