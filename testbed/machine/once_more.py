"""One instruction of a recorded run executed once more, with other values in registers: does it go where it went?

Nothing of the run is repeated but that instruction: its page of code is there, and no other memory. An instruction that
needs other memory, or none that can be executed, says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from unicorn import Uc, UcError
from unicorn import unicorn_const as uc

from testbed.arch import Arch
from testbed.machine.load import PAGE
from testbed.machine.unicorn_arches import UNICORN


def goes_to(arch: Arch, code: bytes, start: int, pc: int, registers: Sequence[int]) -> int | None:
    """Where control goes from the instruction at ``pc``, with ``registers`` in the order of a trace; None: it says
    nothing. ``code`` are the bytes of its page, and of the next one, from ``start`` on."""
    settings = UNICORN[arch.name]
    machine = Uc(*settings.opened)
    machine.mem_map(start, -(-len(code) // PAGE) * PAGE, uc.UC_PROT_READ | uc.UC_PROT_EXEC)
    machine.mem_write(start, code)
    flags = registers[arch.index[arch.flags]] & ~settings.block_state
    machine.reg_write(settings.registers[arch.flags], flags)  # first: it chooses among banked registers
    for name, index in arch.index.items():
        if name not in (arch.flags, arch.pc):
            machine.reg_write(settings.registers[name], registers[index])
    special = 0 if arch.isa_flag is None else flags >> arch.isa_flag & 1
    try:
        machine.emu_start(pc | special, arch.word_mask, count=1)
    except UcError as error:
        if error.errno != uc.UC_ERR_FETCH_UNMAPPED:
            return None
    return int(machine.reg_read(settings.registers[arch.pc])) & arch.code_mask
