"""``__builtin_return_address(0)``, ``(1)``, ``(2)`` ... as compilers expand it where frame pointers are kept.

Level ``n`` is ``n`` loads along the frame-pointer chain and one more for the return address::

    f(0) = frame pointer        f(n) = *(f(n-1) + saved pointer)
    level n = *(f(n) + return address), without its signature

On arm64 compilers put an ``xpaclri`` behind every such load, so a signed return address loses its signature (GCC:
``aarch64_return_addr_rtx``; LLVM: ``AArch64TargetLowering::LowerRETURNADDR``).

There is no check of any kind: a pointer of zero is dereferenced too. Callers ask for a fixed number of levels (here
16) and stop at a level that is zero; past the outermost frame the program dies, which shows here as the read that
would fault. Which register and which layout is decided when the function is compiled, so code of another
instruction set further out is read with the wrong layout. GCC's manual says as much: "calling this function with a
nonzero argument can have unpredictable effects, including crashing the calling program".
"""

from __future__ import annotations

from testbed.contract.frames import Backtrace
from testbed.contract.limits import limits_of
from testbed.contract.unwinder import Unwinder
from testbed.trace import Snapshot
from testbed.words.errors import UnknownRegister, UnreadableMemory, UnsupportedRule
from unwinders.chains.frame_records import listed, read_record, record_in_force
from unwinders.shared_limits import RECORDS

LEVELS = 16
MANUAL = "https://gcc.gnu.org/onlinedocs/gcc/Return-Address.html"


def unwind(snapshot: Snapshot) -> Backtrace:
    record = record_in_force(snapshot)
    found: list[tuple[int, str]] = []
    try:
        pointer = snapshot.register(record.pointer)
    except UnknownRegister as stop:
        return listed(snapshot, found, stop)
    for level in range(LEVELS):
        try:
            pointer, return_address = read_record(snapshot, record, pointer)
            address = snapshot.without_signature(return_address)
        except (UnreadableMemory, UnsupportedRule) as fault:
            return listed(snapshot, found, fault)
        if return_address == 0:
            break
        found.append((address, f"level {level}"))
    return listed(snapshot, found)


LIMITS = limits_of(
    """
    SIGNAL                     x86_64  refused stopped ended_early skipped wrong
    SIGNAL                     arm64   skipped wrong_register wrong
    SIGNAL                     arm32   refused stopped skipped wrong
    RECORD_REPLACED            x86_64  skipped wrong
    RECORD_REPLACED            arm64   skipped wrong
    RECORD_REPLACED<1          x86_64  skipped
    RECORD_REPLACED<1          arm64   skipped
    NO_CODE                    x86_64  skipped
    NO_CODE                    arm64   skipped
    NO_CODE                    arm32   refused skipped
    SIGNED+LINKED              arm64   skipped
    LEAF_RECORD+UNLINKED       arm64   refused skipped
    LEAF_RECORD+UNLINKED       arm32   refused skipped wrong
    NO_RECORD+UNLINKED         arm32   refused stopped ended_early skipped wrong
    LOST_REGISTER+FP_REUSED    x86_64  skipped
    LOST_REGISTER+FP_REUSED    arm64   skipped
    LOST_REGISTER+FP_REUSED    arm32   skipped
    MIXED_ISA+UNLINKED         arm32   refused skipped
    MIXED_ISA                  arm32   stopped skipped
    FP_BELOW                   x86_64  phantom
    FP_REUSED                  x86_64  refused stopped ended_early skipped wrong
    FP_REUSED                  arm64   refused stopped ended_early skipped wrong
    FP_REUSED                  arm32   refused stopped ended_early skipped wrong
    FP_BACK+UNLINKED           x86_64  refused skipped wrong
    FRAMELESS+UNLINKED         x86_64  refused ended_early skipped wrong
    FRAMELESS+UNLINKED         arm64   refused skipped wrong
    FRAMELESS+UNLINKED         arm32   refused ended_early skipped wrong
    PROLOGUE+UNLINKED          x86_64  refused ended_early skipped wrong
    PROLOGUE+UNLINKED          arm64   refused skipped wrong
    PROLOGUE+UNLINKED          arm32   refused ended_early skipped wrong
    EPILOGUE+UNLINKED          x86_64  refused ended_early skipped wrong
    EPILOGUE+UNLINKED          arm64   refused skipped wrong
    EPILOGUE+UNLINKED          arm32   refused ended_early skipped wrong
    FRAMELESS_CALLER+UNLINKED  x86_64  stopped ended_early skipped wrong
    FRAMELESS_CALLER+UNLINKED  arm64   stopped skipped wrong
    FRAMELESS_CALLER+UNLINKED  arm32   stopped skipped
    UNLINKED                   arm32   ended_early wrong
    FP_FOR_LOCALS              x86_64  ended_early wrong
    FP_FOR_LOCALS              arm64   ended_early wrong
    FP_FOR_LOCALS              arm32   stopped skipped
    OPEN_END                   x86_64  stopped phantom
    OPEN_END                   arm64   stopped phantom
    OPEN_END                   arm32   stopped phantom
    LOST_REGISTER              x86_64  stopped
    LOST_REGISTER              arm64   stopped
    LOST_REGISTER              arm32   stopped
    OTHER_STACK                x86_64  stopped
    OTHER_STACK                arm64   stopped
    OTHER_STACK                arm32   stopped
    SPLIT_FUNCTION             x86_64  stopped
    SPLIT_FUNCTION             arm64   stopped
    SPLIT_FUNCTION             arm32   stopped
    ROOT                       x86_64  stopped
    ROOT                       arm64   stopped
    ROOT                       arm32   stopped
    """,
    {
        **RECORDS,
        "RECORD_REPLACED<1": RECORDS["RECORD_REPLACED"],
        "ROOT": ("nothing marks the outermost frame: its frame pointer of zero is dereferenced", MANUAL),
    },
)

BUILTIN_RETURN_ADDRESS = Unwinder(
    name="builtin_return_address",
    summary="__builtin_return_address(0..15): the frame-pointer chain as compiled code follows it, unchecked",
    unwind=unwind,
    limits=LIMITS,
)
