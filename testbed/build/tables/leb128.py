"""Little Endian Base 128, the variable-length integers of DWARF (DWARF 5, section 7.6)."""

from __future__ import annotations


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
