"""Signals, as Linux delivers them: a frame on the stack that holds every register, and a handler that is not called.

The kernel writes an ``rt_sigframe`` below the interrupted code's red zone, or to the top of the alternate stack, and
enters the handler with its return address, the *restorer*, in the link register or in the frame's first word. The
restorer makes the ``rt_sigreturn`` system call, which loads the registers from the frame: whoever changed them there
sends the program elsewhere. Layouts: `testbed.arch`, `SignalFrame`.

A trace keeps the interrupted state as a step of its own, of size 0: the machine as it was before the instruction that
did not get to execute. The handler's first instruction is the next step; the frame is in memory from there on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from testbed.arch import Arch
from testbed.image import LoadedImage
from testbed.machine.unicorn_arches import UNICORN
from testbed.program.header import Signal
from testbed.words.errors import UsageError

SEGMENTATION_FAULT = 11
ALTERNATE_SIZE = 0x1_0000
ALTERNATE_BELOW = 0x40_0000  # how far the alternate stack's top lies below the ordinary one's

Write = tuple[int, int, int]  # address, size, value


@dataclass(frozen=True, slots=True)
class Delivery:
    """A signal with its addresses: ``handler`` and ``restorer`` are code pointers, ``pc`` is a plain address.

    ``pc`` None: it arrives at the next jump that leads nowhere. ``stack`` is the top of the alternate stack, or None.
    """

    pc: int | None
    visit: int
    handler: int
    restorer: int
    stack: int | None


def deliveries(loaded: LoadedImage, signals: Iterable[Signal]) -> tuple[Delivery, ...]:
    """The signals that a header declares, for a built file. Raises UsageError for a label that it does not have."""
    arch = loaded.image.arch

    def address(location: str) -> int:
        name, _, offset = location.partition("+")
        symbol = loaded.image.symbol_named(name)
        if symbol is None:
            raise UsageError(f"signal: {loaded.image.path.name} has no symbol {name!r}")
        return symbol.address + loaded.bias + int(offset or "0", 0)

    def pointer(name: str) -> int:
        at = address(name)
        return at | loaded.image.isa_at(at - loaded.bias).address_bit

    return tuple(
        Delivery(
            None if signal.location is None else address(signal.location),
            signal.visit,
            pointer(signal.handler),
            pointer(signal.restorer),
            alternate_top(arch) if signal.alternate_stack else None,
        )
        for signal in signals
    )


def alternate_top(arch: Arch) -> int:
    """The end of the alternate signal stack."""
    return UNICORN[arch.name].stack_top - ALTERNATE_BELOW


class Arrivals:
    """Which signals are still to come. Each arrives once."""

    def __init__(self, signals: Iterable[Delivery]) -> None:
        signals = tuple(signals)
        self._faults = [signal for signal in signals if signal.pc is None]
        self._at: dict[int, list[Delivery]] = {}
        self._visits: dict[int, int] = {}
        for signal in signals:
            if signal.pc is not None:
                self._at.setdefault(signal.pc, []).append(signal)
        self.places = frozenset(self._at)

    def before(self, pc: int) -> Delivery | None:
        """The signal that arrives instead of the instruction at ``pc``, one of ``places``; counts the visit."""
        self._visits[pc] = visit = self._visits.get(pc, 0) + 1
        return next((signal for signal in self._at[pc] if signal.visit == visit), None)

    @property
    def catches_faults(self) -> bool:
        return bool(self._faults)

    def fault(self) -> Delivery:
        """The signal for a wild jump that has just happened."""
        return self._faults.pop(0)


def enter_handler(
    arch: Arch, signal: Delivery, registers: Mapping[str, int]
) -> tuple[tuple[Write, ...], Mapping[str, int]]:
    """What the kernel does: the memory it writes, and the registers it changes. ``registers`` are the interrupted ones.

    ::

        frame = (SP - red zone - extended state - size) rounded down to the alignment, minus skew
    """
    layout = arch.signal_frame
    top = registers[arch.sp] - layout.red_zone
    if signal.stack is not None and not signal.stack - ALTERNATE_SIZE < registers[arch.sp] <= signal.stack:
        top = signal.stack
    writes: list[Write] = []
    if layout.extended is not None:
        top = (top - layout.extended.size) & -layout.extended.alignment
    frame = ((top - layout.size) & -layout.alignment) - layout.skew
    if layout.extended is not None:
        writes.append((frame + layout.extended.pointer, arch.word, top))
    writes.extend((frame + offset, size, value) for offset, size, value in layout.constants)
    writes.append((frame + layout.number, 4, SEGMENTATION_FAULT))
    for name, offset in layout.registers.items():
        writes.extend(_pieces(frame + offset, max(arch.word, arch.by_name[name].bits // 8), registers[name]))
    flags = registers[arch.flags] & ~UNICORN[arch.name].block_state
    if arch.isa_flag is not None:
        flags = flags & ~(1 << arch.isa_flag) | (signal.handler & 1) << arch.isa_flag
    changed = {
        arch.pc: arch.code_address(signal.handler),
        arch.sp: frame,
        arch.flags: flags,
        layout.arguments[0]: SEGMENTATION_FAULT,
        layout.arguments[1]: frame + layout.number,
        layout.arguments[2]: frame + layout.context,
    }
    if arch.link is None:
        writes.append((frame, arch.word, signal.restorer))
    else:
        changed[arch.link] = signal.restorer
    if layout.record is not None and arch.link is not None:
        pointer = arch.isas[0].records[0].pointer
        writes.append((frame + layout.record, arch.word, registers[pointer]))
        writes.append((frame + layout.record + arch.word, arch.word, registers[arch.link]))
        changed[pointer] = frame + layout.record
    return tuple(writes), changed


def _pieces(address: int, size: int, value: int) -> Iterator[Write]:
    for done in range(0, size, 8):
        yield address + done, min(8, size - done), value >> 8 * done & 0xFFFF_FFFF_FFFF_FFFF


def frame_at_return(arch: Arch, sp: int) -> int:
    """Where the frame is at ``rt_sigreturn``: where calls push, the handler's return has popped its first word."""
    return sp - arch.entry_cfa
