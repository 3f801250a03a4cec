"""What ends a path, and what a path is given instead: memory that is not there, answers of the kernel."""

from __future__ import annotations

from unicorn import Uc, UcError
from unicorn import unicorn_const as const

from testbed.machine.load import PAGE
from testbed.machine.native.run import NativeStops
from testbed.machine.start import Machine
from testbed.micro.layout import READ_WRITE

MOST_PAGES = 32  # pages that one path may have mapped by asking for them
_MOST_ADDRESS = 1 << 51  # the emulator does not survive memory that is mapped far above


class CallStops(NativeStops):
    """Gives what a path asks for: memory where there is none, 0 from the kernel. An exit is the end of the path."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.asked: list[int] = []
        self.allowed = MOST_PAGES
        self.call_result = 0
        self.wild = False
        self.to = 0  # where a wild jump went
        self.exits = False

    def _invalid_access(self, uc: Uc, access: int, address: int, size: int, value: int, unused: object) -> bool:
        if access in (const.UC_MEM_READ_UNMAPPED, const.UC_MEM_WRITE_UNMAPPED):
            mask = self._machine.arch.word_mask
            pages = {address & mask & -PAGE, (address + size - 1) & mask & -PAGE}
            if self.allowed >= len(pages) and max(pages) < _MOST_ADDRESS:
                try:
                    for page in pages:
                        if page not in self.asked:
                            uc.mem_map(page, PAGE, READ_WRITE)
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
        does (`testbed.machine.python_hooks`): instructions of other code would not be executed by it."""
        if stale := self._settings.block_state:
            number = self._settings.registers[self._machine.arch.flags]
            if (flags := uc.reg_read(number)) & stale:
                uc.reg_write(number, flags & ~stale)

    def begin(self) -> None:
        """Nothing has happened yet."""
        self.ending, self.wild, self.exits, self.allowed = None, False, False, MOST_PAGES

    def _system_call(self, uc: Uc, *unused: object) -> None:
        call, registers = self._machine.arch.exit_call, self._settings.registers
        if uc.reg_read(registers[call.number_register]) in call.numbers:
            self.exits = True
            super()._system_call(uc, *unused)
        else:
            uc.reg_write(self.call_result, 0)
