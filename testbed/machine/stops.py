"""How the run of a program of the corpus ends: system calls, faults, exceptions. A process ends by `testbed.process`.

These hooks fire rarely, so they may be slow; what happens at every step belongs to a recorder.
"""

from __future__ import annotations

from dataclasses import dataclass

from unicorn import Uc
from unicorn import unicorn_const as const

from testbed.machine.signals import Arrivals
from testbed.machine.start import Machine
from testbed.machine.unicorn_arches import UNICORN, mistaken_in
from testbed.trace import Exited


@dataclass(frozen=True, slots=True)
class Fault:
    """The run stopped before its exit. ``pc`` None: at the last recorded step."""

    detail: str
    pc: int | None = None


_ACCESS = {
    const.UC_MEM_READ_UNMAPPED: "reads {size} bytes at {address:#x}, which is not mapped",
    const.UC_MEM_READ_PROT: "reads {size} bytes at {address:#x}, which is not readable",
    const.UC_MEM_WRITE_UNMAPPED: "writes {size} bytes at {address:#x}, which is not mapped",
    const.UC_MEM_WRITE_PROT: "writes {size} bytes at {address:#x}, which is not writable",
    const.UC_MEM_FETCH_UNMAPPED: "wild jump: {address:#x} is not mapped",
    const.UC_MEM_FETCH_PROT: "wild jump: {address:#x} is not executable",
}
UNDEFINED = "undefined instruction"
FETCHES = (const.UC_MEM_FETCH_UNMAPPED, const.UC_MEM_FETCH_PROT)


def out_of_budget(budget: int, pc: int) -> Fault:
    """The run used up its steps before the instruction at ``pc``."""
    return Fault(f"did not exit within {budget} steps: raise the budget (--budget N), or the program never ends", pc)


class Stops:
    """Watches a machine for the event that ends its run; the first one counts."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.ending: Exited | Fault | None = None
        self.arrivals = Arrivals(machine.signals)
        self.wild_jump: int | None = None  # where to, if a signal is to be sent for it
        self.gives_back = False  # rt_sigreturn was called
        self._settings = UNICORN[machine.arch.name]
        uc, instruction = machine.uc, self._settings.call_instruction
        uc.hook_add(const.UC_HOOK_MEM_INVALID, self._invalid_access)
        uc.hook_add(const.UC_HOOK_INTR, self._exception)
        if instruction is not None:
            uc.hook_add(const.UC_HOOK_INSN, self._system_call, None, 1, 0, instruction)
        for mapping in (each for each in machine.mappings if each.permissions & const.UC_PROT_EXEC):
            for at in mistaken_in(self._settings, mapping.data):
                uc.hook_add(const.UC_HOOK_CODE, self._mistaken, begin=mapping.address + at, end=mapping.address + at)

    def end(self, ending: Exited | Fault) -> None:
        """Note how the run ends, unless that is already known."""
        self.ending = self.ending or ending

    def after(self, status: int) -> Exited | Fault:
        """The ending, once the emulator returned with ``status`` (a ``UC_ERR_*``)."""
        if self.ending is not None:
            return self.ending
        if status == const.UC_ERR_INSN_INVALID:
            return Fault(UNDEFINED)
        pc = self._machine.uc.reg_read(self._settings.registers[self._machine.arch.pc])
        return Fault(f"the emulator stopped by itself (Unicorn status {status})", pc)

    def _invalid_access(self, uc: Uc, access: int, address: int, size: int, value: int, _: object) -> bool:
        if access in FETCHES and self.ending is None and self.arrivals.catches_faults:
            self.wild_jump = self._machine.arch.code_address(address)
            return False
        detail = _ACCESS.get(access, "touches {size} bytes at {address:#x}, which it may not")
        jumped_to = self._machine.arch.code_address(address) if access in FETCHES else None
        self.end(Fault(detail.format(size=size, address=address), jumped_to))
        return False

    def _mistaken(self, uc: Uc, address: int, size: int, _: object) -> None:
        self.end(Fault(UNDEFINED))
        uc.emu_stop()

    def _exception(self, uc: Uc, number: int, _: object) -> None:
        if number == self._settings.call_exception:
            self._system_call(uc)
            return
        self.end(Fault(self._settings.exceptions.get(number, f"processor exception {number}")))
        uc.emu_stop()

    def _system_call(self, uc: Uc, *_: object) -> None:
        arch = self._machine.arch
        call = arch.exit_call
        number = uc.reg_read(self._settings.registers[call.number_register])
        if number in call.numbers:
            status = uc.reg_read(self._settings.registers[call.argument])
            self.end(Exited(status & 0xFF))
        elif number == arch.signal_frame.call and self._machine.signals:
            self.gives_back = True
        else:
            self.end(Fault(f"system call {number} is not emulated, only exit ({_numbers(call.numbers)})"))
        uc.emu_stop()


def _numbers(numbers: frozenset[int]) -> str:
    return " or ".join(str(number) for number in sorted(numbers))
