"""Damage: the bytes of a table, changed at random."""

from __future__ import annotations

from random import Random


def mutated(section: bytes, random: Random) -> bytes:
    """One to four bytes replaced, or a piece cut out, doubled, or the end cut off."""
    out = bytearray(section)
    for _ in range(random.randint(1, 4)):
        out[random.randrange(len(out))] = random.choice([random.randrange(256), 0, 0x7F, 0x80, 0xFF])
    at, size = random.randrange(len(out)), random.randint(1, 12)
    match random.randrange(8):
        case 0:
            del out[at : at + size]
        case 1:
            out[at:at] = out[at : at + size]
        case 2:
            del out[at:]
    return bytes(out)
