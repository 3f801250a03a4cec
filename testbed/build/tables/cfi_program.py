"""CFI directives as call frame instructions (DWARF 5, sections 6.4.2 and 7.24), encoded as LLVM's assembler does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from testbed.arch import Arch, PerArch
from testbed.build import directives as d
from testbed.build.expressions import Place

# What the bytes of ``.cfi_escape`` say, as far as compilers use them where no directive exists (DWARF 5, 6.4.2)::
#
#     2e size                      DW_CFA_GNU_args_size: bytes of arguments on the stack, which moves no register
#     0f length (breg offset) 06   DW_CFA_def_cfa_expression: the CFA is stored at register + offset
#     10 register length (breg offset)
#                                  DW_CFA_expression: the caller's register is stored at register + offset
#     16 register length ...       DW_CFA_val_expression
#
# GCC writes the second and the third for a realigned frame. Any other expression makes the CFA, or its one register,
# computed: only formats that hold the bytes as they are can say that.

_DEREF, _BREG0, _BREG31 = 0x06, 0x70, 0x8F


@dataclass(frozen=True, slots=True)
class NoRule:
    """Nothing that moves a register."""


@dataclass(frozen=True, slots=True)
class CfaStoredAt:
    """The CFA is the word at ``base + offset``; ``base`` is a DWARF number."""

    base: int
    offset: int


@dataclass(frozen=True, slots=True)
class StoredAt:
    """``.cfi_escape``'s form of a rule: the caller's ``register`` is stored at ``base + offset``."""

    register: int
    base: int
    offset: int


@dataclass(frozen=True, slots=True)
class CfaComputed:
    """The CFA is what some other expression computes."""


@dataclass(frozen=True, slots=True)
class Computed:
    """The caller's ``register`` is what some other expression computes, or stored there."""

    register: int


Meaning = NoRule | CfaStoredAt | StoredAt | CfaComputed | Computed


def decode_escape(content: bytes) -> Meaning | None:
    """The meaning of one escape; None where it is none of the above."""
    try:
        return _decoded(list(content))
    except IndexError:
        return None


def _decoded(rest: list[int]) -> Meaning | None:
    match rest.pop(0):
        case 0x2E:  # DW_CFA_GNU_args_size
            _uleb(rest)
            return None if rest else NoRule()
        case 0x0F if _uleb(rest) == len(rest):  # DW_CFA_def_cfa_expression
            where = _place(rest[:-1]) if rest[-1] == _DEREF else None
            return CfaStoredAt(*where) if where else CfaComputed()
        case 0x10 | 0x16 as opcode:  # DW_CFA_expression, DW_CFA_val_expression
            register = _uleb(rest)
            if _uleb(rest) != len(rest):
                return None
            where = _place(rest) if opcode == 0x10 else None
            return StoredAt(register, *where) if where else Computed(register)
    return None


def _place(operations: list[int]) -> tuple[int, int] | None:
    """Register and offset of an expression that is one DW_OP_breg."""
    if not operations or not _BREG0 <= operations[0] <= _BREG31:
        return None
    opcode = operations.pop(0)
    value, bits = _leb(operations)
    offset = value - (1 << bits) if value >> (bits - 1) else value
    return None if operations else (opcode - _BREG0, offset)


def _uleb(rest: list[int]) -> int:
    return _leb(rest)[0]


def _leb(rest: list[int]) -> tuple[int, int]:
    """A LEB128 number's bits, and how many there are."""
    value = bits = 0
    while True:
        byte = rest.pop(0)
        value |= (byte & 0x7F) << bits
        bits += 7
        if not byte & 0x80:
            return value, bits


# Little Endian Base 128, the variable-length integers of DWARF (DWARF 5, section 7.6).


def uleb128(value: int) -> bytes:
    """An unsigned number: seven bits a byte, lowest first, the top bit set in all bytes but the last."""
    if value < 0:
        raise ValueError(f"{value} is negative")
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(0x80 | (value & 0x7F))
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def sleb128(value: int) -> bytes:
    """A signed number: the same, and bit 6 of the last byte is the sign of all bits above it."""
    encoded = bytearray()
    while not -0x40 <= value < 0x40:
        encoded.append(0x80 | (value & 0x7F))
        value >>= 7
    encoded.append(value & 0x7F)
    return bytes(encoded)


CODE_ALIGNMENT = 1  # LLVM's choice for every architecture here, so an advance counts bytes

_ADVANCE, _OFFSET, _RESTORE = 0x40, 0x80, 0xC0  # the operand is in the low six bits
_ADVANCE1, _ADVANCE2, _ADVANCE4 = 0x02, 0x03, 0x04
_RESTORE_EXTENDED, _UNDEFINED, _SAME_VALUE, _REGISTER = 0x06, 0x07, 0x08, 0x09
_REMEMBER, _RESTORE_STATE, _DEF_CFA, _DEF_CFA_REGISTER, _DEF_CFA_OFFSET = 0x0A, 0x0B, 0x0C, 0x0D, 0x0E
_OFFSET_EXTENDED, _OFFSET_EXTENDED_SF, _DEF_CFA_SF, _DEF_CFA_OFFSET_SF = 0x05, 0x11, 0x12, 0x13
_VAL_OFFSET, _VAL_OFFSET_SF, _NEGATE_RA_STATE = 0x14, 0x15, 0x2D


@dataclass(frozen=True, slots=True)
class Procedure:
    """What stands between ``.cfi_startproc`` and ``.cfi_endproc``: rules, each at the address it holds from."""

    place: Place
    start: int
    end: int
    rules: tuple[tuple[int, Place, d.CfiDirective], ...]
    simple: bool = False
    signal_frame: bool = False
    return_column: int | None = None
    b_key: bool = False  # return addresses are signed with key B


# How many bytes LLVM counts offsets from the CFA in.
_UNIT = PerArch({"x86_64": 8, "arm64": 4, "arm32": 4})


def dwarf_number(arch: Arch, name: str) -> int:
    """The number of a register that tables name: SP, frame pointers, and what holds the return address have one."""
    number = arch.by_name[name].dwarf
    assert number is not None, name
    return number


def data_alignment(arch: Arch) -> int:
    """Offsets from the CFA are counted in this, downwards."""
    return -_UNIT[arch.name]


def initial_rules(arch: Arch) -> tuple[d.CfiDirective, ...]:
    """What holds at a function's first instruction: the CFA, and the return address where the call pushed it."""
    sp, column = dwarf_number(arch, arch.sp), dwarf_number(arch, arch.return_address)
    rules: tuple[d.CfiDirective, ...] = (d.cfi("def_cfa", sp, arch.entry_cfa),)
    return rules if arch.link else (*rules, d.cfi("offset", column, -arch.entry_cfa))


def encode_rules(rules: Iterable[d.CfiDirective], arch: Arch, place: Place) -> bytes:
    """Rules without any advance between them: those of a CIE."""
    encoder = _Encoder(arch, 0)
    return b"".join(encoder.encode(rule, place) for rule in rules)


def encode_procedure(procedure: Procedure, arch: Arch) -> bytes:
    """The instructions of an FDE: an advance to each place, then its rules.

    Raises BuildError for a rule that the format cannot express.
    """
    encoder = _Encoder(arch, 0 if procedure.simple else arch.entry_cfa)
    encoded, at = b"", procedure.start
    for address, place, rule in procedure.rules:
        encoded += advance(address - at) + encoder.encode(rule, place)
        at = address
    if encoder.remembered:
        raise procedure.place.error(".cfi_remember_state without .cfi_restore_state")
    return encoded


def advance(distance: int) -> bytes:
    """The shortest DW_CFA_advance_loc form for a distance in bytes; nothing for none."""
    if distance == 0:
        return b""
    if distance < 0x40:
        return bytes([_ADVANCE | distance])
    if distance < 0x100:
        return bytes([_ADVANCE1, distance])
    if distance < 0x10000:
        return bytes([_ADVANCE2]) + distance.to_bytes(2, "little")
    return bytes([_ADVANCE4]) + distance.to_bytes(4, "little")


class _Encoder:
    """Knows the CFA's current offset, which ``.cfi_adjust_cfa_offset`` and ``.cfi_rel_offset`` count from."""

    def __init__(self, arch: Arch, cfa_offset: int) -> None:
        self.factor = data_alignment(arch)
        self.cfa_offset = cfa_offset
        self.remembered: list[int] = []

    def encode(self, rule: d.CfiDirective, place: Place) -> bytes:
        match rule:
            case d.CfiDirective("def_cfa", (register, offset)):
                self.cfa_offset = offset
                if offset < 0:
                    return bytes([_DEF_CFA_SF]) + uleb128(register) + sleb128(self.factored(offset, place))
                return bytes([_DEF_CFA]) + uleb128(register) + uleb128(offset)
            case d.CfiDirective("def_cfa_offset", (offset,)):
                return self.set_cfa_offset(offset, place)
            case d.CfiDirective("adjust_cfa_offset", (by,)):
                return self.set_cfa_offset(self.cfa_offset + by, place)
            case d.CfiDirective("def_cfa_register", (register,)):
                return bytes([_DEF_CFA_REGISTER]) + uleb128(register)
            case d.CfiDirective("offset", (register, offset)):
                return self.at_offset(register, offset, place)
            case d.CfiDirective("rel_offset", (register, offset)):
                return self.at_offset(register, offset - self.cfa_offset, place)
            case d.CfiDirective("val_offset", (register, offset)):
                steps = self.factored(offset, place)
                if steps < 0:
                    return bytes([_VAL_OFFSET_SF]) + uleb128(register) + sleb128(steps)
                return bytes([_VAL_OFFSET]) + uleb128(register) + uleb128(steps)
            case d.CfiDirective("register", (register, other)):
                return bytes([_REGISTER]) + uleb128(register) + uleb128(other)
            case d.CfiDirective("restore", (register,)):
                short = register < 0x40
                return bytes([_RESTORE | register]) if short else bytes([_RESTORE_EXTENDED]) + uleb128(register)
            case d.CfiDirective("undefined", (register,)):
                return bytes([_UNDEFINED]) + uleb128(register)
            case d.CfiDirective("same_value", (register,)):
                return bytes([_SAME_VALUE]) + uleb128(register)
            case d.CfiDirective("remember_state"):
                self.remembered.append(self.cfa_offset)
                return bytes([_REMEMBER])
            case d.CfiDirective("restore_state"):
                if not self.remembered:
                    raise place.error(".cfi_restore_state without .cfi_remember_state")
                self.cfa_offset = self.remembered.pop()
                return bytes([_RESTORE_STATE])
            case d.CfiDirective("escape", content):
                return bytes(content)
            case d.CfiDirective("negate_ra_state"):
                return bytes([_NEGATE_RA_STATE])
        raise place.error(f".cfi_{rule.name} is no rule of a row")

    def set_cfa_offset(self, offset: int, place: Place) -> bytes:
        _check_range(offset, place)
        self.cfa_offset = offset
        if offset < 0:
            return bytes([_DEF_CFA_OFFSET_SF]) + sleb128(self.factored(offset, place))
        return bytes([_DEF_CFA_OFFSET]) + uleb128(offset)

    def at_offset(self, register: int, offset: int, place: Place) -> bytes:
        steps = self.factored(offset, place)
        if steps < 0:
            return bytes([_OFFSET_EXTENDED_SF]) + uleb128(register) + sleb128(steps)
        if register < 0x40:
            return bytes([_OFFSET | register]) + uleb128(steps)
        return bytes([_OFFSET_EXTENDED]) + uleb128(register) + uleb128(steps)

    def factored(self, offset: int, place: Place) -> int:
        _check_range(offset, place)
        steps, rest = divmod(offset, self.factor)
        if rest:
            raise place.error(f"the offset {offset} is no multiple of {-self.factor}: the table cannot say it")
        return steps


def _check_range(offset: int, place: Place) -> None:
    """Readers hold an offset in a signed number of 64 bits."""
    if not -(1 << 63) <= offset < 1 << 63:
        raise place.error(f"the offset {offset:#x} has more than 64 bits with its sign")


# What CFI directives say at each pc of a procedure: for formats that store rows instead of instructions.
#
# The rules of DWARF 5, section 6.4.2, run over the directives; a state is kept wherever one changes it.

Said = d.CfiDirective | StoredAt | Computed


@dataclass(frozen=True, slots=True)
class CfiState:
    """What holds for ``[start, end)``: the CFA as (DWARF register, offset), and what is said of each register.

    ``cfa`` None: it is computed. ``cfa_stored``: it is the word there. ``opaque``: bytes of ``.cfi_escape`` that are
    not understood here have a part in it.
    """

    start: int
    end: int
    cfa: tuple[int, int] | None
    cfa_stored: bool = False
    rules: dict[int, Said] = field(default_factory=dict)
    signed: bool = False  # the return address carries a signature
    opaque: bool = False


def cfi_states(procedure: Procedure, arch: Arch) -> Iterator[CfiState]:
    """The states of a procedure in the order of the code, none empty.

    Raises BuildError for a ``.cfi_restore_state`` that nothing was remembered for.
    """
    initial = CfiState(procedure.start, procedure.end, None)
    if not procedure.simple:
        for rule in initial_rules(arch):
            initial = _after(initial, rule, initial)
    now, remembered = initial, list[CfiState]()
    for address, place, rule in procedure.rules:
        if address > now.start:
            yield replace(now, end=address)
            now = replace(now, start=address)
        match rule:
            case d.CfiDirective("remember_state"):
                remembered.append(now)
            case d.CfiDirective("restore_state"):
                if not remembered:
                    raise place.error(".cfi_restore_state without .cfi_remember_state")
                now = replace(remembered.pop(), start=address)
            case _:
                now = _after(now, rule, initial)
    if now.start < procedure.end:
        yield replace(now, end=procedure.end)


def _after(now: CfiState, rule: d.CfiDirective, initial: CfiState) -> CfiState:
    register, offset = now.cfa or (None, 0)
    match rule:
        case d.CfiDirective("def_cfa", (base, distance)):
            return replace(now, cfa=(base, distance), cfa_stored=False)
        case d.CfiDirective("def_cfa_offset", (distance,)):
            return replace(now, cfa=None if register is None else (register, distance))
        case d.CfiDirective("adjust_cfa_offset", (by,)):
            return replace(now, cfa=None if register is None else (register, offset + by))
        case d.CfiDirective("def_cfa_register", (base,)):
            return replace(now, cfa=(base, offset))
        case d.CfiDirective("rel_offset", (name, distance)):
            return replace(now, rules=now.rules | {name: d.cfi("offset", name, distance - offset)})
        case d.CfiDirective("restore", (name,)):
            rules = {key: said for key, said in now.rules.items() if key != name}
            return replace(now, rules=rules | ({name: initial.rules[name]} if name in initial.rules else {}))
        case d.CfiDirective("negate_ra_state"):
            return replace(now, signed=not now.signed)
        case d.CfiDirective("escape", content):
            return _after_escape(now, bytes(content))
        case d.CfiDirective("offset" | "val_offset" | "register" | "undefined" | "same_value", (name, *_)):
            return replace(now, rules=now.rules | {name: rule})
        case _:
            return now


def _after_escape(now: CfiState, content: bytes) -> CfiState:
    match decode_escape(content):
        case NoRule():
            return now
        case CfaStoredAt(base, offset):
            return replace(now, cfa=(base, offset), cfa_stored=True)
        case CfaComputed():
            return replace(now, cfa=None, cfa_stored=False)
        case (StoredAt(name) | Computed(name)) as rule:
            return replace(now, rules=now.rules | {name: rule})
        case None:
            return replace(now, opaque=True)
