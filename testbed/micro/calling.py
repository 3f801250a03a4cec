"""One machine that calls functions, one after the other, each time from the same state.

A *path* is a function, a plan of arguments, and at some steps another next instruction than the code's own choice
(forced branches). Everything is deterministic: the same path gives the same steps. What is not mapped and is asked for
is mapped, with small numbers in it; system calls give 0; after a path every byte that it wrote is as before.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from unicorn import Uc, UcError
from unicorn import unicorn_const as const
from unicorn.unicorn_py3.unicorn import uclib

from testbed.arch import Arch
from testbed.conventions import platform
from testbed.machine.hooked_run import NATIVE_FROM, HookedRun, HookedStops
from testbed.machine.native.detours import ANSWER_0, ANSWER_VALUE, HALT, STUCK
from testbed.machine.native.state import RunState
from testbed.machine.start import PAGE, Machine, MappedPages, initial_registers, map_all, new_engine
from testbed.machine.stops import UNDEFINED, Fault
from testbed.machine.unicorn_arches import UNICORN
from testbed.micro.call_code import CALL_CODE
from testbed.micro.emulator_gaps import OwnClock, PassingOver
from testbed.micro.layout import ARENA_SIZE, READ_WRITE, CallableImage
from testbed.trace import Writes

# What a path does that its code does not say, told to the compiled hooks: forced branches, answered calls.
#
# The hooks do most of it without a stop (`testbed.machine.native.detours`); what they leave to the caller is noted in
# the same list.


class Detours:
    """The forced branches of a path that are still to come, and its answered calls; at most ``most`` each.

    Answered calls go on at ``answer`` with the path's own answer in Unicorn's register ``result``, or ``value``.
    """

    def __init__(self, state: RunState, most: int, *, answer: int, result: int, value: int) -> None:
        self._state = state
        self._answers, self._forces = np.zeros((most, 2), np.uint64), np.zeros((most, 2), np.uint64)
        state.answers, state.forces = self._answers.ctypes.data, self._forces.ctypes.data
        state.answer, state.result, state.results = answer, result, value

    def begin(self, forced: tuple[tuple[int, int], ...], answer: int) -> None:
        """Another path, with other (step, address) of forced branches, in order."""
        self._state.own_result = answer
        if forced:
            self._forces[: len(forced)] = forced
        self._state.forced, self._state.force_count = 0, len(forced)
        self._state.answered = 0

    def force(self, step: int) -> int | None:
        """The address that a branch is forced to before a step, which counts as done; None where none is."""
        done = self._state.forced
        if done == self._state.force_count or int(self._forces[done, 0]) != step:
            return None
        self._state.forced = done + 1
        return int(self._forces[done, 1])

    def note(self, step: int, callee: int) -> None:
        """One more answered call: the step that called, and what."""
        count = self._state.answered
        self._answers[count] = step, callee
        self._state.answered = count + 1

    def is_stuck(self, step: int) -> bool:
        """True where every place that the path comes back to is one that is not executed."""
        count = self._state.answered
        return count >= STUCK and int(self._answers[count - STUCK, 0]) + STUCK + 1 > step

    @property
    def answered(self) -> tuple[tuple[int, int], ...]:
        """The (step, callee) of all answered calls of the path."""
        return tuple(map(tuple, self._answers[: self._state.answered].tolist()))


# What ends a path, and what a path is given instead: memory that is not there, answers of the kernel.

MOST_PAGES = 32  # pages that one path may have mapped by asking for them
_MOST_ADDRESS = 1 << 51  # the emulator does not survive memory that is mapped far above


def _made_up(page: int, arch: Arch) -> bytes:
    """What lies in a page that a path asked for: small numbers, since by zero a sum is what one had before.

    At a null pointer, where a list ends, there are zeros.
    """
    words = np.arange(PAGE // arch.word) % 7 + 1
    return words.astype(f"<u{arch.word}").tobytes() if page else bytes(PAGE)


class CallStops(HookedStops):
    """Gives what a path asks for: memory where there is none, 0 from the kernel. An exit is the end of the path.

    A new thread on a stack of its own is none that is called here: where callees are executed, the path goes on as the
    one that made it; a forced branch could lead to the other's code on a stack that it never has, so such a path ends.
    """

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.asked: list[int] = []
        self.allowed = MOST_PAGES
        self.call_result = 0
        self.wild = False
        self.to = 0  # where a wild jump went
        self.exits = False
        self.is_whole = False
        self.mistaken: int | None = None  # where an instruction is next that would execute as another one
        self.clones = CALL_CODE[machine.arch.name].clones

    def _invalid_access(self, uc: Uc, access: int, address: int, size: int, value: int, unused: object) -> bool:
        if access in (const.UC_MEM_READ_UNMAPPED, const.UC_MEM_WRITE_UNMAPPED):
            mask = self._machine.arch.word_mask
            pages = {address & mask & -PAGE, (address + size - 1) & mask & -PAGE}
            if self.allowed >= len(pages) and max(pages) < _MOST_ADDRESS:
                try:
                    for page in pages:
                        if page not in self.asked:
                            uc.mem_map(page, PAGE, READ_WRITE)
                            uc.mem_write(page, _made_up(page, self._machine.arch))
                            self.asked.append(page)
                            self.allowed -= 1
                    self._leave_block(uc)
                    return True
                except UcError:
                    pass
        self.wild = access in (const.UC_MEM_FETCH_UNMAPPED, const.UC_MEM_FETCH_PROT)
        self.to = address
        return super()._invalid_access(uc, access, address, size, value, unused)

    def _leave_block(self, uc: Uc) -> None:
        """An access that a hook made possible in a Thumb IT block leaves the block's state behind, as a hooked store
        does (`testbed.machine.native.hooks`): instructions of other code would not be executed by it."""
        if stale := self._settings.block_state:
            number = self._settings.registers[self._machine.arch.flags]
            if (flags := uc.reg_read(number)) & stale:
                uc.reg_write(number, flags & ~stale)

    def begin(self) -> None:
        """Nothing has happened yet."""
        self.ending, self.wild, self.exits, self.mistaken, self.allowed = None, False, False, None, MOST_PAGES

    def _mistaken(self, uc: Uc, address: int, size: int, unused: object) -> None:
        self.mistaken = address  # no other hook is called
        uc.emu_stop()

    def _system_call(self, uc: Uc, *unused: object) -> None:
        call, registers = self._machine.arch.exit_call, self._settings.registers
        if uc.reg_read(registers[call.number_register]) in call.numbers:
            self.exits = True
            super()._system_call(uc, *unused)
            return
        makes_thread = uc.reg_read(registers[call.number_register]) in self.clones
        if makes_thread and not self.is_whole:
            self.exits = True
            uc.emu_stop()
        for register, source in self._settings.call_leaves:
            behind = _CALL_SIZE if source == self._machine.arch.pc else 0  # the hook stands before the instruction
            uc.reg_write(registers[register], uc.reg_read(registers[source]) + behind)
        uc.reg_write(self.call_result, int(makes_thread))


MOST_CODE = 1 << 27  # bytes of code of one file, with what lies between
_CALL_SIZE = 2  # bytes of `syscall`
_POINTERS = 0x7840  # where in the arena, among its pointers, those lie that are no arguments
_ROOM = 1 << 16  # rows of one path, and entries of its journal at first
MOST_STEPS = _ROOM - 1  # of one path


class Over(Enum):
    """How a path ended; the value is what reports say."""

    RETURNED = "returned"
    NEVER_RETURNS = "called what does not come back: a function, or the kernel to exit"
    STEPS = "used up its steps"
    FAULT = "an access or instruction that the machine refuses"
    WILD = "a jump to where no code is"
    STRAY = "came back with another SP, or with callee-saved registers lost"


@dataclass(frozen=True, slots=True)
class CallPath:
    """Registers to call a function with, the steps before which another instruction is next, and what callees give.

    ``turned``: callee-saved registers have every bit otherwise than in other calls, so that a bit that is lost shows.
    """

    target: int  # run-time address, with the bit of its instruction set
    arguments: tuple[tuple[str, int], ...]
    forced: tuple[tuple[int, int], ...] = ()
    answer: int = 0
    turned: bool = False


@dataclass(frozen=True, eq=False)
class CallTape:
    """What was recorded of one path; the last row is the harness's, after the call, however that ended.

    That row's writes are none of the harness's: they give every byte its first value back. ``skipped`` are the
    (step, callee) of calls that were answered without executing the callee; ``lacked`` the addresses of instructions
    that the machine lacks, which were passed over. ``landed`` is the last row of a path that did not come back.
    ``to`` is the run-time address to which a path went astray.
    """

    registers: NDArray[np.uint64] = field(repr=False)
    sizes: NDArray[np.uint8] = field(repr=False)
    writes: Writes = field(repr=False)
    over: Over
    detail: str = ""
    skipped: tuple[tuple[int, int], ...] = ()
    lacked: tuple[int, ...] = ()
    landed: NDArray[np.uint64] = field(default_factory=lambda: np.empty((0, 0), np.uint64), repr=False)
    to: int = 0

    def __len__(self) -> int:
        return len(self.sizes)


class Caller:
    """A machine with a file in it, which calls one function after the other."""

    def __init__(self, callable_image: CallableImage, seed: int) -> None:
        self.image = callable_image
        self._calls, convention = callable_image.calls, callable_image.convention
        arch = self._arch = callable_image.loaded.image.arch
        settings = UNICORN[arch.name]
        uc = self._uc = new_engine(arch, settings.cpus.get("signing") if callable_image.signs else None)
        map_all(uc, callable_image.mappings, callable_image.loaded.image)
        self._ids = settings.registers
        planted = initial_registers(arch, seed, callable_image.mappings, outermost=False)
        for name, value in planted.items():
            uc.reg_write(self._ids[name], value)
        uc.reg_write(self._ids[arch.sp], callable_image.sp)
        uc.reg_write(self._calls.thread, callable_image.thread)
        for k, name in enumerate(convention.pointers):
            uc.reg_write(self._ids[name], callable_image.arena + _POINTERS + 0x100 * k)
        at = callable_image.harness.image.entry
        self._start, self._back, self._stop = at, at + self._calls.back, at + self._calls.stop
        machine = Machine(arch, uc, callable_image.mappings, at, planted)
        clock = OwnClock(arch, uc, self._ids, callable_image.mappings)
        full = self._full
        self._run = HookedRun(machine, lambda run, journal: full(run, journal), CallStops, MOST_CODE, natively=False)
        self.recorded = 0  # steps of all paths
        # Few instructions execute so often here that to learn what they write would pay: all registers are read.
        self._run.planned.plan(())
        clock.steps = lambda: self._run.steps
        stops = self._run.stops
        assert isinstance(stops, CallStops)
        self._stops = stops
        self._stops.call_result = self._ids[convention.results[0]]
        self._run.grow_steps(_ROOM)
        self._run.grow_writes(_ROOM)
        self._journal_room = _ROOM
        self._detours = Detours(
            self._run.state,
            _ROOM + 2,
            answer=self._start + self._calls.answer,
            result=self._ids[convention.results[0]],
            value=max(callable_image.stub_values.values(), default=0),
        )
        self._context = uc.context_save()
        kept = {arch.sp: callable_image.sp} | {name: planted[name] for name in convention.preserved if name in planted}
        self._kept_names = tuple(kept)
        self._target, self._entry_sp = 0, callable_image.sp
        self._passing = PassingOver(self._run, self._ids, (*kept, *((arch.link,) if arch.link else ())))
        self._promises: dict[int, NDArray[np.bool_]] = {}  # by function: which of these come back
        self._kept = (ctypes.c_int * len(kept))(*(self._ids[name] for name in kept))
        self._kept_values, self._kept_now = np.array(list(kept.values()), np.uint64), np.zeros(len(kept), np.uint64)
        self._entered = self._kept_values.copy()
        self._turned = {name: value for name, value in self._turned_values(kept) if name not in convention.pointers}
        now = self._kept_now.ctypes.data
        self._kept_pointers = (ctypes.c_uint64 * len(kept))(*range(now, now + 8 * len(kept), 8))
        self._read_batch = uclib["uc_reg_read_batch"]
        self._read_batch.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
        self._writable = tuple(m for m in callable_image.mappings if m.permissions & const.UC_PROT_WRITE)
        self.code = self._run.code
        self.natural = np.zeros(self._run.code_size, np.uint8)
        self.alone = np.full(self._run.code_size, ANSWER_0, np.uint8)
        for part in callable_image.executed:
            self.alone[part.start - self.code : part.stop - self.code] = 0
        for stub, value in callable_image.stub_values.items():
            self.alone[stub - self.code] = ANSWER_VALUE if value else ANSWER_0
        for place in (self._stop, *callable_image.never_return):
            self.natural[place - self.code] = self.alone[place - self.code] = HALT
        self.asked: dict[int, None] = {}  # pages that some path asked for

    def _turned_values(self, kept: Mapping[str, int]) -> Iterator[tuple[str, int]]:
        """Registers with other values than they have, in every bit; where these are no addresses, as those are none."""
        taken = [(each.address, each.address + len(each.data)) for each in self.image.mappings]
        for register in (each for each in self._arch.registers if each.name in kept and each.name != self._arch.sp):
            value = kept[register.name] ^ (1 << register.bits) - 1
            if not any(low <= value < high for low, high in taken):
                yield register.name, value

    def _full(self, run: HookedRun, journal: bool) -> None:
        """The journal grows; when the steps are used up the hooks stop by themselves."""
        if journal:
            self._journal_room *= 2
            run.grow_writes(self._journal_room)

    def call(self, path: CallPath, places: NDArray[np.uint8], steps: int) -> CallTape:
        """Run a path for at most ``steps`` steps.

        ``places`` is a byte per byte of code from ``code`` on, like ``natural`` and ``alone``. Where it is not 0 the
        machine does not execute: a call that leads there is answered at once, with a pointer for a stub that gives one,
        with the path's answer otherwise; a function that never returns ends the path.
        """
        run, uc, stops = self._run, self._uc, self._stops
        assert steps < _ROOM
        if self.recorded >= NATIVE_FROM:
            run.go_native()
        uc.context_restore(self._context)
        turned = self._turned.items() if path.turned else ()
        for name, value in (*turned, *path.arguments):
            uc.reg_write(self._ids[name], value)
        self._entered = self._kept_values.copy()
        for name, value in turned:
            self._entered[self._kept_names.index(name)] = value
        self._target, self._entry_sp = path.target, dict(path.arguments).get(self._arch.sp, self.image.sp)
        stops.is_whole = places is self.natural
        uc.reg_write(self._ids[self._calls.target], path.target)
        run.halt_at(places)
        run.begin(steps)
        stops.begin()
        run.limit_steps(steps)
        self._detours.begin(path.forced, path.answer)
        at, over = self._start, None
        self._passing.lacked.clear()
        while over is None:
            run.go_on()
            status = run.go(at)
            over, at = self._after(status, places, steps)
        detail = stops.ending.detail if isinstance(stops.ending, Fault) else ""
        self.recorded += run.steps
        return self._taken(over, detail, self._detours.answered)

    def _after(self, status: int, places: NDArray[np.uint8], steps: int) -> tuple[Over | None, int]:
        """What follows a stop: the end of the path, or the address where it goes on."""
        run, stops = self._run, self._stops
        if self._detours.is_stuck(run.steps):
            return Over.STRAY, 0
        if (stops.wild or run.halted) and (forced := self._detours.force(run.steps)) is not None:
            # What is forced is a jump that led astray, or out of the function.
            stops.ending, stops.wild = None, False
            return None, forced | self._isa_bit()
        if stops.wild and (0 <= stops.to - self.image.arena < ARENA_SIZE or self._was_called()):
            # A function pointer out of made-up data: a callee of which nothing is known.
            stops.ending, stops.wild = None, False
            return None, self._answered(stops.to)
        if stops.exits:
            return Over.NEVER_RETURNS, 0
        if self._is_unknown(status, steps) and (behind := self._passing.behind(places, steps)) is not None:
            stops.ending, stops.mistaken = None, None
            return None, behind
        if stops.ending is not None or stops.mistaken or status != const.UC_ERR_OK:
            return (Over.WILD if stops.wild else Over.FAULT), 0
        pc = self._uc.reg_read(self._ids[self._arch.pc])
        if run.halted:
            if pc == self._stop:
                return self._returned(), 0
            if pc in self.image.never_return:
                return Over.NEVER_RETURNS, 0
            return None, self._answered(pc)
        return (Over.STEPS, 0) if run.steps >= steps else (Over.FAULT, 0)

    def _is_unknown(self, status: int, steps: int) -> bool:
        """Is the last row's an instruction that the machine lacks? Of one that it mistakes, the row is made here."""
        run, uc, ending = self._run, self._uc, self._stops.ending
        if self._stops.mistaken is not None and run.steps < steps:
            values = {register.name: uc.reg_read(self._ids[register.name]) for register in self._arch.registers}
            run.add_row({**values, self._arch.pc: self._stops.mistaken}.values())
            return True
        told = status == const.UC_ERR_INSN_INVALID or (isinstance(ending, Fault) and ending.detail == UNDEFINED)
        return told and run.steps > 0

    def _was_called(self) -> bool:
        """Whether the last instruction handed over the address behind it."""
        run, uc, arch = self._run, self._uc, self._arch
        if not run.steps:
            return False
        fall = run.last_pc() + int(run.sizes.view(run.steps)[-1])
        if arch.link:
            return arch.code_address(uc.reg_read(self._ids[arch.link])) == fall
        try:
            return int.from_bytes(uc.mem_read(uc.reg_read(self._ids[arch.sp]), arch.word), "little") == fall
        except UcError:
            return False

    def _answered(self, callee: int) -> int:
        """A callee that is not executed gives its result; where its return is."""
        self._detours.note(self._run.steps - 1, callee)
        result = self.image.stub_values.get(callee) or self._run.state.own_result
        self._uc.reg_write(self._ids[self.image.convention.results[0]], result)
        return self._start + self._calls.answer

    def _returned(self) -> Over:
        """Back in the harness: with SP and the function's callee-saved registers as they were?"""
        self._read_batch(self._uc._uch, self._kept, self._kept_pointers, len(self._kept))
        promised = self._promises.get(self._target)
        if promised is None:
            saved = (self._arch.sp, *self.image.convention_of(self._target).preserved)
            promised = self._promises[self._target] = np.array([name in saved for name in self._kept_names], np.bool_)
        self._entered[0] = self._entry_sp
        lost = (self._kept_now != self._entered) & promised
        return Over.STRAY if lost.any() else Over.RETURNED

    def _isa_bit(self) -> int:
        flags = self._uc.reg_read(self._ids[self._arch.flags])
        return self._arch.isa_of_flags(flags).address_bit

    def _taken(self, over: Over, detail: str, skipped: tuple[tuple[int, int], ...]) -> CallTape:
        """The rows and the journal, with a last row in the harness; memory is as before."""
        run, arch = self._run, self._arch
        count, written = run.steps, run.writes
        rows = run.rows.view(count).reshape(count, -1).copy()
        sizes = run.sizes.view(count).copy()
        writes = [column.view(written).copy() for column in run.journal]
        # Not where the call comes back to, and with SP above every frame: as where an exception lands.
        last = rows[:1].copy()
        last[:, arch.index[arch.pc]] = self._stop
        last[:, arch.index[arch.sp]] = self.image.sp + platform(arch).stack_alignment
        if not count or rows[-1, arch.index[arch.pc]] != self._back:
            rows = np.concatenate((rows, last))
            sizes = np.append(sizes, np.uint8(self._calls.answer - self._calls.stop))
        resets = self._reset(writes[1], writes[2], len(rows) - 1)
        journal = Writes(*(np.concatenate((a, b)) for a, b in zip(writes, resets, strict=True)))
        return CallTape(rows, sizes, journal, over, detail, skipped, tuple(self._passing.lacked), last, self._stops.to)

    def _reset(
        self, address: NDArray[np.uint64], size: NDArray[np.uint8], step: int
    ) -> tuple[NDArray[np.generic], ...]:
        """Every written byte back to its first value; the same as writes of one step, 8 bytes each."""
        uc = self._uc
        for page in self._stops.asked:
            self.asked[page] = None
        last = address + size.astype(np.uint64) - np.uint64(1)
        granules = np.unique(np.concatenate((address, last)) & ~np.uint64(7))
        pages = np.unique(granules & ~np.uint64(PAGE - 1)).tolist()
        values = np.zeros(len(granules), np.uint64)
        for page in pages:
            first = self._first(page)
            if first is None:  # the write that ended the path
                continue
            uc.mem_write(page, first)
            low, high = np.searchsorted(granules, [np.uint64(page), np.uint64(page + PAGE - 1)])
            inside = ((granules[low:high] - np.uint64(page)) >> np.uint64(3)).astype(np.int64)
            values[low:high] = np.frombuffer(first, np.uint64)[inside]
        return (
            np.full(len(granules), step, np.uint32),
            granules,
            np.full(len(granules), 8, np.uint8),
            values,
        )

    def _first(self, page: int) -> bytes | None:
        """A page as it was before any path; None where nothing can be written."""
        for mapping in self._writable:
            if mapping.address <= page < mapping.address + len(mapping.data):
                offset = page - mapping.address
                return mapping.data[offset : offset + PAGE]
        return _made_up(page, self._arch) if page in self._stops.asked else None

    def forget_asked(self) -> tuple[MappedPages, ...]:
        """Take away the pages that paths asked for; what they were."""
        for page in self._stops.asked:
            self._uc.mem_unmap(page, PAGE)
        self._stops.asked.clear()
        pages = tuple(MappedPages(page, _made_up(page, self._arch), READ_WRITE) for page in self.asked)
        self.asked.clear()
        return pages
