"""Where control goes out of a function: calls and what they leave behind, jumps through registers, a linker's veneers.

Most callees give back SP and the callee-saved registers, and a few do more than that.

* A callee that takes its arguments off the stack gives back a higher SP (``ret 8``).
* The profilers of 32-bit ARM (``__gnu_mcount_nc``) are called with the caller's return address pushed, for which no
  register is free at a function's first instruction. They take it off the stack and put it into the link register.
* A call of a place in the same function whose return address is thrown away, or written over, is none: it pushes the
  address of what follows, and jumps. Return thunks and retpolines do that, so that the processor guesses wrong.
* A jump out of the function with an address of its own where a return address belongs is a call in two instructions:
  ``push back; jmp f``, ``adr x30, back; b f``. Interpreters call so, and Arm code from before ``blx`` did. No call
  stands in front of that address, so the row of a caller there is the one that holds there.
"""

from __future__ import annotations

from testbed.arch import Arch, Isa, PerArch
from testbed.words.errors import NoUnwindInfo
from unwinders.analysis.abstract_machine import after_call, emulate
from unwinders.analysis.abstract_state import CFA, AbstractState, EntryValue, Number, Pointer, StackAddress, entry_state
from unwinders.analysis.function_bounds import FunctionParts, functions_of
from unwinders.analysis.function_code import LONGEST, FunctionCode
from unwinders.analysis.operations import Call, Control, Instruction, Jump, Return
from unwinders.analysis.state_rules import has_frame

# Instructions that a linker has moved out of a function: a branch leads there, and another one back behind it.
#
# Linkers do so where instructions in a row would meet an erratum of a processor (Cortex-A53 843419, Cortex-A8 657417):
# ``ld --fix-cortex-a53-843419`` puts ``b`` in the place of a load, and elsewhere the load and ``b`` back.

MOVED = 2  # instructions at most, before the branch back


def come_back(
    code: FunctionCode, jump: Instruction, target: int, state: AbstractState
) -> tuple[int, AbstractState] | None:
    """Where in the function a jump out of it comes back, and the state there; None where it is a tail call.

    It comes back behind the jump, after a few instructions that go nowhere else, in code that no symbol covers.
    """
    try:
        functions_of(code.image).at(target)
        return None
    except NoUnwindInfo:
        pass
    moved = FunctionCode(code.image, FunctionParts("", ((target, target + (MOVED + 1) * LONGEST),)))
    pc = target
    for _ in range(MOVED + 1):
        instruction = moved.at(pc)
        if instruction is None or instruction.condition is not None:
            return None
        if instruction.control is not None:
            back = instruction.control == Jump((jump.end,)) and pc != target
            return (jump.end, state) if back else None
        state, pc = emulate(code.image.arch, state, instruction, code.read), instruction.end
    return None


# Where control goes at a jump through a register, and at other instructions that do not say it by themselves.

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


MOST_OF_PROFILER = 64  # instructions of a callee that is asked whether it takes a word off the stack
_TOP = EntryValue("the word on top")  # no register


def called(code: FunctionCode, state: AbstractState, target: int | None) -> AbstractState:
    """The state behind a call of ``target`` (None: the code does not say which function)."""
    arch = code.image.arch
    if arch.link is None:
        return after_call(arch, state, code.pops(target))
    if target is None or not _link_on_top(arch, state) or not _takes_link(code, target):
        return after_call(arch, state)
    after = after_call(arch, state, arch.word)
    return AbstractState({**after.registers, arch.link: EntryValue(arch.return_address)}, after.slots)


def comes_back(code: FunctionCode, jump: Jump, after: AbstractState) -> int | None:
    """Where control comes back to after a jump out of the function that is a call; None where it is none."""
    arch = code.image.arch
    if jump.conditional or any(code.function.covers(target) for target in jump.targets):
        return None
    sp = after.registers.get(arch.sp)
    if arch.link is not None:
        held = after.registers.get(arch.link)
    else:
        held = after.slots.get((sp.base, sp.offset), (0, None))[1] if isinstance(sp, StackAddress) else None
    back = arch.code_address(held.value) if isinstance(held, Number) else code.function.entry
    return back if back != code.function.entry and code.function.covers(back) else None


def popped(arch: Arch, state: AbstractState) -> AbstractState:
    """The state once a return address is off the stack, where calls push one."""
    sp = state.registers.get(arch.sp)
    if arch.link is not None or not isinstance(sp, StackAddress):
        return state
    return AbstractState({**state.registers, arch.sp: StackAddress(sp.base, sp.offset + arch.word)}, state.slots)


def pushed(arch: Arch, state: AbstractState, address: int) -> AbstractState:
    """The state behind a call that is none: its return address lies on the stack, a number like any other."""
    sp = state.registers.get(arch.sp)
    if not isinstance(sp, StackAddress):
        return state
    top = StackAddress(sp.base, sp.offset - arch.word)
    slots = {**state.slots, (top.base, top.offset): (arch.word, Number(address))}
    return AbstractState({**state.registers, arch.sp: top}, slots)


def loses_return_address(arch: Arch, before: AbstractState, after: AbstractState) -> bool:
    """True at the instruction behind which no register and no slot has the return address any more."""
    return before is not after and has_frame(arch, before) and not has_frame(arch, after)


def _link_on_top(arch: Arch, state: AbstractState) -> bool:
    """True where the word on top of the stack is the return address."""
    sp = state.registers.get(arch.sp)
    if not isinstance(sp, StackAddress):
        return False
    return state.slots.get((sp.base, sp.offset)) == (arch.word, EntryValue(arch.return_address))


def _takes_link(caller: FunctionCode, target: int) -> bool:
    """True for a function that returns with the word on top of its caller's stack in the link register, and off it.

    It is followed straight on: what branches is no profiler's entry.
    """
    arch = caller.image.arch
    try:
        function = functions_of(caller.image).at(target)
    except NoUnwindInfo:
        return False
    if function.entry != target or arch.link is None:
        return False
    code, pc, first = FunctionCode(caller.image, function), target, entry_state(arch)
    state = AbstractState(first.registers, {(CFA, -arch.entry_cfa): (arch.word, _TOP)})
    for _ in range(MOST_OF_PROFILER):
        instruction = code.at(pc)
        if instruction is None or instruction.condition is not None:
            return False
        state, pc = emulate(arch, state, instruction, code.read), instruction.end
        match control_of(arch, code.isa, instruction, state):
            case None:
                continue
            case Call():
                state = after_call(arch, state)
            case Return():
                place = StackAddress(CFA, arch.word - arch.entry_cfa)
                return state.registers.get(arch.link) == _TOP and state.registers.get(arch.sp) == place
            case _:
                return False
    return False
