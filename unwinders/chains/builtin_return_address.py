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
from testbed.contract.unwinder import Unwinder
from testbed.image import frame_record_at
from testbed.trace import Snapshot
from unwinders.chains.frame_records import ReturnAddresses, listed, read_record

LEVELS = 16


def levels(snapshot: Snapshot) -> ReturnAddresses:
    """The return addresses of the frame records, level by level, as ``__builtin_return_address`` finds them."""
    record = frame_record_at(snapshot.images, snapshot.arch, snapshot.pc)
    pointer = snapshot.register(record.pointer)
    for level in range(LEVELS):
        pointer, return_address = read_record(snapshot, record, pointer)
        address = snapshot.without_signature(return_address)
        if return_address == 0:
            return
        yield address, f"level {level}"


BUILTIN_RETURN_ADDRESS = Unwinder(
    name="builtin_return_address",
    summary="__builtin_return_address(0..15): the frame-pointer chain as compiled code follows it, unchecked",
    unwind=listed(levels),
    assumption=RecordList(most_frames=17, checked=False, stripped=True),
)
