"""What an instruction does to the frame, in a few words that every instruction set is decoded into.

Only what can say where the caller's registers are has a word of its own; every other effect on a register is
`Forget`, every other effect on memory a `Store` of nothing known. Registers have the names of the architecture table,
at full width. The operations of one instruction take effect one after the other, in the order given.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryOperand:
    """The memory operand ``*(register + offset)``."""

    register: str
    offset: int


@dataclass(frozen=True, slots=True)
class Set:
    """``to = source + offset``."""

    to: str
    source: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class SetNumber:
    """``to = value``."""

    to: str
    value: int


@dataclass(frozen=True, slots=True)
class SetBits:
    """The ``bits`` bits of ``to`` from ``shift`` on become those of ``value``; the others stay (movk, movt)."""

    to: str
    value: int
    shift: int
    bits: int


@dataclass(frozen=True, slots=True)
class Combine:
    """``to = left + sign * right``, all three registers."""

    to: str
    left: str
    right: str
    sign: int


@dataclass(frozen=True, slots=True)
class Forget:
    """``to`` gets a value that is not followed. For SP: a frame of a size that the code alone does not say."""

    to: str


@dataclass(frozen=True, slots=True)
class Load:
    """``to = *at``, ``size`` bytes."""

    to: str
    at: MemoryOperand
    size: int


@dataclass(frozen=True, slots=True)
class Store:
    """``*at = source``, ``size`` bytes; without a source, a value that is not followed."""

    source: str | None
    at: MemoryOperand
    size: int


@dataclass(frozen=True, slots=True)
class Sign:
    """``to``, a return address, gets a signature (``signed``) or loses it."""

    to: str
    signed: bool


Effect = Set | SetNumber | SetBits | Combine | Forget | Load | Store | Sign


@dataclass(frozen=True, slots=True)
class Condition:
    """The instruction has its effects only under condition ``code``; ``not_code`` is the opposite one."""

    code: int
    not_code: int


@dataclass(frozen=True, slots=True)
class Jump:
    """Control goes to one of ``targets``; empty where the code does not say (then ``via`` may name the register).

    ``conditional``: or on to the next instruction; ``if_equal``: it goes there because what was compared is equal
    (True) or because it is not (False); ``if_above`` likewise, of numbers without a sign. ``table``: the [start, end)
    of a list of the targets in the code, which ``index`` counts in. ``pointer``: the target is loaded from one place.
    ``when``: the condition under which it goes there, where instructions around it may have one as well.
    """

    targets: tuple[int, ...] = ()
    conditional: bool = False
    via: str | None = None
    table: tuple[int, int] | None = None
    index: str | None = None
    if_equal: bool | None = None
    if_above: bool | None = None
    pointer: bool = False
    when: Condition | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """Control goes to a function, at ``target`` if the code says which, and comes back behind this instruction."""

    target: int | None = None


@dataclass(frozen=True, slots=True)
class Return:
    """Control goes back to the caller, and SP is ``pops`` bytes above the CFA: arguments that the callee takes away."""

    pops: int = 0


@dataclass(frozen=True, slots=True)
class Trap:
    """Control ends here: an instruction that faults on purpose."""


@dataclass(frozen=True, slots=True)
class SystemCall:
    """Control goes to the kernel, and comes back behind this instruction if it does."""


Control = Jump | Call | Return | Trap | SystemCall


@dataclass(frozen=True, slots=True)
class Instruction:
    """One decoded instruction: where it is, what it does, and where control goes if not on to the next.

    ``compares``: the register, and the register or number, that the flags are set from. ``idle``: it does nothing, it
    aligns what follows. ``literal``: the [start, end) of what it loads from beside the code. ``marked``: nothing but a
    mark for the processor that indirect jumps may come here.
    """

    address: int
    size: int
    operations: tuple[Effect, ...] = ()
    control: Control | None = None
    condition: Condition | None = None
    sets_flags: bool = False
    idle: bool = False
    compares: tuple[str, str | int] | None = None
    literal: tuple[int, int] | None = None
    marked: bool = False

    @property
    def end(self) -> int:
        return self.address + self.size
