"""The frame-pointer chain: follow the linked list of frame records, as debuggers' oldest walkers do.

One constant row per frame-record layout. With ``p`` the frame pointer::

    return address = *(p + record.return_address)
    caller's p     = *(p + record.saved_pointer)
    CFA            = p + record.cfa, where the convention fixes it (x86_64); else it stays unknown

A frame pointer of zero marks the outermost frame (System V AMD64 ABI, section 3.4.1; AAPCS64, section 6.4.6). The
chain restores no other register, and it says nothing about a function that has not linked a record yet: there it
finds the caller's record and silently skips the caller.
"""

from __future__ import annotations

from functools import cache

from testbed.arch import Arch, FrameRecord
from testbed.contract.assumption import Record
from testbed.contract.rows import AtRegister, RegisterPlus, Rule, Undefined, UnwindRow
from testbed.contract.unwinder import Frame
from testbed.conventions import platform
from testbed.image import LoadedImage
from unwinders.rows.by_rows import by_rows
from unwinders.rows.walk import RowFor

EVERYWHERE = (0, 1 << 64)  # a constant row covers every pc


@cache
def record_row(arch: Arch, record: FrameRecord) -> UnwindRow:
    """The row of a frame record: the chained registers, and nothing else. Zero ends the chain."""
    rules: dict[str, Rule] = dict.fromkeys(platform(arch).preserved, Undefined())
    rules[record.pointer] = AtRegister(record.pointer, record.saved_pointer)
    rules[arch.return_address] = AtRegister(record.pointer, record.return_address)
    cfa = None if record.cfa is None else RegisterPlus(record.pointer, record.cfa)
    return UnwindRow(
        *EVERYWHERE,
        cfa,
        rules,
        arch.return_address,
        found_by=f"frame record {record.name}",
        outermost_if_zero=record.pointer,
    )


def chain_rows(arch: Arch) -> RowFor:
    """The row in force at a frame; code outside all images is taken for the default layout."""

    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        if loaded is None:
            return record_row(arch, arch.isas[0].records[0])
        return record_row(arch, loaded.image.frame_record_at(frame.lookup_pc - loaded.bias))

    return row_for


FP_CHAIN = by_rows(
    chain_rows,
    name="fp_chain",
    done_by="perf record -g and most profilers",
    summary="frame-pointer chain: follow {previous frame pointer, return address} records until a zero pointer",
    assumption=Record(),
)
