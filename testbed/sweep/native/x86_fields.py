"""An x86_64 instruction taken apart: prefixes, opcode, operands, length.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 and appendix A.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.native.compiled import compiled
from testbed.sweep.native.codes import signed_number

# Places in the fields of an instruction.
(LENGTH, MAP, OPCODE, WIDE, SHORT, REPEAT, FAR, REX, MOD, REG, RM, BASE, INDEX, DISPLACEMENT, SCALED, IMMEDIATE) = (
    range(16)
)
# 0, 1 or 2 (EVEX); VEX.vvvv; the length of its vectors in bytes; addresses of 4 bytes
VEX, OTHER_REGISTER, VECTOR, NARROW = range(16, 20)
FIELDS = 20
LEGACY, VEX_CODED, EVEX_CODED = range(3)

# One letter an opcode. m: a ModRM byte. Immediate numbers: b, w, z (2 or 4 bytes), v (2, 4 or 8), a (an address),
# e (3 bytes), r (relative, 4 bytes). Capitals: the same behind a ModRM byte. G, H: group 3. x: a prefix, or no opcode.
_ONE = (
    "mmmmbzxx" * 8  # 00 to 3f
    + "x" * 16 + "." * 16  # 40 to 5f
    + "xxxmxxxxzZbB...." + "b" * 16  # 60 to 7f
    + "BZxB" + "m" * 12 + "." * 10 + "x" + "....."  # 80 to 9f
    + "aaaa....bz......" + "b" * 8 + "v" * 8  # a0 to bf
    + "BBw.xxBZe.w..bx." + "mmmmxxx.mmmmmmmm"  # c0 to df
    + "bbbbbbbbrrxb...." + "x.xx..GH......mm"  # e0 to ff
)  # fmt: skip
_TWO = (
    "mmmmx.....x.xm.B" + "m" * 16  # 00 to 1f
    + "mmmmxxxxmmmmmmmm" + "......x." + "x" * 8  # 20 to 3f
    + "m" * 48 + "BBBBmmm.mmxxmmmm"  # 40 to 7f
    + "r" * 16 + "m" * 16  # 80 to 9f
    + "...mBmxx...mBmmm" + "mmmmmmmmmmBmmmmm"  # a0 to bf
    + "mmBmBBBm........" + "m" * 16 + "m" * 32  # c0 to ff
)  # fmt: skip
ONE_BYTE = np.frombuffer(_ONE.encode(), np.uint8)
TWO_BYTES = np.frombuffer(_TWO.encode(), np.uint8)
(_M, _B, _W, _Z, _V, _A, _E, _R, _BIG_B, _BIG_Z, _G, _H, _NO) = (ord(c) for c in "mbwzvaerBZGHx")


@compiled()
def take_apart(code: Any, at: Any, end: Any, fields: Any) -> Any:
    """Fill in the fields of the instruction at a place; its length, 0 where there is none before ``end``."""
    end = min(end, at + 15)
    for k in range(FIELDS):
        fields[k] = 0
    fields[BASE] = fields[INDEX] = -1
    i = at
    while i < end:
        byte = int(code[i])
        if byte == 0x66:
            fields[SHORT] = 1
        elif byte == 0xF2 or byte == 0xF3:
            fields[REPEAT] = byte
        elif byte == 0x64 or byte == 0x65:
            fields[FAR] = 1
        elif byte & 0xF0 == 0x40:
            fields[REX] = byte
            i += 1
            continue
        elif byte == 0x67:
            fields[NARROW] = 1
        elif byte != 0x2E and byte != 0x36 and byte != 0x3E and byte != 0x26 and byte != 0xF0:
            break
        fields[REX] = 0
        i += 1
    if i >= end:
        return 0
    fields[WIDE] = (fields[REX] >> 3) & 1
    byte = int(code[i])
    if byte == 0xC5 or byte == 0xC4 or byte == 0x62 or (byte == 0x8F and i + 1 < end and int(code[i + 1]) & 0x38 != 0):
        i = vex_prefix(code, i, end, fields)
    elif byte == 0x0F:
        fields[MAP] = 1
        i += 1
        if i < end and (int(code[i]) == 0x38 or int(code[i]) == 0x3A):
            fields[MAP] = 2 if int(code[i]) == 0x38 else 3
            i += 1
    if i < 0 or i >= end:
        return 0
    fields[OPCODE] = int(code[i])
    i = operands(code, i + 1, end, form_of(fields), fields)
    if i < 0:
        return 0
    fields[LENGTH] = i - at
    return i - at


@compiled()
def vex_prefix(code: Any, i: Any, end: Any, fields: Any) -> Any:
    """Fill in what a VEX, EVEX or XOP prefix says; where the opcode stands, or -1."""
    first = int(code[i])
    size = 2 if first == 0xC5 else 4 if first == 0x62 else 3
    if i + size >= end or fields[REX] != 0:
        return -1
    one, two = int(code[i + 1]), int(code[i + size - 1]) if size < 4 else int(code[i + 2])
    extension = ~one >> 5 & 7
    fields[VEX], fields[VECTOR] = VEX_CODED, 32 if two & 4 else 16
    fields[MAP] = one & 0x1F
    if size == 2:
        extension, fields[MAP] = (~one >> 5) & 4, 1
    if size == 4:
        if two & 4 == 0 or one & 8 != 0:
            return -1
        fields[VEX], fields[MAP] = EVEX_CODED, one & 7
        fields[VECTOR] = 16 << (int(code[i + 3]) >> 5 & 3)
    if size > 2:
        fields[WIDE] = two >> 7
    prefix = two & 3
    fields[SHORT] = 1 if prefix == 1 else 0
    fields[REPEAT] = 0xF3 if prefix == 2 else 0xF2 if prefix == 3 else 0
    fields[REX] = extension
    fields[OTHER_REGISTER] = ~two >> 3 & 15
    return i + size


@compiled(inline=True)
def form_of(fields: Any) -> Any:
    """The letter of an opcode."""
    opcode, which = fields[OPCODE], fields[MAP]
    if fields[VEX] == LEGACY:
        if which == 0:
            return int(ONE_BYTE[opcode])
        if which == 1:
            return int(TWO_BYTES[opcode])
        return _BIG_B if which == 3 else _M
    if which == 1:
        if opcode == 0x77 and fields[VEX] == VEX_CODED:
            return ord(".")
        return _BIG_B if int(TWO_BYTES[opcode]) == _BIG_B else _M
    if which == 3 or which == 8:
        return _BIG_B
    if which == 10:
        return _BIG_Z
    return _M if which == 2 or which == 5 or which == 6 or which == 9 else _NO


@compiled()
def operands(code: Any, i: Any, end: Any, form: Any, fields: Any) -> Any:
    """Fill in the operands; where the instruction ends, or -1. XOP's immediate numbers of map 10 have 4 bytes."""
    if form == _NO:
        return -1
    whole = 2 if fields[SHORT] and not fields[WIDE] else 4
    if form in (_M, _BIG_B, _BIG_Z, _G, _H):
        i = mod_rm(code, i, end, fields)
        if i < 0:
            return -1
    size = 0
    if form in (_B, _BIG_B) or (form == _G and fields[REG] & 7 < 2):
        size = 1
    elif form == _W:
        size = 2
    elif form in (_Z, _BIG_Z) or (form == _H and fields[REG] & 7 < 2):
        size = 4 if fields[MAP] == 10 else whole
    elif form == _V:
        size = 8 if fields[WIDE] else whole
    elif form == _A:
        size = 4 if fields[NARROW] else 8
    elif form == _E:
        size = 3
    elif form == _R:
        size = 4
    if i + size > end:
        return -1
    fields[IMMEDIATE] = signed_number(code, i, size)
    return i + size


@compiled()
def mod_rm(code: Any, i: Any, end: Any, fields: Any) -> Any:
    """Fill in the register and the address that a ModRM byte says; where what follows stands, or -1."""
    if i >= end:
        return -1
    byte, rex = int(code[i]), fields[REX]
    i += 1
    mod, low = byte >> 6, byte & 7
    fields[MOD] = mod
    fields[REG] = byte >> 3 & 7 | (rex & 4) << 1
    fields[RM] = low | (rex & 1) << 3
    if mod == 3 or (fields[MAP] == 1 and fields[VEX] == LEGACY and 0x20 <= fields[OPCODE] < 0x24):
        fields[MOD] = 3
        return i
    fields[BASE] = fields[RM]
    if low == 4:
        if i >= end:
            return -1
        sib = int(code[i])
        i += 1
        low = sib & 7
        fields[BASE] = low | (rex & 1) << 3
        index = sib >> 3 & 7 | (rex & 2) << 2
        fields[INDEX] = -1 if index == 4 else index
    size = 1 if mod == 1 else 4 if mod == 2 else 0
    if low == 5 and mod == 0:  # behind a SIB byte no base, else the address of the next instruction
        fields[BASE], size = -1, 4
    if i + size > end:
        return -1
    fields[DISPLACEMENT] = signed_number(code, i, size)
    fields[SCALED] = 1 if size == 1 and fields[VEX] == EVEX_CODED else 0
    return i + size
