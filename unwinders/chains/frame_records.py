"""What the frame-pointer loggers of the field share: a frame record read as two words, and frames that are addresses.

A logger prints a list of addresses and nothing else: no register is claimed but pc, and the end of the list is the
claim that the stack ends there. It knows one layout, that of the code it was interrupted in.
"""

from __future__ import annotations

from collections.abc import Iterable

from testbed.arch import FrameRecord
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.unwinder import Limit
from testbed.image import image_covering
from testbed.trace import Snapshot
from testbed.words.errors import UnwindError
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait


def record_in_force(snapshot: Snapshot) -> FrameRecord:
    """The frame-record layout of the interrupted code; outside all images the architecture's default."""
    loaded = image_covering(snapshot.images, snapshot.pc)
    if loaded is None:
        return snapshot.arch.isas[0].records[0]
    return loaded.image.frame_record_at(snapshot.pc - loaded.bias)


def read_record(snapshot: Snapshot, record: FrameRecord, pointer: int) -> tuple[int, int]:
    """``(caller's frame pointer, return address)`` of the record that ``pointer`` points to, as they are stored.

    Raises UnreadableMemory where one of the words is not mapped.
    """
    arch = snapshot.arch
    words = (pointer + record.saved_pointer, pointer + record.return_address)
    previous, return_address = (snapshot.memory.unsigned(at & arch.word_mask, arch.word) for at in words)
    return previous, return_address


def listed(snapshot: Snapshot, addresses: Iterable[tuple[int, str]], stopped: UnwindError | None = None) -> Backtrace:
    """The interrupted frame, then one frame per ``(address, found by)``."""
    arch = snapshot.arch
    frames = [Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, found_by="registers")]
    for address, found_by in addresses:
        pc = arch.code_address(address)
        frames.append(Frame(FrameKind.CALLER, pc, {arch.pc: pc}, found_by=found_by))
    if stopped is not None:
        stopped.pc = frames[-1].pc
    return Backtrace(tuple(frames), stopped, snapshot.images)


UNLINKED = "https://github.com/mstange/framehop/issues/4"
GCC_ARM = "https://gcc.gnu.org/bugzilla/show_bug.cgi?id=92172"
KERNEL_ARM64 = "https://lists.infradead.org/pipermail/linux-arm-kernel/2021-December/705353.html"


def unlinked(*outcomes: Outcome) -> tuple[Limit, ...]:
    """The limits of every bare chain where the interrupted function has no record, as these outcomes."""
    because = "the interrupted function has no frame record here, so the chain starts at its caller's"
    return tuple(
        Limit(trait, frozenset(outcomes), because, UNLINKED)
        for trait in (Trait.PROLOGUE, Trait.EPILOGUE, Trait.FRAMELESS)
    )


def not_a_pointer(trait: Trait, *outcomes: Outcome) -> Limit:
    """The limit of a chain that takes whatever the frame-pointer register holds."""
    because = {
        Trait.FP_OMITTED: "the code is built without frame pointers: the register holds whatever is there",
        Trait.FP_REUSED: "a function uses the frame-pointer register for something else, as the ABIs allow it to",
        Trait.MIXED_ISA: "one layout is followed throughout, and a function further out has another one",
        Trait.FRAMELESS_CALLER: "a function further out called without a frame record: the chain skips its caller",
        Trait.LEAF_RECORD: "GCC's A32 leaves save the frame pointer alone, where every other function saves lr",
        Trait.NO_RECORD: "GCC's Thumb frame pointer is there for the locals: it points below them, at no record",
    }[trait]
    reference = GCC_ARM if trait in (Trait.LEAF_RECORD, Trait.NO_RECORD) else UNLINKED
    return Limit(trait, frozenset(outcomes), because, reference)
