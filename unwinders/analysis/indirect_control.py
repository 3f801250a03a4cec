"""Where control goes at a jump through a register, and at other instructions that do not say it by themselves."""

from __future__ import annotations

from testbed.arch import Arch, Isa, PerArch
from unwinders.analysis.abstract_state import AbstractState, EntryValue, Number, Pointer, entry_state
from unwinders.analysis.operations import Call, Control, Instruction, Jump, Return

# Linux: rt_sigreturn, and sigreturn where it is another one.
SIGNAL_RETURNS = PerArch({"x86_64": frozenset({15}), "arm64": frozenset({139}), "arm32": frozenset({119, 173})})


def control_of(arch: Arch, isa: Isa, instruction: Instruction, after: AbstractState) -> Control | None:
    """A jump through a register, told apart: a return, a call with the return address set by hand, a jump.

    ``after`` is the state behind the instruction's operations.
    """
    control = instruction.control
    if isinstance(control, Return):
        pushed = after.registers.get(arch.pc)  # "push target; ret" is a jump
        return Jump((arch.code_address(pushed.value),)) if isinstance(pushed, Number) else control
    if not isinstance(control, Jump) or control.targets:
        return control
    behind = Number(instruction.end | isa.address_bit)
    if arch.link is not None and after.registers.get(arch.link) in (behind, Number(instruction.end)):
        return Call()
    value = after.registers.get(control.via) if control.via else None
    match value:
        case EntryValue(register) if register == arch.return_address:
            return Return()
        case Number(target):
            return Jump((arch.code_address(target),))
        case EntryValue() | Pointer() if is_home(arch, after):
            return Return()  # a tail call through a pointer
        case _:
            return Return() if control.pointer and is_home(arch, after) else control


def is_home(arch: Arch, state: AbstractState) -> bool:
    """True where SP is as at the function's entry: there is no frame, or no frame any more."""
    return state.registers.get(arch.sp) == entry_state(arch).registers[arch.sp]


def gives_signal_back(arch: Arch, state: AbstractState) -> bool:
    """True at the system call with which a signal's handler ends."""
    number = state.registers.get(arch.exit_call.number_register)
    return isinstance(number, Number) and number.value in SIGNAL_RETURNS[arch.name]
