"""``.orc_unwind``, ``.orc_unwind_ip`` and ``.orc_header`` from CFI directives, as Linux 6.4 and later have them.

::

    .orc_unwind_ip   4 bytes per entry: the distance from here to the pc that it holds from
    .orc_unwind      6 bytes per entry: SP offset, BP offset, then SP register, BP register and type in 4, 4, 3 bits
    .orc_header      20 bytes: the hash of arch/x86/include/asm/orc_types.h that scripts/orc_hash.sh makes

objtool makes this table from the instructions; where there is no objtool, this one says what the directives say. An
entry holds up to the next one, so every gap, and every pc of which the format cannot say the rule, has one for
"nothing known".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from testbed.arch import Arch, PerArch
from testbed.build import directives as d
from testbed.build.tables.cfi_program import CfiState, Procedure, StoredAt, cfi_states, dwarf_number

SECTIONS = (".orc_unwind_ip", ".orc_unwind", ".orc_header")
_HASH = bytes.fromhex("fe5d32bf581bd63b2ca9a5c65ba5a625eab3fe24")
_NOTHING, _END_OF_STACK, _CALL = 0, 1, 2
_SAME, _PREVIOUS_SP, _FP_INDIRECT = 0, 1, 8

# The numbers of registers in the format.
_NO_ORC = "Linux has no ORC there that this writes"
REGISTERS = PerArch[Mapping[str, int] | None](
    {"x86_64": {"rdx": 2, "rdi": 3, "rbp": 4, "rsp": 5, "r10": 6, "r13": 7}, "arm64": None, "arm32": None},
    because={"arm64": _NO_ORC, "arm32": _NO_ORC},
)


@dataclass(frozen=True, slots=True)
class _Entry:
    sp_offset: int = 0
    bp_offset: int = 0
    sp_register: int = 0
    bp_register: int = 0
    kind: int = _NOTHING


def write_orc(procedures: Sequence[Procedure], arch: Arch, ip_address: int) -> tuple[bytes, bytes, bytes]:
    """The contents of ``SECTIONS``, for places that lie at ``ip_address``. Their sizes do not depend on it."""
    places = entries = b""
    for at, entry in _without_repetition(procedures, arch):
        places += struct.pack("<i", at - (ip_address + len(places)))
        bits = entry.sp_register | entry.bp_register << 4 | entry.kind << 8
        entries += struct.pack("<hhH", entry.sp_offset, entry.bp_offset, bits)
    return places, entries, _HASH


def _without_repetition(procedures: Sequence[Procedure], arch: Arch) -> Iterator[tuple[int, _Entry]]:
    """An entry at each pc from which something else holds than before."""
    ordered = sorted((p for p in procedures if p.start < p.end), key=lambda p: p.start)
    before: _Entry | None = None
    for i, procedure in enumerate(ordered):
        held = [(state.start, _entry(state, procedure, arch)) for state in cfi_states(procedure, arch)]
        if i + 1 == len(ordered) or ordered[i + 1].start > procedure.end:
            held.append((procedure.end, _Entry()))
        for at, entry in held:
            if entry != before:
                yield at, entry
            before = entry


def _entry(state: CfiState, procedure: Procedure, arch: Arch) -> _Entry:
    """What the format can say of a state, or nothing."""
    numbers = REGISTERS[arch.name]
    ra, fp = dwarf_number(arch, arch.return_address), dwarf_number(arch, arch.frame_pointers[0])
    assert numbers is not None, arch
    if state.opaque or procedure.signal_frame or procedure.return_column not in (None, ra):
        return _Entry()
    if state.rules.get(ra) == d.cfi("undefined", ra):
        return _Entry(kind=_END_OF_STACK)
    if state.cfa is None or state.rules.get(ra) != d.cfi("offset", ra, -arch.entry_cfa):
        return _Entry()
    base, offset = arch.by_dwarf.get(state.cfa[0], ""), state.cfa[1]
    register = _FP_INDIRECT if state.cfa_stored else numbers.get(base)
    if register is None or (state.cfa_stored and base not in arch.frame_pointers):
        return _Entry()
    if offset and base not in (arch.sp, *arch.frame_pointers):
        return _Entry()  # the kernel takes the others as they are
    match state.rules.get(fp):
        case None | d.CfiDirective("same_value"):
            place, bp_register = 0, _SAME
        case d.CfiDirective("offset", (_, place)):
            bp_register = _PREVIOUS_SP
        case StoredAt(_, holder, place) if holder == fp:
            bp_register = numbers[arch.frame_pointers[0]]
        case _:
            return _Entry()
    fits = all(-0x8000 <= number < 0x8000 for number in (offset, place))
    return _Entry(offset, place, register, bp_register, _CALL) if fits else _Entry()
