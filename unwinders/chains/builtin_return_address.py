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
from testbed.contract.unwinder import Limit, Unwinder
from testbed.trace import Snapshot
from testbed.words.errors import UnreadableMemory
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from unwinders.chains.frame_records import listed, not_a_pointer, read_record, record_in_force, unlinked
from unwinders.shared_limits import RECORDS, shared_limits

LEVELS = 16
MANUAL = "https://gcc.gnu.org/onlinedocs/gcc/Return-Address.html"


def unwind(snapshot: Snapshot) -> Backtrace:
    record = record_in_force(snapshot)
    pointer = snapshot.registers[record.pointer]
    found: list[tuple[int, str]] = []
    for level in range(LEVELS):
        try:
            pointer, return_address = read_record(snapshot, record, pointer)
        except UnreadableMemory as fault:
            return listed(snapshot, found, fault)
        if return_address == 0:
            break
        found.append((snapshot.arch.without_signature(return_address), f"level {level}"))
    return listed(snapshot, found)


LIMITS = (
    Limit(
        Trait.ROOT,
        frozenset({Outcome.STOPPED}),
        "nothing marks the outermost frame: its frame pointer of zero is dereferenced",
        MANUAL,
    ),
    *unlinked(Outcome.SKIPPED, Outcome.REFUSED),
    not_a_pointer(Trait.FRAMELESS_CALLER, Outcome.SKIPPED),
    not_a_pointer(Trait.FP_OMITTED, Outcome.ENDED_EARLY, Outcome.REFUSED, Outcome.STOPPED, Outcome.WRONG),
    not_a_pointer(Trait.LEAF_RECORD, Outcome.STOPPED, Outcome.WRONG),
    not_a_pointer(Trait.NO_RECORD, Outcome.WRONG, Outcome.ENDED_EARLY, Outcome.STOPPED, Outcome.REFUSED),
    not_a_pointer(Trait.FP_REUSED, Outcome.REFUSED),
    not_a_pointer(Trait.MIXED_ISA, Outcome.STOPPED, Outcome.SKIPPED),
    Limit(
        Trait.CALLED,
        frozenset({Outcome.STOPPED}),
        "nothing marks the outermost frame: past it the frame pointer of zero is dereferenced",
        MANUAL,
    ),
    *shared_limits(
        RECORDS,
        {
            Trait.SIGNAL: (
                Outcome.SKIPPED,
                Outcome.WRONG,
            ),
            Trait.LOST_REGISTER: (Outcome.SKIPPED,),
            Trait.OPEN_END: (
                Outcome.PHANTOM,
                Outcome.WRONG,
            ),
        },
    ),
)

BUILTIN_RETURN_ADDRESS = Unwinder(
    name="builtin_return_address",
    summary="__builtin_return_address(0..15): the frame-pointer chain as compiled code follows it, unchecked",
    unwind=unwind,
    limits=LIMITS,
)
