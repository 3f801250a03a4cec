"""``.eh_frame_hdr``: the sorted search table over ``.eh_frame`` (LSB 5, Core Generic, section 10.6.2).

::

    version 1, encodings of the three parts below (one byte each)
    address of .eh_frame    pc-relative, 4 bytes
    number of FDEs          4 bytes
    (first pc, FDE address) both relative to the start of .eh_frame_hdr, 4 bytes each, sorted
"""

from __future__ import annotations

from testbed.build.tables.eh_frame import PCREL_SDATA4, EhFrame

_UDATA4 = 0x03
_DATAREL_SDATA4 = 0x3B


def size_of_eh_frame_hdr(entries: int) -> int:
    """The section's size in bytes, for placing it before its content is known."""
    return 12 + 8 * entries


def write_eh_frame_hdr(frame: EhFrame, frame_address: int, address: int) -> bytes:
    """The section at ``address``, for an ``.eh_frame`` at ``frame_address``."""
    content = bytes([1, PCREL_SDATA4, _UDATA4, _DATAREL_SDATA4])
    content += (frame_address - (address + 4)).to_bytes(4, "little", signed=True)
    content += len(frame.entries).to_bytes(4, "little")
    for first_pc, entry in sorted(frame.entries):
        content += (first_pc - address).to_bytes(4, "little", signed=True)
        content += (entry - address).to_bytes(4, "little", signed=True)
    return content
