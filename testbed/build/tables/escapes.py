"""What the bytes of ``.cfi_escape`` say, as far as compilers use them where no directive exists (DWARF 5, 6.4.2)::

    2e size                      DW_CFA_GNU_args_size: bytes of arguments on the stack, which moves no register
    0f length (breg offset) 06   DW_CFA_def_cfa_expression: the CFA is stored at register + offset
    10 register length (breg offset)
                                 DW_CFA_expression: the caller's register is stored at register + offset

GCC writes the last two for a realigned frame. Anything else is for formats that hold the bytes as they are.
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


def decode_escape(content: bytes) -> NoRule | CfaStoredAt | StoredAt | None:
    """The meaning of one escape; None where it is none of the above."""
    try:
        return _decoded(list(content))
    except IndexError:
        return None


def _decoded(rest: list[int]) -> NoRule | CfaStoredAt | StoredAt | None:
    match rest.pop(0):
        case 0x2E:  # DW_CFA_GNU_args_size
            _uleb(rest)
            return None if rest else NoRule()
        case 0x0F if _uleb(rest) == len(rest) and rest[-1] == _DEREF:  # DW_CFA_def_cfa_expression
            where = _place(rest[:-1])
            return where and CfaStoredAt(*where)
        case 0x10:  # DW_CFA_expression
            register = _uleb(rest)
            where = _place(rest) if _uleb(rest) == len(rest) else None
            return where and StoredAt(register, *where)
    return None


def _place(operations: list[int]) -> tuple[int, int] | None:
    """Register and offset of an expression that is one DW_OP_breg."""
    opcode = operations.pop(0)
    if not _BREG0 <= opcode <= _BREG31:
        return None
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
