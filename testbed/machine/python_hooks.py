"""The light recorder: one Python hook per instruction, nothing to compile.

The binding's ``reg_read_batch`` builds new ctypes objects for every register of every step, which makes it some
twenty times slower than what is done here: the same library function on arrays that are allocated once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
from unicorn import unicorn_const as const
from unicorn.unicorn_py3.unicorn import uclib

from testbed.machine.signals import Delivery, enter_handler, frame_at_return
from testbed.machine.start import Machine
from testbed.machine.stops import Fault, Stops, out_of_budget
from testbed.machine.tape import Tape
from testbed.machine.unicorn_arches import UNICORN
from testbed.trace import Writes

_CODE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p)
_MEMORY = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p
)
_LONGEST = 16  # bytes of an instruction; Unicorn gives a magic number as the size of one it cannot decode


def record_light(machine: Machine, budget: int) -> Tape:
    """Run a machine to its end, or for ``budget`` steps, reading all registers before every instruction."""
    run = _LightRun(machine)
    hooks = (_CODE(run.code_hook(budget)), _MEMORY(run.write_hook()))  # kept alive until the run is over
    for kind, callback in zip((const.UC_HOOK_CODE, const.UC_HOOK_MEM_WRITE), hooks, strict=True):
        _add_hook(run.handle, kind, callback)
    status = run.go()
    registers = machine.arch.registers
    table = np.frombuffer(run.rows, np.uint64).reshape(-1, len(registers))
    table &= np.array([(1 << register.bits) - 1 for register in registers], np.uint64)
    sizes = np.frombuffer(run.sizes, np.uint8)
    return Tape(table, sizes, _writes(run.journal), run.stops.after(status), tuple(run.resumed))


def _add_hook(handle: object, kind: int, callback: object) -> None:
    """Over all addresses: the first one is above the last."""
    hook = ctypes.c_size_t()
    function = ctypes.cast(callback, ctypes.c_void_p)  # type: ignore[arg-type]
    status = uclib.uc_hook_add(handle, ctypes.byref(hook), kind, function, None, ctypes.c_uint64(1), ctypes.c_uint64(0))
    assert status == const.UC_ERR_OK, status


class _LightRun:
    """A machine, what its hooks have recorded, and why they stop it."""

    def __init__(self, machine: Machine) -> None:
        registers, settings = machine.arch.registers, UNICORN[machine.arch.name]
        count = len(registers)
        self.machine, self.handle = machine, machine.uc._uch
        self.cells = (ctypes.c_uint64 * count)()
        ids = (ctypes.c_int * count)(*(settings.registers[register.name] for register in registers))
        at = ctypes.addressof(self.cells)
        pointers = (ctypes.c_void_p * count)(*(at + 8 * i for i in range(count)))
        # Item access gives function objects of our own: their argument types do not disturb the binding's.
        self.read_batch, self.read_all = uclib["uc_reg_read_batch"], (self.handle, ids, pointers, count)
        self.stops = Stops(machine)
        self.rows, self.sizes = bytearray(), bytearray()
        self.journal: list[tuple[int, int, int, int]] = []
        self.interrupted: list[BaseException] = []
        self.resumed: list[int] = []
        self.arrived: list[Delivery] = []

    def record_signal(self, signal: Delivery) -> None:
        """A step of size 0, with the registers in ``cells``."""
        self.rows.extend(self.cells)
        self.sizes.append(0)
        self.arrived.append(signal)

    def code_hook(self, budget: int) -> Callable[[int, int, int, int], None]:
        """What is called before every instruction: all that it uses is a local of it."""
        stops, cells, rows, sizes = self.stops, self.cells, self.rows, self.sizes
        read_batch, (handle, ids, pointers, count), emu_stop = self.read_batch, self.read_all, uclib["uc_emu_stop"]
        places = stops.arrivals.places

        def on_code(_uc: int, address: int, size: int, _data: int) -> None:
            # A stop inside a Thumb IT block is ignored until the block is over: record nothing from then on.
            try:
                if address in places and (signal := stops.arrivals.before(address)):
                    read_batch(handle, ids, pointers, count)
                    self.record_signal(signal)
                elif stops.ending is None and len(sizes) < budget:
                    read_batch(handle, ids, pointers, count)
                    rows.extend(cells)
                    sizes.append(size if size <= _LONGEST else 1)
                    return
                else:
                    stops.end(out_of_budget(budget, address))
            except BaseException as error:  # Ctrl-C arrives here; ctypes would print it and go on
                stops.end(Fault("interrupted"))
                self.interrupted.append(error)
            emu_stop(handle)

        return on_code

    def write_hook(self) -> Callable[[int, int, int, int, int, int], None]:
        """What is called before every write to memory."""
        arch, handle, stops = self.machine.arch, self.handle, self.stops
        settings = UNICORN[arch.name]
        journal, sizes = self.journal, self.sizes
        read_register, write_register = uclib["uc_reg_read"], uclib["uc_reg_write"]
        block_state, word = settings.block_state, ctypes.c_uint64()
        flags = settings.registers[arch.flags]

        def leave_block() -> None:
            """Undo what a hooked store in a Thumb IT block does to the processor.

            Unicorn 2.1.4 writes the block's state back for the hook and forgets to clear it, so the code after the
            block runs as if it were inside: `subs` sets no flags
            (https://github.com/unicorn-engine/unicorn/issues/2309). Nobody reads that state but the next translation,
            so it may be cleared while the block is still running.
            """
            read_register(handle, flags, ctypes.byref(word))
            if word.value & block_state:
                word.value &= ~block_state
                write_register(handle, flags, ctypes.byref(word))

        def on_write(_uc: int, _type: int, address: int, size: int, value: int, _data: int) -> None:
            if stops.ending is None:
                journal.append((len(sizes) - 1, address, size, value))
            if block_state:
                leave_block()

        return on_write

    def go(self) -> int:
        """Run to the end, over every signal on the way; the emulator's last status."""
        machine, stops = self.machine, self.stops
        emu_start = uclib["uc_emu_start"]
        emu_start.argtypes = (ctypes.c_void_p, *(ctypes.c_uint64,) * 3, ctypes.c_size_t)
        status: int = const.UC_ERR_OK
        start: int | None = machine.start
        while start is not None:
            # "until" is an address that no program can execute: 0 would hide a call through a null pointer.
            status = emu_start(self.handle, start, machine.arch.word_mask - 3, 0, 0)
            if self.interrupted:
                raise self.interrupted[0]
            if stops.wild_jump is not None:
                self.read_batch(*self.read_all)
                self.cells[machine.arch.index[machine.arch.pc]] = stops.wild_jump
                self.record_signal(stops.arrivals.fault())
                stops.wild_jump = None
            start = None
            if stops.ending is None and self.arrived:
                start = _deliver(machine, self.arrived.pop(), list(self.cells), len(self.sizes) - 1, self.journal)
            elif stops.ending is None and stops.gives_back:
                stops.gives_back = False
                self.resumed.append(len(self.sizes))
                start = _give_back(machine)
        return status


def _deliver(
    machine: Machine, signal: Delivery, values: list[int], step: int, journal: list[tuple[int, int, int, int]]
) -> int:
    """Do what the kernel does for a signal; where to go on."""
    arch, uc = machine.arch, machine.uc
    registers = {r.name: value & ((1 << r.bits) - 1) for r, value in zip(arch.registers, values, strict=True)}
    writes, changed = enter_handler(arch, signal, registers)
    for address, size, value in writes:
        uc.mem_write(address, value.to_bytes(size, "little"))
        journal.append((step, address, size, value))
    for name, value in changed.items():
        uc.reg_write(UNICORN[arch.name].registers[name], value)
    return signal.handler


def _give_back(machine: Machine) -> int:
    """Load all registers from the signal frame; where to go on."""
    arch, uc, ids = machine.arch, machine.uc, UNICORN[machine.arch.name].registers
    frame = frame_at_return(arch, uc.reg_read(ids[arch.sp]))
    values: dict[str, int] = {}
    for name, offset in arch.signal_frame.registers.items():
        values[name] = int.from_bytes(uc.mem_read(frame + offset, arch.by_name[name].bits // 8), "little")
        uc.reg_write(ids[name], values[name])
    return values[arch.pc] | arch.isa_of_flags(values[arch.flags]).address_bit


def _writes(journal: list[tuple[int, int, int, int]]) -> Writes:
    """The journal as columns; a value is cut to its size."""
    columns = np.array(journal, np.uint64).reshape(-1, 4)
    size = columns[:, 2]
    mask = np.uint64(0xFFFF_FFFF_FFFF_FFFF) >> (np.uint64(64) - np.uint64(8) * size)
    return Writes(columns[:, 0].astype(np.uint32), columns[:, 1].copy(), size.astype(np.uint8), columns[:, 3] & mask)
