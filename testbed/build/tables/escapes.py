"""What the bytes of ``.cfi_escape`` say, as far as compilers use them where no directive exists (DWARF 5, 6.4.2)::

    2e size                      DW_CFA_GNU_args_size: bytes of arguments on the stack, which moves no register
    0f length (breg offset) 06   DW_CFA_def_cfa_expression: the CFA is stored at register + offset
    10 register length (breg offset)
                                 DW_CFA_expression: the caller's register is stored at register + offset
    16 register length ...       DW_CFA_val_expression

GCC writes the second and the third for a realigned frame. Any other expression makes the CFA, or its one register,
computed: only formats that hold the bytes as they are can say that.
"""

from __future__ import annotations

from dataclasses import dataclass

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
