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
from testbed.contract.rows import AtRegister, RegisterPlus, Rule, Undefined, UnwindRow
from testbed.contract.unwinder import Limit, Unwinder
from testbed.image import LoadedImage
from testbed.trace import Snapshot
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from unwinders.chains.frame_records import not_a_pointer
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import RowFor, walk
from unwinders.shared_limits import RECORDS, shared_limits

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


_HONEST = frozenset({Outcome.STOPPED, Outcome.REFUSED})
# A caller is skipped; where the skipped one was called by the outermost frame, the chain ends right away.
_SHORT = frozenset({Outcome.SKIPPED, Outcome.ENDED_EARLY})
# In a function that has called itself, what is left may look like the whole, but for the registers.
_SHORT_OR_SHIFTED = _SHORT | {Outcome.WRONG_REGISTER}

UNLINKED = "https://github.com/mstange/framehop/issues/4"

NOT_A_FRAME_POINTER = (
    Limit(
        Trait.FP_OMITTED,
        _HONEST | {Outcome.WRONG},
        "the code is built without frame pointers: the register holds whatever the compiler put there",
        "https://gcc.gnu.org/onlinedocs/gcc/Optimize-Options.html#index-fomit-frame-pointer",
    ),
    Limit(
        Trait.FP_REUSED,
        _HONEST | {Outcome.ENDED_EARLY},
        "a function uses the frame-pointer register for something else, as the ABIs allow it to",
        "AAPCS64 section 6.4.6; System V AMD64 ABI section 3.2.2, note on %rbp",
    ),
    Limit(
        Trait.MIXED_ISA,
        frozenset({Outcome.STOPPED}),
        "A32 code chains through r11 and Thumb code through r7: a record of one does not lead to the other's",
        "https://github.com/ARM-software/abi-aa/issues/24",
    ),
)

# What GCC calls a frame pointer on 32-bit Arm.
GCC_POINTERS = (
    not_a_pointer(Trait.LEAF_RECORD, Outcome.WRONG, Outcome.REFUSED),
    not_a_pointer(Trait.NO_RECORD, Outcome.WRONG, Outcome.ENDED_EARLY, Outcome.REFUSED, Outcome.STOPPED),
)

LIMITS = (
    Limit(
        Trait.PROLOGUE,
        _SHORT_OR_SHIFTED,
        "the function has linked no frame record yet, so the chain starts at the caller's record and skips the caller",
        UNLINKED,
    ),
    Limit(
        Trait.EPILOGUE,
        _SHORT_OR_SHIFTED,
        "the function has unlinked its frame record, so the chain starts at the caller's record and skips the caller",
        UNLINKED,
    ),
    Limit(
        Trait.FRAMELESS,
        _SHORT,
        "the function never links a frame record, so the chain starts at the caller's record and skips the caller",
        "https://github.com/mstange/samply/issues/2",
    ),
    Limit(
        Trait.FRAMELESS_CALLER,
        frozenset({Outcome.ENDED_EARLY, Outcome.SKIPPED}),
        "a function further out called without a frame record of its own, so the chain skips that function's caller",
        "https://github.com/tikv/pprof-rs/issues/75",
    ),
    *NOT_A_FRAME_POINTER,
    *GCC_POINTERS,
    Limit(
        Trait.SIGNAL,
        frozenset({Outcome.SKIPPED, Outcome.WRONG}),
        "a signal's handler links its record to what the interrupted code had for a frame pointer: the interrupted "
        "function has no record of its own, and where the kernel makes one, it holds the link register and not pc",
        "https://github.com/libunwind/libunwind/issues/1061",
    ),
    Limit(
        Trait.REALIGNED,
        frozenset({Outcome.WRONG_REGISTER}),
        "a realigned frame copies its record to a place away from the CFA, which the convention says is 16 bytes up",
        "https://github.com/mstange/framehop/issues/48",
    ),
    Limit(
        Trait.OPEN_END,
        frozenset({Outcome.PHANTOM, Outcome.WRONG, Outcome.STOPPED, Outcome.REFUSED}),
        "the chain ends at a zero pointer; start code left another one, or a record of something that was no call",
        "https://github.com/kstenerud/KSCrash/issues/764",
    ),
    *shared_limits(RECORDS, {Trait.SIGNED: (Outcome.WRONG,)}),
    Limit(
        Trait.LOST_REGISTER,
        frozenset({Outcome.SKIPPED}),
        "the frame pointer is already that of the frame that a jump will go to, and the chain starts there",
        "https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html",
    ),
)

FP_CHAIN = Unwinder(
    name="fp_chain",
    summary="frame-pointer chain: follow {previous frame pointer, return address} records until a zero pointer",
    unwind=unwind,
    unwind_trace=over_traces(unwind, chain_rows),
    limits=LIMITS,
)
