"""``.sframe``, version 2, from CFI directives (The SFrame Format, version 2, with its errata).

::

    header   28 bytes: magic, version, flags (sorted, starts are distances from their own place), ABI, fixed
             offsets, counts, where the two parts below start
    FDEs     20 bytes each: start, size, where its rows start, how many, info, 3 bytes that plain code needs not
    FREs     start in the function (as wide as its size needs), info, offsets: CFA, [RA, where it has no fixed
             place,] FP; a row without offsets marks the outermost frame

The format knows SP, FP and the return address, and counts from the first two only. A function of which it cannot
say all is left out, as GNU as and LLVM do.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from testbed.arch import Arch, PerArch
from testbed.build import directives as d
from testbed.build.tables.cfi_program import CfiState, Procedure, cfi_states, dwarf_number

_MAGIC, _VERSION = 0xDEE2, 2
_SORTED, _PC_RELATIVE = 1, 4
_HEADER, _ENTRY = 28, 20
_FROM_SP, _SIGNED = 1, 0x80
_KEY_B = 0x20  # in an FDE's info

# The number of each little-endian ABI in the header.
ABIS = PerArch[int | None](
    {"x86_64": 3, "arm64": 2, "arm32": None}, because={"arm32": "version 2 of the format has no number for it"}
)


@dataclass(frozen=True, slots=True)
class _Row:
    """One FRE: offsets from the base and from the CFA. Without offsets: the outermost frame."""

    start: int  # from the start of the function
    from_sp: bool
    offsets: tuple[int, ...]
    signed: bool


@dataclass(frozen=True, slots=True)
class _SframeFunction:
    start: int
    size: int
    rows: tuple[_Row, ...]
    b_key: bool


def write_sframe(procedures: Sequence[Procedure], arch: Arch, address: int) -> bytes:
    """The section at an address. Its size does not depend on the address."""
    abi = ABIS[arch.name]
    assert abi is not None, arch
    functions = sorted(
        (function for p in procedures if (function := _function(p, arch)) is not None), key=lambda f: f.start
    )
    entries, rows = b"", b""
    rows_at = _HEADER + _ENTRY * len(functions)
    for function in functions:
        at = address + _HEADER + len(entries)
        width = 0 if function.size < 0x100 else 1 if function.size < 0x10000 else 2
        info = width | (_KEY_B if function.b_key else 0)
        entries += struct.pack(
            "<iIIIBBH", function.start - at, function.size, len(rows), len(function.rows), info, 0, 0
        )
        rows += b"".join(_encoded(row, 1 << width) for row in function.rows)
    header = struct.pack(
        "<HBBBbbBIIIII",
        _MAGIC,
        _VERSION,
        _SORTED | _PC_RELATIVE,
        abi,
        0,
        -arch.entry_cfa,  # where the call pushes the return address, it is at a fixed place
        0,
        len(functions),
        sum(len(function.rows) for function in functions),
        len(rows),
        0,
        rows_at - _HEADER,
    )
    return header + entries + rows


def _encoded(row: _Row, width: int) -> bytes:
    size = next(n for n in (1, 2, 4) if all(-(1 << (8 * n - 1)) <= o < 1 << (8 * n - 1) for o in row.offsets))
    info = (_FROM_SP if row.from_sp else 0) | len(row.offsets) << 1 | (size >> 1) << 5 | (_SIGNED if row.signed else 0)
    offsets = b"".join(offset.to_bytes(size, "little", signed=True) for offset in row.offsets)
    return row.start.to_bytes(width, "little") + bytes([info]) + offsets


def _function(procedure: Procedure, arch: Arch) -> _SframeFunction | None:
    """The rows of a procedure; None where the format cannot say one of them."""
    if procedure.signal_frame or procedure.return_column not in (None, dwarf_number(arch, arch.return_address)):
        return None
    rows: list[_Row] = []
    for state in cfi_states(procedure, arch):
        row = _row(state, procedure.start, arch)
        if row is None:
            return None
        if not rows or (rows[-1].from_sp, rows[-1].offsets, rows[-1].signed) != (row.from_sp, row.offsets, row.signed):
            rows.append(row)
    size = procedure.end - procedure.start
    return _SframeFunction(procedure.start, size, tuple(rows), procedure.b_key) if rows else None


def _row(state: CfiState, start: int, arch: Arch) -> _Row | None:
    sp, fp, ra = (dwarf_number(arch, name) for name in (arch.sp, arch.frame_pointers[0], arch.return_address))
    if state.opaque or state.cfa_stored or state.cfa is None or state.cfa[0] not in (sp, fp):
        return None
    base, distance = state.cfa
    saved = [state.rules.get(register, d.cfi("same_value", register)) for register in (ra, fp)]
    if saved[0] == d.cfi("undefined", ra):
        return _Row(state.start - start, True, (), False)
    places: list[int | None] = []
    for rule in saved:
        match rule:
            case d.CfiDirective("offset", (_, place)):
                places.append(place)
            case d.CfiDirective("same_value"):
                places.append(None)
            case _:
                return None
    if arch.entry_cfa:
        if places[0] != -arch.entry_cfa:
            return None
        del places[0]
    elif places[0] is None and places[1] is not None:
        return None  # the second offset is the return address's: none can stand for "not saved"
    offsets = (distance, *(place for place in places if place is not None))
    if not all(-(1 << 31) <= offset < 1 << 31 for offset in offsets):
        return None  # four bytes are the most that an offset has
    return _Row(state.start - start, base == sp, offsets, state.signed)
