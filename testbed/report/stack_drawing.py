"""The stack at one step, word by word: what each word holds, who wrote it, and which pointers point at it.

Everything follows from the journal of writes and the truth; no table and no unwinder is asked. The words of one
activation lie between the CFA of the activation that it called (SP, for the innermost one) and its own CFA::

    SP ≤ address < CFA(0)              the innermost activation
    CFA(i - 1) ≤ address < CFA(i)      its i-th caller

A word is a saved register if the activation that wrote it has it below its CFA, and the value is what that register
held then and at the activation's entry. Zero proves little, so it counts in a prologue only. A signal's activation owns
the frame that the kernel wrote, and the interrupted code's red zone above it (`signal_frames`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from testbed.conventions import platform
from testbed.report.phrases import activation_name, relative
from testbed.report.signal_frames import kept_registers, signal_frame_of
from testbed.runs.run import Run
from testbed.trace import Trace
from testbed.trace.memory import Regions
from testbed.truth import Activation, Truth
from testbed.words.errors import UnreadableMemory

# The journal of writes by stack word: when each word changed, to what, and which saved register that was.


@dataclass(frozen=True, eq=False)
class WordEvents:
    """One row per (write, aligned word it touches), in the order of the writes.

    ``value`` is the whole word after the write; ``saved`` the column of the register that was saved, or -1.
    """

    step: NDArray[np.uint32]
    address: NDArray[np.uint64]
    value: NDArray[np.uint64]
    saved: NDArray[np.int16]
    word: int = field(repr=False)

    def __len__(self) -> int:
        return len(self.step)

    def last(self, address: int, step: int) -> int | None:
        """The row of the last change of a word before ``step`` executes, or None."""
        rows = self._rows.get(address)
        if rows is None:
            return None
        i = bisect_left(rows[0], step)
        return rows[1][i - 1] if i else None

    @cached_property
    def _rows(self) -> Mapping[int, tuple[list[int], list[int]]]:
        """For every word: the steps that changed it, and their rows."""
        index: dict[int, tuple[list[int], list[int]]] = {}
        for row, (step, address) in enumerate(zip(self.step.tolist(), self.address.tolist(), strict=True)):
            steps, rows = index.setdefault(address, ([], []))
            steps.append(step)
            rows.append(row)
        return index


def stack_writes(trace: Trace, truth: Truth, earlier: Sequence[tuple[int, int, int, int]] = ()) -> WordEvents:
    """The word events of a recorded run, behind rows of ``earlier`` ones."""
    word = trace.arch.word
    saved = _first_saves(trace, truth, _saved_columns(trace, truth)).tolist()
    regions = Regions(trace.initial)
    now: dict[int, bytes] = {}
    rows = list(earlier)
    writes = trace.writes
    journal = zip(
        writes.step.tolist(), writes.address.tolist(), writes.size.tolist(), writes.value.tolist(), strict=True
    )
    for i, (step, address, size, value) in enumerate(journal):
        data = (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
        done = 0
        while done < size:
            base = (address + done) - (address + done) % word
            skip = address + done - base
            part = data[done : done + word - skip]
            before = now.get(base)
            if before is None:
                before = _initial(regions, base, word)
            after = before[:skip] + part + before[skip + len(part) :]
            now[base] = after
            rows.append((step, base, int.from_bytes(after, "little"), saved[i]))
            done += len(part)
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    return WordEvents(
        np.array(columns[0], np.uint32),
        np.array(columns[1], np.uint64),
        np.array(columns[2], np.uint64),
        np.array(columns[3], np.int16),
        word,
    )


def _initial(regions: Regions, base: int, word: int) -> bytes:
    try:
        return regions.read(base, word)
    except UnreadableMemory:  # the end of a region whose size is no multiple of a word
        return bytes(word)


def _saved_columns(trace: Trace, truth: Truth) -> NDArray[np.int16]:
    """For every write: the column of the callee-saved register that it saves for its activation, or -1."""
    writes, arch = trace.writes, trace.arch
    out = np.full(len(writes), -1, np.int16)
    if not len(writes):
        return out
    step = writes.step.astype(np.int64)
    opened, cfa = (column[truth.node] for column in (truth.activations.opened, truth.activations.cfa))
    by_kernel = trace.sizes[step] == 0  # a signal's frame: nobody gives back from there
    above = (cfa[step] != 0) & (writes.address >= cfa[step])  # what a caller has there
    prologue = truth.sites.prologue[step]
    pointers = [name for name in platform(arch).preserved if name in arch.frame_pointers]
    # The frame pointers last: they win where a zero could be either.
    for name in (*(n for n in platform(arch).preserved if n not in pointers), *pointers):
        column = arch.index[name]
        held = trace.registers[step, column]
        kept = held == trace.registers[opened[step], column]
        width = arch.registers[column].bits // 8
        value = writes.value
        whole = (writes.size == width) & (value == held)
        if width > arch.word:  # a double register stored as two words
            low = held & np.uint64(arch.word_mask)
            high = held >> np.uint64(8 * arch.word)
            whole |= (writes.size == arch.word) & ((value == low) | (value == high))
        # Several frame pointers may be zero at once; what is saved is that of the instruction set in force.
        in_force = np.array([name == isa.records[0].pointer for isa in arch.isas])[truth.sites.isa[step]]
        zero_counts = prologue & in_force if name in pointers else prologue
        out[~by_kernel & ~above & kept & whole & ((value != 0) | zero_counts)] = column
    return out


def _first_saves(trace: Trace, truth: Truth, saved: NDArray[np.int16]) -> NDArray[np.int16]:
    """Only the first place that holds a register is where it is saved; the same value elsewhere is a local.

    A place that SP has passed since is none any more: the same activation may save again after a tail call.
    """
    out = saved.copy()
    places: dict[tuple[int, int], tuple[int, int, int]] = {}  # (activation, column) -> (step, address, SP known until)
    for i in np.flatnonzero(saved >= 0).tolist():
        step, address = int(trace.writes.step[i]), int(trace.writes.address[i])
        key = int(truth.node[step]), int(saved[i])
        held = places.get(key)
        if held is None or (held[2] < step and int(trace.sp[held[2] + 1 : step + 1].max()) > held[1]):
            places[key] = step, address, step
            continue
        places[key] = held[0], held[1], step
        if held[0] != step and held[1] != address:
            out[i] = -1
    return out


BELOW_SHOWN = 4  # words below SP that are shown where they were written: what a pop has just left behind
MAX_WORDS = 4096


class WordKind(Enum):
    """What a word of the stack is; the value is the sentence that legends show."""

    RETURN_ADDRESS = "where this frame's function returns to"
    SAVED_FP = "the caller's frame pointer, to be given back"
    SAVED_REGISTER = "a callee-saved register of a caller, to be given back"
    SIGNAL_FRAME = "written by the kernel for a signal: the interrupted code's registers, and what the signal says"
    LOCAL = "written by the program since the frame exists: a local, a spill, an argument"
    UNTOUCHED = "allocated, not written since the frame exists"
    EARLIER = "what was there before the first of these steps: who wrote it, nobody saw"
    RED_ZONE = "below SP, in the red zone: the function may use it"
    BELOW = "below SP: left behind, anything may overwrite it"
    EDGE = "SP at entry: the bottom of this stack"

    @property
    def mark(self) -> str:
        """One character, so that no colour is needed."""
        return _MARKS[self]


_MARKS = {
    WordKind.RETURN_ADDRESS: "↩",
    WordKind.SAVED_FP: "▣",
    WordKind.SAVED_REGISTER: "■",
    WordKind.SIGNAL_FRAME: "§",
    WordKind.LOCAL: "□",
    WordKind.UNTOUCHED: "·",
    WordKind.EARLIER: "?",
    WordKind.RED_ZONE: "▽",
    WordKind.BELOW: "×",
    WordKind.EDGE: "▁",
}


@dataclass(frozen=True, slots=True)
class StackWord:
    """One word: ``owner`` is the activation whose frame it lies in, ``written`` the step that last wrote it.

    ``value`` is None where nothing is mapped. ``register`` is what was saved, of ``saved_of`` (an activation); of a
    signal's frame, too. ``changed``: the program has written there since the kernel did.
    ``marks`` name what points here: SP, a frame-pointer register, ``CFA of f``. ``label`` is what it holds, in words.
    """

    address: int
    value: int | None
    kind: WordKind
    owner: int
    written: int | None
    register: str = ""
    saved_of: int | None = None
    marks: tuple[str, ...] = ()
    changed: bool = False
    label: str = ""


@dataclass(frozen=True, slots=True)
class StackDrawing:
    """The stack at ``step`` from the lowest shown word up. ``left_out`` words at the far end are not drawn.

    ``elsewhere`` says that the chain of activations goes on, on another stack. ``return_address`` says where the
    innermost activation's is: ``in x30 and at cfa-0x8``; "" where nobody called it.
    """

    step: int
    words: tuple[StackWord, ...] = field(repr=False)
    left_out: int = 0
    elsewhere: bool = False
    return_address: str = ""

    def nearest(self, limit: int) -> StackDrawing:
        """The same with at most so many words, those nearest to SP. The edge is no word."""
        whole = tuple(word for word in self.words if word.kind is not WordKind.EDGE)
        if len(whole) <= limit:
            return self
        return replace(self, words=whole[:limit], left_out=self.left_out + len(whole) - limit)


@dataclass(frozen=True, slots=True)
class _FrameExtent:
    """The words ``[low, high)`` of one activation's frame."""

    activation: Activation
    low: int
    high: int


@lru_cache(maxsize=4)
def events_of(run: Run) -> WordEvents:
    """The word events of a run; a run that is stepped through is asked often.

    Of a part of a run they begin with what its oldest frames hold, as if it was written right before.
    """
    extents = _extents(run, run.unseen, int(run.trace.sp[run.unseen]))[0] if run.unseen else []
    word, regions = run.arch.word, Regions(run.trace.initial)
    held = [address for each in extents for address in range(each.low, each.high, word)][:MAX_WORDS]
    found = ((at, int.from_bytes(_initial(regions, at, word), "little")) for at in held)
    return stack_writes(run.trace, run.watched, [(run.unseen - 1, at, value, -1) for at, value in found])


def draw_stack(run: Run, step: int) -> StackDrawing:
    """The stack of ``run`` before ``step`` executes. A pure function; at most MAX_WORDS, those nearest to SP."""
    events = events_of(run)
    word = run.arch.word
    sp = int(run.trace.sp[step])
    extents, elsewhere = _extents(run, step, sp)
    pointers = _pointers(run, step, extents)
    words = list(_below(run, events, step, sp))
    left_out = 0
    for extent in extents:
        room = MAX_WORDS - len(words)
        there = max(0, (extent.high - extent.low + word - 1) // word)
        left_out += max(0, there - room)
        shown = range(extent.low, extent.low + min(there, max(room, 0)) * word, word)
        words += [_word(run, events, step, address, extent.activation) for address in shown]
    bottom = extents[-1] if extents else None
    if bottom is not None and bottom.activation.cfa is None and not left_out:
        words.append(StackWord(bottom.high, None, WordKind.EDGE, bottom.activation.index, None))
    told = [replace(each, marks=tuple(pointers.get(each.address, ())), label=_label(run, each)) for each in words]
    return StackDrawing(step, tuple(told), left_out, elsewhere, _holders(run, step, told))


def _holders(run: Run, step: int, words: list[StackWord]) -> str:
    """Where the innermost activation's return address is: in the link register, in words of its own part.

    The words are looked at, and not what was written: in a piece of a run nobody knows what wrote them.
    """
    own, link = run.watched.activations[int(run.watched.node[step])], run.arch.link
    if own.return_address is None or own.signal:
        return ""
    held = []
    if link and run.arch.without_signature(int(run.trace.column(link)[step])) == own.return_address:
        held.append(f"in {link}")
    own_words = ((word.address, word.value) for word in words if word.owner == own.index and word.value is not None)
    slots = (at for at, value in own_words if run.arch.without_signature(value) == own.return_address)
    held += [f"at {relative(run, slot, step)}" for slot in slots]
    return " and ".join(held) or "not in the frame" + f", nor in {link}" * bool(link)


def _extents(run: Run, step: int, sp: int) -> tuple[list[_FrameExtent], bool]:
    """The frames from SP up, until the bottom of this stack, or until the chain goes on elsewhere."""
    extents: list[_FrameExtent] = []
    low = sp - sp % run.arch.word
    index: int | None = int(run.watched.node[step])
    while index is not None:
        activation = run.watched.activations[index]
        high, elsewhere = stack_end(run, activation)
        if high < low and extents:
            return extents, True
        if not _mapped(run, low, high):
            return extents, bool(extents)
        extents.append(_FrameExtent(activation, low, high))
        if elsewhere:
            return extents, True
        low, index = max(low, high), activation.parent
    return extents, False


def stack_end(run: Run, activation: Activation) -> tuple[int, bool]:
    """Where an activation's part of its stack ends, and whether the next one is on another stack: a signal's may be."""
    if activation.signal:
        place = signal_frame_of(run, activation)
        return place.end, place.alternate
    return (activation.entry_sp if activation.cfa is None else activation.cfa), False


def _mapped(run: Run, low: int, high: int) -> bool:
    """True where one region of memory holds ``[low, high)``."""
    if low >= high:
        return True
    return any(region.address <= low and high <= region.end for region in run.trace.initial)


def _pointers(run: Run, step: int, extents: list[_FrameExtent]) -> dict[int, list[str]]:
    """What points where: SP, the frame pointers of this architecture, and each CFA."""
    arch = run.arch
    pointers: dict[int, list[str]] = {}
    for name in (arch.sp, *arch.frame_pointers):
        label = "SP" if name == arch.sp else f"FP {name}"
        pointers.setdefault(int(run.trace.column(name)[step]), []).append(label)
    for extent in extents:
        if extent.activation.cfa is not None:
            name = activation_name(run, extent.activation.index)
            pointers.setdefault(extent.activation.cfa, []).append(f"CFA of {name}")
    return pointers


def _label(run: Run, word: StackWord) -> str:
    """What a word holds: ``return to main+0x10``, ``x19 of main``, ``local of leaf``."""
    owner = activation_name(run, word.owner)
    match word.kind:
        case WordKind.RETURN_ADDRESS:
            assert word.value is not None
            address = run.arch.without_signature(word.value)
            return f"return to {run.where(address, caller=address not in run.uncalled)}"
        case WordKind.SAVED_FP | WordKind.SAVED_REGISTER:
            assert word.saved_of is not None
            return f"{word.register} of {activation_name(run, word.saved_of)}"
        case WordKind.SIGNAL_FRAME if word.register and word.saved_of is not None:
            code = activation_name(run, word.saved_of)
            if word.changed:
                return f"signal frame: {word.register} of {code}, changed since"
            return f"signal frame: saved {word.register} of {code}"
        case WordKind.SIGNAL_FRAME:
            return "signal frame"
        case WordKind.UNTOUCHED if run.watched.activations[word.owner].signal:
            return "signal frame, not written"
        case WordKind.LOCAL:
            return f"local of {owner}"
        case WordKind.UNTOUCHED:
            return f"frame of {owner}, not written"
        case WordKind.EARLIER:
            return f"frame of {owner}, from before"
        case WordKind.RED_ZONE:
            return f"red zone of {owner}"
        case WordKind.BELOW:
            return "below SP"
        case WordKind.EDGE:
            return "SP at entry"


def _below(run: Run, events: WordEvents, step: int, sp: int) -> Iterator[StackWord]:
    """Words below SP: the red zone as far as this activation used it, and what was just left behind."""
    word, index = run.arch.word, int(run.watched.node[step])
    activation = run.watched.activations[index]
    base = sp - sp % word
    red = platform(run.arch).red_zone
    lowest = base
    for address in range(base - max(red, BELOW_SHOWN * word), base, word):
        event = events.last(address, step)
        if event is None:
            continue
        mine = _in_red_zone(run, events, event, activation)
        if (red and mine) or address >= base - BELOW_SHOWN * word:
            lowest = address
            break
    for address in range(lowest, base, word):
        event = events.last(address, step)
        mine = event is not None and _in_red_zone(run, events, event, activation)
        kind = WordKind.RED_ZONE if red and mine else WordKind.BELOW
        written = None if event is None else int(events.step[event])
        value = _value(run, events, event, address, step)
        yield StackWord(address, value, kind, index, written)


def _in_red_zone(run: Run, events: WordEvents, event: int, activation: Activation) -> bool:
    """True where the activation itself wrote it below SP. What a push wrote and a pop left behind is not."""
    step = int(events.step[event])
    after = min(step + 1, len(run) - 1)
    return int(run.watched.node[step]) == activation.index and int(events.address[event]) < int(run.trace.sp[after])


def _word(run: Run, events: WordEvents, step: int, address: int, owner: Activation) -> StackWord:
    if owner.signal:
        return _signal_word(run, events, step, address, owner)
    event = events.last(address, step)
    value = _value(run, events, event, address, step)
    # Where calls push, the call itself writes the return address, one step before the callee's first.
    born = owner.opened - (1 if run.arch.link is None and owner.cfa is not None else 0)
    if event is None or int(events.step[event]) < born:
        kind = WordKind.EARLIER if owner.opened < run.unseen else WordKind.UNTOUCHED
        return StackWord(address, value, kind, owner.index, None)
    written = int(events.step[event])
    seen = written if written >= run.unseen else None
    if value is not None and owner.return_address == run.arch.without_signature(value):
        return StackWord(address, value, WordKind.RETURN_ADDRESS, owner.index, seen)
    if seen is None:
        return StackWord(address, value, WordKind.EARLIER, owner.index, None)
    column = int(events.saved[event])
    # The activation that the registers belong to which the one that wrote found at its entry.
    owner_of_entry = run.watched.activations[int(run.watched.node[written])].parent
    if column < 0 or owner_of_entry is None:
        return StackWord(address, value, WordKind.LOCAL, owner.index, written)
    register = run.arch.registers[column].name
    kind = WordKind.SAVED_FP if register in run.arch.frame_pointers else WordKind.SAVED_REGISTER
    saved_of = registers_of(run, owner_of_entry, column)
    return StackWord(address, value, kind, owner.index, written, register, saved_of)


def _signal_word(run: Run, events: WordEvents, step: int, address: int, owner: Activation) -> StackWord:
    """A word of what a signal's activation owns."""
    place, event = signal_frame_of(run, owner), events.last(address, step)
    value = _value(run, events, event, address, step)
    written = None if event is None else int(events.step[event])
    if address >= place.red_zone:
        assert owner.parent is not None
        mine = written is not None and written >= run.watched.activations[owner.parent].opened
        kind = WordKind.RED_ZONE if mine else WordKind.UNTOUCHED
        return StackWord(address, value, kind, owner.parent, written if mine else None)
    if written is None or written < place.written:
        return StackWord(address, value, WordKind.UNTOUCHED, owner.index, None)
    register, changed = kept_registers(run.arch).get(address - place.frame, ""), written > place.written
    return StackWord(
        address, value, WordKind.SIGNAL_FRAME, owner.index, written, register, owner.parent, changed=changed
    )


def registers_of(run: Run, activation: int, column: int) -> int:
    """Whose register it is that an activation's callee found: a handler finds what the kernel has left alone."""
    found = run.watched.activations[activation]
    held = run.trace.registers[:, column]
    if found.signal and found.parent is not None and held[found.opened] == held[found.opened - 1]:
        return found.parent
    return activation


def _value(run: Run, events: WordEvents, event: int | None, address: int, step: int) -> int | None:
    if event is not None:
        return int(events.value[event])
    try:
        return run.trace.memory(step).unsigned(address, run.arch.word)
    except UnreadableMemory:
        return None


def changed_registers(run: Run, step: int) -> tuple[tuple[str, int, int], ...]:
    """(register, value before, value now) for every register that the step before this one changed; pc is left out."""
    if step == 0:
        return ()
    before: NDArray[np.uint64] = run.trace.registers[step - 1]
    now: NDArray[np.uint64] = run.trace.registers[step]
    return tuple(
        (register.name, int(before[i]), int(now[i]))
        for i, register in enumerate(run.arch.registers)
        if before[i] != now[i] and register.name != run.arch.pc
    )
