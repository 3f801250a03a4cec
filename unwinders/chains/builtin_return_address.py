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

from testbed.contract.assumption import RecordList
from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Unwinder
from testbed.trace import Snapshot
from testbed.words.errors import UnknownRegister, UnreadableMemory, UnsupportedRule
from unwinders.chains.frame_records import listed, read_record, record_in_force

LEVELS = 16


def unwind(snapshot: Snapshot) -> Backtrace:
    """The return addresses of the frame records, level by level, as ``__builtin_return_address`` finds them."""
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


BUILTIN_RETURN_ADDRESS = Unwinder(
    name="builtin_return_address",
    summary="__builtin_return_address(0..15): the frame-pointer chain as compiled code follows it, unchecked",
    unwind=unwind,
    assumption=RecordList(most_frames=17, checked=False, stripped=True),
)
