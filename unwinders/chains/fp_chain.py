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
from testbed.contract.frames import Backtrace, Frame
from testbed.contract.limits import limits_of
from testbed.contract.rows import AtRegister, RegisterPlus, Rule, Undefined, UnwindRow
from testbed.contract.unwinder import Unwinder
from testbed.image import LoadedImage
from testbed.trace import Snapshot
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import RowFor, walk
from unwinders.shared_limits import LEADING, RECORDS

EVERYWHERE = (0, 1 << 64)  # a constant row covers every pc


@cache
def record_row(arch: Arch, record: FrameRecord) -> UnwindRow:
    """The row of a frame record: the chained registers, and nothing else. Zero ends the chain."""
    rules: dict[str, Rule] = dict.fromkeys(arch.preserved, Undefined())
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


def unwind(snapshot: Snapshot) -> Backtrace:
    return walk(snapshot, chain_rows(snapshot.arch))


LIMITS = limits_of(
    """
    SIGNAL+MIXED_ISA                    arm32   stopped ended_early
    SIGNAL                              x86_64  refused stopped ended_early skipped wrong
    SIGNAL                              arm64   skipped wrong_register wrong
    SIGNAL                              arm32   refused skipped wrong
    RECORD_REPLACED                     x86_64  skipped wrong
    RECORD_REPLACED                     arm64   skipped wrong
    NO_CODE                             x86_64  skipped
    NO_CODE                             arm64   skipped
    NO_CODE                             arm32   ended_early skipped
    SIGNED+LINKED                       arm64   wrong
    LEAF_RECORD+UNLINKED                arm64   ended_early skipped
    LEAF_RECORD+UNLINKED                arm32   refused ended_early skipped wrong
    NO_RECORD+UNLINKED                  arm32   refused stopped ended_early skipped wrong
    LOST_REGISTER+FP_REUSED             x86_64  skipped
    LOST_REGISTER+FP_REUSED             arm64   skipped
    LOST_REGISTER+FP_REUSED             arm32   skipped
    MIXED_ISA+UNLINKED                  arm32   ended_early skipped
    MIXED_ISA                           arm32   stopped
    FP_BELOW                            x86_64  phantom wrong_register
    FP_REUSED+MOVED_UP                  x86_64  wrong_register
    FP_REUSED+FP_LEADS                  x86_64  ended_early skipped wrong_register wrong
    FP_REUSED                           x86_64  refused stopped
    FP_REUSED                           arm64   refused stopped ended_early skipped
    FP_REUSED                           arm32   refused stopped ended_early skipped
    FP_BACK+FP_LEADS+UNLINKED           x86_64  ended_early skipped wrong
    FP_BACK+UNLINKED                    x86_64  refused
    FRAMELESS+FP_LEADS+UNLINKED         x86_64  ended_early skipped wrong
    FRAMELESS+UNLINKED                  x86_64  refused
    FRAMELESS+UNLINKED                  arm64   refused ended_early skipped wrong
    FRAMELESS+UNLINKED                  arm32   refused ended_early skipped wrong
    PROLOGUE+FP_LEADS+UNLINKED          x86_64  ended_early skipped wrong
    PROLOGUE+UNLINKED                   x86_64  refused
    PROLOGUE+UNLINKED                   arm64   refused ended_early skipped wrong_register wrong
    PROLOGUE+UNLINKED                   arm32   refused ended_early skipped wrong_register wrong
    EPILOGUE+FP_LEADS+UNLINKED          x86_64  ended_early skipped wrong
    EPILOGUE+UNLINKED                   x86_64  refused
    EPILOGUE+UNLINKED                   arm64   refused ended_early skipped wrong_register wrong
    EPILOGUE+UNLINKED                   arm32   refused ended_early skipped wrong
    FRAMELESS_CALLER+FP_LEADS+UNLINKED  x86_64  ended_early skipped wrong
    FRAMELESS_CALLER+UNLINKED           x86_64  stopped
    FRAMELESS_CALLER+UNLINKED           arm64   ended_early skipped wrong
    FRAMELESS_CALLER+UNLINKED           arm32   ended_early skipped
    UNLINKED                            arm32   refused stopped ended_early wrong
    FP_FOR_LOCALS                       x86_64  ended_early wrong
    FP_FOR_LOCALS                       arm64   refused ended_early
    FP_FOR_LOCALS                       arm32   skipped
    REALIGNED+FP_SET_LATE+LINKED        x86_64  ended_early skipped wrong_register
    OPEN_END                            x86_64  stopped phantom
    OPEN_END                            arm64   refused stopped phantom
    OPEN_END                            arm32   refused stopped phantom
    LAST_RECORD                         arm64   refused stopped
    LAST_RECORD                         arm32   refused stopped
    FP_REUSED                           arm64   wrong
    SAME_RETURN+UNLINKED                arm32   wrong_register
    """,
    {**RECORDS, **LEADING},
)

FP_CHAIN = Unwinder(
    name="fp_chain",
    summary="frame-pointer chain: follow {previous frame pointer, return address} records until a zero pointer",
    unwind=unwind,
    unwind_trace=over_traces(unwind, chain_rows),
    limits=LIMITS,
)
