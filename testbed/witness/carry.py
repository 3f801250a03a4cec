"""The first pass: every continuation is followed through registers and memory, from its birth to each jump to it.

A *label* stands for what a word holds: a number from 0 on is a continuation, a negative one an address of the stack of
that identity, derived from its SP. Moves, loads, stores and arithmetic carry labels; nothing is compared with a return
address that merely looks alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from testbed.arch import Isa, PerIsa
from testbed.image.disassembly import disassembler
from testbed.trace import Trace
from testbed.witness import arm32, arm64, x86_64
from testbed.witness.continuations import Act, Birth, Continuation, Followed, Happening
from testbed.witness.extents import Extents
from testbed.witness.labels import Labels
from testbed.witness.operands import NamedWords, Reading
from testbed.witness.passage import Flow, Passage, Spot, holds
from testbed.words.errors import UnreadableMemory

# What the kernel does to what is followed: a signal frame keeps every register, and gives it back.
#
# Source: the layout in the architecture's table, which is Linux's ``struct rt_sigframe``.


def labels_into_frame(labels: Labels, row: Sequence[int], after: Sequence[int]) -> None:
    """A signal arrives: the frame's words hold what the registers held."""
    arch = labels.arch
    layout, sp = arch.signal_frame, arch.index[arch.sp]
    frame = after[sp]
    for name, offset in layout.registers.items():
        if (label := labels.held.get(name)) is not None:
            labels.set(frame + offset, label)
    if layout.record is not None and arch.link is not None:
        pointer = arch.frame_pointers[0]
        for offset, name in ((0, pointer), (arch.word, arch.link)):
            if (label := labels.held.get(name)) is not None:
                labels.set(frame + layout.record + offset, label)
        labels.set(pointer, labels.stack())
    for name in layout.arguments:
        labels.set(name, None)
    # The frame lies right below the interrupted code's, or else the kernel took the alternate stack.
    extended = layout.extended.size + layout.extended.alignment if layout.extended else 0
    if not 0 <= row[sp] - frame <= layout.red_zone + extended + layout.size + layout.alignment + layout.skew:
        labels.set(arch.sp, None)


def labels_from_frame(labels: Labels, row: Sequence[int]) -> int | None:
    """``rt_sigreturn``: the registers hold what the frame's words hold; the label of pc."""
    arch = labels.arch
    frame = row[arch.index[arch.sp]] - arch.entry_cfa
    for name, offset in arch.signal_frame.registers.items():
        label = labels.held.get(frame + offset)
        if name != arch.pc:
            labels.set(name, label)
    return labels.held.get(frame + arch.signal_frame.registers[arch.pc])


# The effect of the instruction that a step executes; each instruction is decoded once.


class _Semantics(NamedTuple):
    effect: Callable[[Reading], Passage]
    words: NamedWords


SEMANTICS = PerIsa[_Semantics](
    {
        "x86_64": _Semantics(x86_64.effect, x86_64.words),
        "arm64": _Semantics(arm64.effect, arm64.words),
        "a32": _Semantics(arm32.effect, arm32.words),
        "thumb": _Semantics(arm32.effect, arm32.words),
    }
)

_NOTHING = Passage()


class Instructions:
    """The effects of a trace's instructions, by pc and instruction set.

    Code that is written while it runs is decoded again whenever it is executed.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: dict[tuple[int, str], Passage] = {}
        self._written = _writes_code(trace)

    def at(self, step: int, pc: int, size: int, isa: Isa) -> Passage:
        """The effect of the instruction at ``step``; of bytes that capstone does not know: none."""
        effect = self._known.get((pc, isa.name))
        if effect is None:
            code = self._trace.memory(step).read(pc, size)
            effect = effect_of(self._trace, isa, code, pc)
            if not self._written:
                self._known[pc, isa.name] = effect
        return effect


def effect_of(trace: Trace, isa: Isa, code: bytes, pc: int) -> Passage:
    """The effect of the first instruction of ``code``."""
    instruction = next(disassembler(isa.name, detail=True).disasm(code, pc, 1), None)
    if instruction is None:
        return _NOTHING
    semantics = SEMANTICS[isa.name]
    return semantics.effect(Reading(trace.arch, instruction, semantics.words))


def _writes_code(trace: Trace) -> bool:
    addresses = trace.writes.address
    for loaded in trace.images:
        for segment in loaded.image.segments:
            if segment.executable and len(addresses):
                start = segment.address + loaded.bias
                if bool(((addresses >= start) & (addresses < start + segment.size)).any()):
                    return True
    return False


_AHEAD = 64  # words above the top of the stack that may be return addresses
_PIECE = 4096  # rows of the trace that are Python numbers at a time


def follow(trace: Trace) -> Followed:
    """Follow all values of a trace."""
    return _Follower(trace).run()


class _Follower:
    """The state of the pass: which word has which label, and what was found."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.arch = trace, trace.arch
        self.labels = Labels(trace)
        self.instructions = Instructions(trace)
        self.extents = Extents(trace.images, _called(trace, self.instructions))
        self.continuations: list[Continuation] = []
        self.happenings: list[Happening] = []
        self.last: list[int] = []
        self.used: set[int] = set()
        self.dropped: set[int] = set()
        self.last_sp: dict[int, int] = {}
        self.pc, self.sp = self.arch.index[self.arch.pc], self.arch.index[self.arch.sp]
        self.flags = self.arch.index[self.arch.flags]
        self.link = None if self.arch.link is None else self.arch.index[self.arch.link]

    def run(self) -> Followed:
        resumed = frozenset(self.trace.resumed)
        sizes = self.trace.sizes.tolist()
        for step, row, after in _rows(self.trace):
            if not sizes[step]:
                self.signal(step, row, after)
            elif step + 1 in resumed:
                self.resume(step, row, after)
            else:
                self.execute(step, sizes[step], row, after)
        return Followed(
            self.continuations, self.happenings, self.last, frozenset(self.used), frozenset(self.dropped), self.last_sp
        )

    def execute(self, step: int, size: int, row: Sequence[int], after: Sequence[int]) -> None:
        """One instruction: its moves, what it wrote to memory, and where it went."""
        pc = row[self.pc]
        effect = self.instructions.at(step, pc, size, self.arch.isa_of_flags(row[self.flags]))
        if effect.condition is not None and not holds(effect.condition, row[self.flags]):
            self.labels.written(step)
            return
        target = self.labels.at(effect.target, row) if effect.target is not None else None
        top = None if self.link is not None else self.labels.held.get(row[self.sp])
        self.carry(effect, step, row, after)
        if effect.flow is Flow.NEXT:
            unused = -1 if top is None or top in self.used else top
            if unused >= 0 and self.adds_to_sp(effect, row, after) and self.of_called(pc, unused):
                self.dropped.add(unused)
            return
        to = after[self.pc]
        fell_through = to == pc + size
        if effect.flow is Flow.CALL:
            if target is not None and target >= 0:
                self.used.add(target)
            if not fell_through or (effect.direct is not None and self.arch.code_address(effect.direct) == to):
                self.call(step, pc, pc + size, row, after)
        elif effect.direct is None or not fell_through:
            self.jump(step, pc, size, after, target, effect.direct is None)

    def of_called(self, pc: int, number: int) -> bool:
        """What a call went to has its word at SP; elsewhere that is a word that nobody wrote over."""
        return self.extents.same(pc, self.continuations[number].target)

    def adds_to_sp(self, effect: Passage, row: Sequence[int], after: Sequence[int]) -> bool:
        """SP goes up by a sum; a ``longjmp`` loads it from elsewhere."""
        sp = self.arch.sp
        return after[self.sp] > row[self.sp] and any(to == sp and sp in sources for to, sources in effect.moves)

    def carry(self, effect: Passage, step: int, row: Sequence[int], after: Sequence[int]) -> None:
        labels = self.labels
        found: list[tuple[Spot, int, int | None]] = []
        for to, sources in effect.moves:
            label = labels.chosen(sources, row, to, after) if effect.chosen else labels.of(sources, row, effect)
            if label is not None and label >= 0:
                self.used.add(label)
            found.append((to, 0 if isinstance(to, str) else to.address(row) & self.arch.word_mask, label))
        labels.written(step)
        for to, key, label in found:
            if isinstance(to, str):
                labels.set(to, label)
            else:
                labels.put(to, key, label)

    def call(self, step: int, pc: int, address: int, row: Sequence[int], after: Sequence[int]) -> None:
        """A call instruction: the link register, or the word that it pushed, is a continuation."""
        made = self.create(Birth.CALL, step, address, row[self.sp], pc, after[self.pc])
        place = self.return_place(after)
        self.labels.set(place, made)
        self.labels.moved.discard(after[self.sp])
        self.happened(step, Act.CALL, pc, after, made)

    def jump(self, step: int, pc: int, size: int, after: Sequence[int], label: int | None, indirect: bool) -> None:
        """A jump: a return if what it jumps to came out of a continuation.

        In code without symbols any jump may hand over an address, and one to a computed place may leave the function.
        """
        to = after[self.pc]
        if label is not None and label >= 0:
            self.used.add(label)
            if self.goes_on(self.continuations[label], to):
                self.returned(step, pc, after, label)
                return
        bare = not self.extents.is_named(pc) and to != pc
        leaves = not self.extents.same(pc, to) or (bare and indirect)
        made: tuple[int, ...] = ()
        copy = -1
        if leaves or bare:
            made, copy = self.handed_over(step, pc, pc + size, after)
        self.happened(step, Act.JUMP, pc, after, copy=copy, leaves=leaves, made=made)

    def goes_on(self, continuation: Continuation, to: int) -> bool:
        """A jump to ``to`` goes on there: exactly, or elsewhere in the function that handed it over (an inline table).

        Where the call itself went to that place already, only exactly.
        """
        if to == continuation.address:
            return True
        return continuation.target != continuation.address and self.extents.same(to, continuation.function)

    def returned(self, step: int, pc: int, after: Sequence[int], label: int) -> None:
        whole = self.continuations[label].whole
        for index in {label, whole}:
            self.last[index] = step
            self.last_sp[index] = after[self.sp]
        # A stack switched by hand is the one of the call again, whatever arithmetic made of its address.
        self.labels.set(self.arch.sp, self.continuations[whole].stack)
        ahead = self.labels.continuations() if self.lies_elsewhere(whole, after) else None
        self.happened(step, Act.RETURN, pc, after, whole, label if label != whole else -1, ahead=ahead)

    def lies_elsewhere(self, whole: int, after: Sequence[int]) -> bool:
        """The stack, or a piece, may have been copied: SP is not what it was, or the return address was put there."""
        sp = after[self.sp]
        return sp != self.continuations[whole].cfa or (self.link is None and sp - self.arch.word in self.labels.moved)

    def handed_over(self, step: int, pc: int, behind: int | None, after: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """What a jump to another function leaves where a return address belongs.

        (new continuations, -1), where addresses of code are there that nobody handed over, innermost last: several that
        lie side by side were pushed ahead. That of what stands ``behind`` the jump makes it a call. ((), a copy), where
        it is a continuation that was not returned to, and SP is on another stack than it was then; else ((), -1).
        """
        place = self.return_place(after)
        label = self.labels.held.get(place)
        one = self.continuations[label] if label is not None and label >= 0 else None
        if one is not None and one.stack == self.labels.held.get(self.arch.sp):
            return (), -1  # it is handed on
        if one is not None and self.last[one.whole] < 0:
            made = self.create(Birth.COPY, step, one.address, one.cfa, one.function, one.target, one.whole)
            self.labels.set(place, made)
            return (), made
        made_here: list[int] = []
        cfa = after[self.sp] + self.arch.entry_cfa
        for key, value in self.ahead(step + 1, after):
            address = self.arch.without_signature(value)
            if self.extents.start(address) is None or address == after[self.pc]:
                break
            function = pc if self.extents.same(address, pc) else address
            kind = Birth.CALL if address == behind else Birth.PUT if one is None and key == place else Birth.JUMP
            made = self.create(kind, step, address, cfa, function, after[self.pc])
            self.labels.set(key, made)
            made_here.append(made)
            cfa += self.arch.word
        return tuple(reversed(made_here)), -1

    def ahead(self, step: int, after: Sequence[int]) -> Iterable[tuple[str | int, int]]:
        """What lies at the return place, and in the words above it that nothing is known of: places and values."""
        if self.arch.link is not None and self.link is not None:
            yield self.arch.link, after[self.link]
            return
        place = after[self.sp]
        yield place, self.top_of_stack(step, after)
        for _ in range(_AHEAD):
            place += self.arch.word
            if place in self.labels.held:
                return
            try:
                yield place, self.labels.value(place, step)
            except UnreadableMemory:
                return

    def top_of_stack(self, step: int, row: Sequence[int]) -> int:
        """The word that SP points at; 0, which is no code, where nothing is mapped."""
        try:
            return self.labels.value(row[self.sp], step)
        except UnreadableMemory:
            return 0

    def signal(self, step: int, row: Sequence[int], after: Sequence[int]) -> None:
        """The kernel wrote a frame and entered a handler: the restorer is the handler's continuation."""
        self.labels.written(step)
        labels_into_frame(self.labels, row, after)
        value = after[self.link] if self.link is not None else self.top_of_stack(step + 1, after)
        address = self.arch.code_address(value)
        cfa = after[self.sp] + self.arch.entry_cfa
        made = self.create(Birth.SIGNAL, step, address, cfa, address, after[self.pc])
        self.labels.set(self.return_place(after), made)
        self.happened(step, Act.SIGNAL, row[self.pc], after, made)

    def resume(self, step: int, row: Sequence[int], after: Sequence[int]) -> None:
        """The kernel loads all registers from a signal frame: the handler may have put a continuation in pc's place."""
        self.labels.written(step)
        label = labels_from_frame(self.labels, row)
        pc = row[self.pc]
        returns = label is not None and label >= 0 and self.goes_on(self.continuations[label], after[self.pc])
        made = () if returns or after[self.pc] == pc else self.handed_over(step, pc, None, after)[0]
        self.happened(step, Act.RESUME, pc, after, label if returns and label is not None else -1, made=made)
        if returns and label is not None:
            self.used.add(label)
            self.returned(step, pc, after, label)

    def return_place(self, row: Sequence[int]) -> str | int:
        """Where a return address belongs: the link register, or the top of the stack."""
        return self.arch.link if self.arch.link is not None else row[self.sp]

    def create(
        self, kind: Birth, step: int, address: int, cfa: int, function: int, target: int, whole: int | None = None
    ) -> int:
        index = len(self.continuations)
        stack = self.labels.stack()
        if whole is not None:
            stack = self.continuations[whole].stack
        self.continuations.append(
            Continuation(index, kind, step, address, cfa, stack, function, target, index if whole is None else whole)
        )
        self.last.append(-1)
        return index

    def happened(
        self,
        step: int,
        act: Act,
        pc: int,
        after: Sequence[int],
        continuation: int = -1,
        copy: int = -1,
        leaves: bool = False,
        made: tuple[int, ...] = (),
        ahead: Mapping[str | int, int] | None = None,
    ) -> None:
        stack = self.labels.stack()
        self.happenings.append(
            Happening(step, act, pc, after[self.pc], after[self.sp], stack, continuation, copy, leaves, made, ahead)
        )


def _rows(trace: Trace) -> Iterable[tuple[int, list[int], list[int]]]:
    """(step, its row, the row after it), for every step that has one after it."""
    for start in range(0, len(trace) - 1, _PIECE):
        rows = trace.registers[start : start + _PIECE + 1].tolist()
        for i in range(len(rows) - 1):
            yield start + i, rows[i], rows[i + 1]


def _called(trace: Trace, instructions: Instructions) -> set[int]:
    """Every address that a call instruction went to, except the next one, and where the run began."""
    _, first = np.unique(trace.pc, return_index=True)
    calls = [
        pc
        for step in first.tolist()
        if (size := int(trace.sizes[step]))
        and instructions.at(step, pc := int(trace.pc[step]), size, trace.isa(step)).flow is Flow.CALL
    ]
    steps = np.flatnonzero(np.isin(trace.pc[:-1], np.array(calls, np.uint64)))
    pairs = zip(trace.pc[steps].tolist(), trace.sizes[steps].tolist(), trace.pc[steps + 1].tolist(), strict=True)
    return {to for pc, size, to in pairs if to != pc + size} | {int(trace.pc[0])}
