"""``.eh_frame`` and ``.debug_frame``: CIEs and FDEs.

``.eh_frame`` is the Linux Standard Base's (LSB 5, Core Generic, section 10.6): version 1, augmentation "zR" (with
"S" for a signal frame, "B" where key B signs return addresses: AADWARF64, section 4.2), addresses as 32-bit distances
from their own place. ``.debug_frame`` is DWARF's (DWARF 5, section 6.4.1), version 4, with plain addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.arch import Arch
from testbed.build.tables.cfi_program import (
    CODE_ALIGNMENT,
    Procedure,
    data_alignment,
    dwarf_number,
    encode_procedure,
    encode_rules,
    initial_rules,
    sleb128,
    uleb128,
)

PCREL_SDATA4 = 0x1B  # DW_EH_PE_pcrel | DW_EH_PE_sdata4
_NOP = b"\0"
_NO_CIE_BEFORE = 0xFFFF_FFFF
_CieKind = tuple[bool, bool, int, bool]  # what makes a CIE of its own


@dataclass(frozen=True, slots=True)
class EhFrame:
    """The section's bytes, and for the search table each FDE: (first pc, address of the FDE)."""

    content: bytes
    entries: tuple[tuple[int, int], ...]


def write_eh_frame(procedures: Sequence[Procedure], arch: Arch, address: int) -> EhFrame:
    """``.eh_frame`` at an address: each kind of CIE before its FDEs, in LLVM's order, and four zero bytes."""
    procedures = sorted(
        procedures, key=lambda p: (p.signal_frame, p.simple, p.return_column is None, p.return_column, p.b_key)
    )
    content = b""
    cies: dict[_CieKind, int] = {}
    entries = []
    for procedure in procedures:
        key = _kind(procedure, arch)
        if key not in cies:
            cies[key] = len(content)
            content += _entry(_eh_cie(procedure, arch), 4)
        start = len(content)
        entries.append((procedure.start, address + start))
        body = (start + 4 - cies[key]).to_bytes(4, "little")
        body += (procedure.start - (address + start + 8)).to_bytes(4, "little", signed=True)
        body += (procedure.end - procedure.start).to_bytes(4, "little")
        body += uleb128(0) + encode_procedure(procedure, arch)
        # LLVM fills up the last one so that the section's size is a multiple of a word.
        last = procedure is procedures[-1]
        content += _entry(body, arch.word if last else 4, start)
    return EhFrame(content + bytes(4), tuple(entries))


def write_debug_frame(procedures: Sequence[Procedure], arch: Arch) -> bytes:
    """``.debug_frame``, which is not loaded and so has no address."""
    content = b""
    cies: dict[_CieKind, int] = {}
    for procedure in procedures:
        key = _kind(procedure, arch)
        if key not in cies:
            cies[key] = len(content)
            content += _entry(_debug_cie(procedure, arch), arch.word)
        body = cies[key].to_bytes(4, "little")
        body += procedure.start.to_bytes(arch.word, "little")
        body += (procedure.end - procedure.start).to_bytes(arch.word, "little")
        content += _entry(body + encode_procedure(procedure, arch), arch.word)
    return content


def _kind(procedure: Procedure, arch: Arch) -> _CieKind:
    return procedure.simple, procedure.signal_frame, _return_column(procedure, arch), procedure.b_key


def _letters(procedure: Procedure) -> bytes:
    """Of the augmentation, those without data."""
    return (b"S" if procedure.signal_frame else b"") + (b"B" if procedure.b_key else b"")


def _return_column(procedure: Procedure, arch: Arch) -> int:
    if procedure.return_column is not None:
        return procedure.return_column
    return dwarf_number(arch, arch.return_address)


def _rules(procedure: Procedure, arch: Arch) -> bytes:
    return b"" if procedure.simple else encode_rules(initial_rules(arch), arch, procedure.place)


def _eh_cie(procedure: Procedure, arch: Arch) -> bytes:
    column = _return_column(procedure, arch)
    if column > 0xFF:
        raise procedure.place.error(f"the return column {column} does not fit the one byte of .eh_frame")
    body = (0).to_bytes(4, "little") + b"\x01"  # no CIE pointer: this is one; version
    body += b"zR" + _letters(procedure) + b"\0"
    body += uleb128(CODE_ALIGNMENT) + sleb128(data_alignment(arch)) + bytes([column])
    return body + uleb128(1) + bytes([PCREL_SDATA4]) + _rules(procedure, arch)


def _debug_cie(procedure: Procedure, arch: Arch) -> bytes:
    body = _NO_CIE_BEFORE.to_bytes(4, "little") + b"\x04"  # version
    body += _letters(procedure) + b"\0"  # as GNU as writes it: there are no augmentation data
    body += bytes([arch.word, 0])  # bytes of an address, of a segment selector
    body += uleb128(CODE_ALIGNMENT) + sleb128(data_alignment(arch)) + uleb128(_return_column(procedure, arch))
    return body + _rules(procedure, arch)


def _entry(body: bytes, alignment: int, start: int = 0) -> bytes:
    """A CIE or FDE at offset ``start``, with its length, filled up with DW_CFA_nop: the next one starts aligned."""
    body += _NOP * (-(start + 4 + len(body)) % alignment)
    return len(body).to_bytes(4, "little") + body


# ``.eh_frame_hdr``: the sorted search table over ``.eh_frame`` (LSB 5, Core Generic, section 10.6.2).
#
# ::
#
#     version 1, encodings of the three parts below (one byte each)
#     address of .eh_frame    pc-relative, 4 bytes
#     number of FDEs          4 bytes
#     (first pc, FDE address) both relative to the start of .eh_frame_hdr, 4 bytes each, sorted

_UDATA4 = 0x03
_DATAREL_SDATA4 = 0x3B


def write_eh_frame_hdr(frame: EhFrame, frame_address: int, address: int) -> bytes:
    """The section at ``address``, for an ``.eh_frame`` at ``frame_address``."""
    content = bytes([1, PCREL_SDATA4, _UDATA4, _DATAREL_SDATA4])
    content += (frame_address - (address + 4)).to_bytes(4, "little", signed=True)
    content += len(frame.entries).to_bytes(4, "little")
    for first_pc, entry in sorted(frame.entries):
        content += (first_pc - address).to_bytes(4, "little", signed=True)
        content += (entry - address).to_bytes(4, "little", signed=True)
    return content
