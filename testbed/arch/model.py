"""What an architecture's ABI says, as data: registers and their roles, frame records, signal frames.

These are the facts that several rooms share. What only one room wants to know of each architecture stands there, in a
table of a type of `testbed.arch.tables`. No module compares with an architecture's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Register:
    """One recorded register: its name, its DWARF number (None: it has none), its width in bits."""

    name: str
    dwarf: int | None
    bits: int


@dataclass(frozen=True, slots=True)
class RegisterPart:
    """What a DWARF number may name besides whole registers: some of the bits of ``whole``, from ``first_bit`` on."""

    name: str
    whole: str
    first_bit: int
    bits: int


@dataclass(frozen=True, slots=True)
class FrameRecord:
    """Two words in memory that chain the frames of one calling convention.

    With ``p`` the value of the register ``pointer``::

        caller's pointer = *(p + saved_pointer)
        return address   = *(p + return_address)
        CFA              = p + cfa          (None: the convention does not fix that distance)
    """

    name: str
    pointer: str
    saved_pointer: int
    return_address: int
    cfa: int | None = None


@dataclass(frozen=True, slots=True)
class Isa:
    """One instruction set of an architecture. ``records`` are the frame-record layouts that compilers use for it, the
    default first."""

    name: str
    records: tuple[FrameRecord, ...]
    address_bit: int  # set in a code pointer to this instruction set (Thumb: 1)
    mapping_symbol: str  # "$a", "$t", "$x" of the ARM ELF specifications, "" on x86
    pc_reads_ahead: int | None = None  # an operand "pc" is this far past the instruction; None: the next one's address


@dataclass(frozen=True, slots=True)
class ExitCall:
    """How a program ends: a system call, one of ``numbers`` in ``number_register``, with its status in ``argument``."""

    number_register: str
    argument: str
    numbers: frozenset[int]


@dataclass(frozen=True, slots=True)
class ExtendedState:
    """Floating-point state that lies above a signal frame, which points at it from offset ``pointer``."""

    size: int
    alignment: int
    pointer: int


@dataclass(frozen=True, slots=True)
class SignalFrame:
    """What Linux writes to the stack for a signal handler: ``struct rt_sigframe``.

    Offsets count from the frame's lowest address, which is SP at the handler's first instruction. ``registers`` says
    where each register of the interrupted code is kept, ``number`` is ``siginfo.si_signo``, ``context`` the
    ``ucontext``; ``constants`` are (offset, size, value). ``record`` is a frame record of the interrupted frame
    pointer and link register, to which the handler's frame pointer is set; None: there is none.
    """

    call: int  # the number of rt_sigreturn
    size: int
    alignment: int
    skew: int  # the frame's address is a multiple of the alignment, minus this
    red_zone: int
    registers: Mapping[str, int]
    number: int
    context: int
    arguments: tuple[str, str, str]  # the registers of the handler's parameters: number, siginfo, ucontext
    constants: tuple[tuple[int, int, int], ...] = ()
    record: int | None = None
    extended: ExtendedState | None = None


@dataclass(frozen=True, eq=False)
class Arch:
    """An architecture: its registers in recording order and the role each one plays.

    What a function keeps for its callers is no matter of the machine but of a convention. ``entry_cfa`` is ``CFA - SP``
    at a function's first instruction: one word where the call pushes the return address, zero where it goes to a link
    register (``link`` not None).
    """

    name: str
    title: str
    aliases: tuple[str, ...]
    word: int
    registers: tuple[Register, ...]
    pc: str
    sp: str
    link: str | None
    flags: str  # a register that calls do not preserve; where instruction sets switch, `isa_flag` is a bit of it
    return_address: str  # the register that a table's return-address column names by default
    entry_cfa: int
    code_mask: int  # `value & code_mask` is the address that a code pointer names
    isas: tuple[Isa, ...]
    isa_flag: int | None  # the bit of `flags` that selects isas[1] (CPSR.T)
    exit_call: ExitCall
    signal_frame: SignalFrame
    shadow_pointer: str | None = None  # the register that points past the shadow call stack's last entry
    ra_sign_state: int | None = None  # DWARF number of the pseudo register that says: the return address is signed
    signature: int = 0  # the bits of a return address that its signature lies in
    parts: Mapping[int, RegisterPart] = field(default_factory=dict)  # by DWARF number; none is in `registers`
    cpus: tuple[str, ...] = ()  # names of other CPU models than the usual one, for programs that need what those have

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Arch {self.name}>"

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Column of each register in a trace, by name."""
        return {register.name: i for i, register in enumerate(self.registers)}

    @cached_property
    def by_dwarf(self) -> Mapping[int, str]:
        """Register name by DWARF number."""
        return {r.dwarf: r.name for r in self.registers if r.dwarf is not None}

    @cached_property
    def by_name(self) -> Mapping[str, Register]:
        return {register.name: register for register in self.registers}

    @cached_property
    def frame_pointers(self) -> tuple[str, ...]:
        """The registers that some instruction set of this architecture chains frames with."""
        return tuple(dict.fromkeys(record.pointer for isa in self.isas for record in isa.records))

    @property
    def word_mask(self) -> int:
        return (1 << (8 * self.word)) - 1

    def code_address(self, value: int) -> int:
        """The address that a code pointer names: the Thumb bit removed."""
        return value & self.code_mask

    def without_signature(self, value: int) -> int:
        """The address that a return address names, signed or not: its signature taken off unverified."""
        return value & ~self.signature & self.code_mask

    def isa_of_flags(self, flags: int) -> Isa:
        """The instruction set that is executing under these flags (CPSR.T on ARM32)."""
        return self.isas[(flags >> self.isa_flag) & 1] if self.isa_flag is not None else self.isas[0]

    def isa_named(self, name: str) -> Isa | None:
        return next((isa for isa in self.isas if isa.name == name), None)
