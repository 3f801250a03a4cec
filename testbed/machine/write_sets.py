"""Which recorded registers an instruction may write, as a disassembler says.

Only hooks that are compiled ask, to read less; they check the answer against all registers the first times that the
instruction executes. None is always a right answer: "any register".
"""

from __future__ import annotations

from functools import lru_cache

from capstone import CS_GRP_CALL, CS_GRP_JUMP, Cs, CsError, CsInsn

from testbed.arch import Arch, Isa
from testbed.image.capstone_isas import CAPSTONE
from testbed.machine.register_parts import WRITTEN


def write_set(arch: Arch, isa: Isa, code: bytes, address: int) -> frozenset[str] | None:
    """The names of the registers that the first instruction of ``code`` may change, pc left out; None: not known."""
    return _write_set(arch, isa, code)  # wherever it lies


@lru_cache(maxsize=1 << 16)
def _write_set(arch: Arch, isa: Isa, code: bytes) -> frozenset[str] | None:
    instruction = next(_decoder(CAPSTONE[isa.name]).disasm(code, 0, 1), None)
    if instruction is None or instruction.mnemonic.startswith(WRITTEN[arch.name].distrusted):
        return None
    try:
        _, written = instruction.regs_access()
    except CsError:
        return None
    found: set[str] = set()
    for number in written:
        named = _recorded(arch, instruction.reg_name(number))
        if named is None:
            return None
        found.update(named)
    # Capstone's sets leave the flags out for most of Thumb (`subs r0, #1`), where it notes them apart. A branch may
    # change the bit of the flags that says which instruction set executes.
    if getattr(instruction, "update_flags", False) or _may_switch(arch, instruction, found):
        found.add(arch.flags)
    return frozenset(found - {arch.pc})


def _recorded(arch: Arch, name: str) -> tuple[str, ...] | None:
    """The recorded registers that a register of the disassembler is, or is a part of; None: it is not known."""
    return (name,) if name in arch.index else WRITTEN[arch.name].parts.get(name)


def _may_switch(arch: Arch, instruction: CsInsn, written: set[str]) -> bool:
    return arch.isa_flag is not None and (
        arch.pc in written or any(group in (CS_GRP_CALL, CS_GRP_JUMP) for group in instruction.groups)
    )


@lru_cache(maxsize=16)
def _decoder(capstone: tuple[int, int]) -> Cs:
    decoder = Cs(*capstone)
    decoder.detail = True
    return decoder
