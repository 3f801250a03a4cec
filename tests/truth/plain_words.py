"""Words about an interrupted activation, found again in a plain way: from the snapshot, the true stack, and names."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from testbed.arch import FrameRecord
from testbed.image import image_covering
from testbed.runs.run import Run
from testbed.trace import Snapshot
from testbed.truth import TrueFrame
from testbed.words.errors import UnreadableMemory
from testbed.words.traits import Trait

CALLS = ("call", "bl", "blr", "blx", "blraa", "blrab", "blraaz")


@dataclass(frozen=True, eq=False)
class Site:
    """The interrupted activation of a step. ``opened`` says at which step each activation began."""

    run: Run
    step: int
    opened: Mapping[int, int]

    @cached_property
    def frames(self) -> tuple[TrueFrame, ...]:
        return self.run.truth(self.step).frames

    @cached_property
    def now(self) -> Snapshot:
        return self.run[self.step]

    @property
    def first(self) -> int:
        return self.opened[self.frames[0].activation]

    @property
    def sp(self) -> int:
        return self.now.registers[self.run.arch.sp]

    @property
    def link(self) -> int:
        arch = self.run.arch
        return arch.without_signature(self.now.registers[arch.link]) if arch.link else 0

    @property
    def returns(self) -> tuple[int, ...]:
        """Where control may go behind the activation; nowhere from the outermost one."""
        return tuple(a for each in self.frames[1:2] for a in (each.pc, each.goes_on) if a is not None)

    @property
    def record(self) -> FrameRecord:
        isa = self.run.trace.isa(self.step)
        return self.run.loaded.image.frame_records.get(isa.name, isa.records[0])

    @property
    def pointer(self) -> int:
        return self.now.registers[self.record.pointer]

    @property
    def inside(self) -> bool:
        """FP leads into the activation's part of the stack."""
        cfa, arch = self.frames[0].cfa, self.run.arch
        end = cfa if cfa is not None else self.run[self.first].registers[arch.sp] + arch.word
        return self.sp <= self.pointer < end

    def word(self, address: int) -> int | None:
        """A word of memory, as an address without signature."""
        arch = self.run.arch
        memory = self.run.trace.memory(self.step)
        try:
            return arch.without_signature(memory.unsigned(address & arch.word_mask, arch.word))
        except UnreadableMemory:
            return None

    @property
    def linked(self) -> bool:
        return self.called and self.inside and self.word(self.pointer + self.record.return_address) in self.returns

    @property
    def called(self) -> bool:
        """An instruction, or the jump of one that made a return address, has a caller for it; of a signal none has."""
        return bool(self.returns) and not self.is_signal

    @cached_property
    def own_words(self) -> list[int]:
        """The addresses that lie between SP and the CFA; of the outermost activation, in all that is mapped."""
        arch, memory = self.run.arch, self.run.trace.memory(self.step)
        start, end = -(-self.sp // arch.word) * arch.word, self.frames[0].cfa
        if end is None or (end <= start and self.is_signal):  # an alternate stack
            end = memory.mapped_until(start)
        count = max(0, end - start) // arch.word
        try:
            words = struct.unpack(f"<{count}{'Q' if arch.word == 8 else 'I'}", memory.read(start, count * arch.word))
        except UnreadableMemory:  # the CFA lies on another stack
            return []
        return [arch.without_signature(word) for word in words if word]

    @property
    def in_front(self) -> set[int]:
        """Of these the ones before the return address; all, where that is not there."""
        places = [i for i, word in enumerate(self.own_words) if word in self.returns]
        return {word for word in self.own_words[: places[0] if places else None] if self.is_code(word)}

    def is_code(self, address: int) -> bool:
        return any(start <= address <= end for start, end in self.run.watched.code)

    @property
    def living(self) -> set[int]:
        return {frame.pc for frame in self.frames[1:]}

    @property
    def restorers(self) -> set[str]:
        return {signal.restorer for signal in self.run.built.source.header.signals}

    @property
    def is_signal(self) -> bool:
        return self.run.function(self.now.pc) in self.restorers

    @property
    def handles(self) -> bool:
        return bool(self.returns) and self.run.function(self.frames[1].pc) in self.restorers and not self.is_signal

    def named(self, pc: int) -> str:
        """The function that a symbol gives a pc, or nothing."""
        loaded = image_covering(self.run.trace.images, pc)
        symbol = loaded.image.function_at(pc - loaded.bias) if loaded else None
        return symbol.name if symbol else ""


def mixed(at: Site) -> bool:
    """The caller is the code before the first step; of a handler it is the trampoline, which runs when it is over."""
    caller = at.run.trace.pc.tolist().index(at.frames[1].pc) if at.handles else at.first - 1
    return bool(at.returns) and at.run.trace.isa(at.step) is not at.run.trace.isa(caller)


def reused(at: Site) -> bool:
    return at.pointer != at.run[at.first].registers[at.record.pointer] and not at.inside and not at.is_signal


def tail_called(at: Site) -> bool:
    here = at.named(at.now.pc)
    return here not in ("", at.named(at.run[at.first].pc)) and not at.is_signal


def hand_made(at: Site) -> bool:
    return at.called and not at.handles and at.run.instruction(at.first - 1).split()[0] not in CALLS


def return_changed(at: Site) -> bool:
    place = (at.frames[0].cfa or 0) - at.run.arch.entry_cfa
    return len(at.returns) > 1 and at.returns[1] == (at.link if at.run.arch.link else at.word(place))


PLAIN: Mapping[Trait, Callable[[Site], bool]] = {
    Trait.FIRST: lambda at: at.first == at.step and not at.is_signal,  # that began with the call of its handler
    Trait.ROOT: lambda at: len(at.frames) == 1,
    Trait.LINKED: lambda at: at.linked,
    Trait.UNLINKED: lambda at: at.called and not at.linked,
    Trait.FP_REUSED: reused,
    Trait.MOVED_UP: lambda at: at.frames[0].cfa is not None and at.sp > at.frames[0].cfa and not at.is_signal,
    Trait.SECOND_ISA: lambda at: at.run.trace.isa(at.step) is not at.run.arch.isas[0],
    Trait.MIXED_ISA: mixed,
    Trait.LINK_LIVE: lambda at: at.link != 0 and at.link in at.returns[:1],
    Trait.LINK_STALE: lambda at: (
        at.run.arch.link is not None
        and bool(at.returns or at.now.registers[at.run.arch.link])
        and at.link not in at.returns[:1]
    ),
    Trait.RETURN_CHANGED: return_changed,
    Trait.UNKEPT: lambda at: bool(at.returns) and not set(at.own_words) & set(at.returns),
    Trait.LEFTOVER: lambda at: bool((at.in_front - at.living) & at.run.watched.returned_to),
    Trait.COPIED: lambda at: bool(at.in_front & at.living),
    Trait.HAND_MADE: hand_made,
    Trait.TAIL_CALLED: tail_called,
    Trait.NAMELESS: lambda at: bool(at.returns) and not at.named(at.frames[1].lookup_pc),
    Trait.SIGNAL: lambda at: at.is_signal,
    Trait.HANDLER: lambda at: at.handles,
    Trait.INTERRUPTED: lambda at: False,
    Trait.LAST_CALL: lambda at: False,
}
