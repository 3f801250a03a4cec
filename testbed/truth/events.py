"""The steps at which control may have changed hands, found from the columns of a trace.

With ``fall(k) = pc[k-1] + size[k-1]``, the address behind the instruction of step ``k - 1``:

* step ``k`` is a *transfer* when ``pc[k] != fall(k)``, or it took the address it is at off the stack, or that is in the
  link register: a return to the next one;
* it has the *effect of a call* when the machine now knows ``fall(k)`` as the place to come back to: in the link
  register, or, where calls push, in the word at SP.

No mnemonic is asked for. A Thumb instruction that an IT block skips leaves no step: it looks like a short jump.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.arch.tables import PerArch
from testbed.conventions import platform
from testbed.trace import Trace
from testbed.trace.distinct_rows import distinct
from testbed.trace.trace import changed_bits
from testbed.truth.native.state import CALLS, HANDLER, RESUMED, TAKEN, TRANSFER, UNDONE, Events

Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
# Can one instruction add to a register and jump there, or pop pc with others? In A32, where pc is a general register.
COMPUTES_PC = PerArch({"x86_64": False, "arm64": False, "arm32": True})
FAR = 4096  # no instruction adds more to SP than this and loads other registers too
_NONE = np.empty(0, np.uint64)


class Stores(NamedTuple):
    """Words that were stored, in order."""

    address: Words
    value: Words


NO_STORES = Stores(_NONE, _NONE)


@dataclass(frozen=True, eq=False)
class Transfers:
    """Per step: the address behind the instruction before; did control leave it; did it have the effect of a call;
    does that call's word come off at once. ``stored`` are code addresses stored until the end, other than by calls;
    ``before`` those stored since the last event before these rows."""

    trace: Trace
    fall: Words
    transfer: Bools
    call: Bools
    undone: Bools
    stored: Words
    before: Stores = NO_STORES

    def events(self, first: int = 0, end: int | None = None) -> Events:
        """Those of the rows from ``first`` to ``end``."""
        trace, (kept, kept_at) = self.trace, self._kept()
        chosen, entered = self._chosen(), np.flatnonzero(trace.sizes[:-1] == 0) + 1
        row = np.flatnonzero(chosen[first:end]) + first
        what = self.transfer[row] * np.uint8(TRANSFER) + self.call[row] * np.uint8(CALLS)
        what |= self.undone[row] * np.uint8(UNDONE)
        what[np.isin(row, entered)] |= HANDLER
        if trace.resumed:
            what[np.isin(row, np.array(trace.resumed))] |= RESUMED
        if trace.taken_over:
            what[np.isin(row, np.array(trace.taken_over))] |= TAKEN
        at = np.zeros(len(row), np.uint64)
        if len(kept) and len(row):
            place = np.searchsorted(row, kept)
            here = (place < len(row)) & (row[np.minimum(place, len(row) - 1)] == kept)
            at[place[here]] = kept_at[here]
        pc, sp, before = trace.pc[row], trace.sp[row], row - 1
        return Events(row, pc, sp, trace.pc[before], self.fall[row], trace.sp[before], what, at, self._ahead(row))

    def _chosen(self) -> Bools:
        """The rows that are events; not where an instruction repeats itself."""
        trace, chosen = self.trace, self.transfer | self.call
        chosen[1:] &= (trace.pc[1:] != trace.pc[:-1]) | (trace.sp[1:] != trace.sp[:-1]) | self.call[1:]
        chosen[1:] |= trace.sizes[:-1] == 0
        chosen[[*trace.resumed, *trace.taken_over]] = True
        chosen[self._kept()[0]] = True
        chosen[:1] = False
        return chosen

    def ahead(self, first: int, end: int) -> Stores:
        """What is known behind those rows for `events` of the next ones: the code addresses stored since the last."""
        chosen = self._chosen()
        chosen[end:] = False
        rows = np.flatnonzero(chosen[first:]) + first
        step, stores = self._code_stores()
        since = (step >= rows[-1] if len(rows) else step >= 0) & (step < end)
        now = Stores(stores.address[since], stores.value[since])
        if len(rows):
            return now
        return Stores(np.append(self.before.address, now.address), np.append(self.before.value, now.value))

    def _ahead(self, row: Ints) -> Words:
        """Where calls push: the code address that was put at SP since the event before (0)."""
        found = np.zeros(len(row), np.uint64)
        if self.trace.arch.link is None and len(row):
            sp = self.trace.sp[row]
            there = self.before.address == sp[0]
            found[:1] = self.before.value[there][-1:] if there.any() else found[:1]
            step, stores = self._code_stores()
            place = np.searchsorted(row, step, side="right")
            inside = place < len(row)
            place, address, value = place[inside], stores.address[inside], stores.value[inside]
            there = address == sp[place]
            found[place[there]] = value[there]
        return found

    def _code_stores(self) -> tuple[Ints, Stores]:
        """The steps that stored an address of code, where calls push, and what they stored."""
        writes = self.trace.writes
        if self.trace.arch.link is not None:
            return np.empty(0, np.int64), NO_STORES
        code = np.flatnonzero((writes.size == self.trace.arch.word) & in_code(self.trace, writes.value))
        return writes.step[code].astype(np.int64), Stores(writes.address[code], writes.value[code])

    def _kept(self) -> tuple[Ints, Words]:
        """The steps that stored the link register, and where."""
        arch, writes = self.trace.arch, self.trace.writes
        if arch.link is None or not len(writes):
            return np.empty(0, np.int64), _NONE
        step = writes.step.astype(np.int64)
        stored = (writes.size == arch.word) & (writes.value == self.trace.column(arch.link)[step])
        stored &= self.trace.sizes[step] > 0  # a signal's frame is no use of it
        return step[stored], writes.address[stored]


def find_transfers(trace: Trace, stored: Words = _NONE, before: Stores = NO_STORES) -> Transfers:
    """Every transfer and every call effect of a trace behind step 0. ``stored`` and ``before`` are of what came
    before."""
    pc, arch = trace.pc, trace.arch
    fall = pc.copy()
    fall[1:] = pc[:-1] + trace.sizes[:-1]
    transfer, undone = pc != fall, np.zeros(len(pc), np.bool_)
    transfer[list(trace.resumed)] = True  # the interrupted code may lie right behind the trampoline
    if arch.link:
        link = trace.column(arch.link)
        transfer[_loaded_with_sp(trace, transfer)] = True
        transfer |= _popped(trace, transfer)
        address = link & np.uint64(arch.code_mask)
        call = address == fall
        fresh = np.ones(len(call), np.bool_)
        fresh[1:] = address[:-1] != fall[1:]
        call &= transfer | fresh
        transfer |= link & np.uint64(arch.code_mask & ~arch.signature) == pc
    else:
        transfer |= _came_off(trace, transfer)
        call, undone, stored = _pushed(trace, fall, transfer, stored)
    return Transfers(trace, fall, transfer, call, undone, stored, before)


def _loaded_with_sp(trace: Trace, transfer: Bools) -> Ints:
    """``ldmia r1, {r4-r11, sp, pc}`` to the very next address: SP went far, and other registers changed with it."""
    sp, arch = trace.sp, trace.arch
    far = np.flatnonzero(sp[1:] - sp[:-1] + np.uint64(FAR) > np.uint64(2 * FAR)) + 1
    far = far[~transfer[far]]
    others = [arch.index[name] for name in platform(arch).preserved if name not in (arch.sp, arch.pc)]
    changed = trace.registers[far][:, others] != trace.registers[far - 1][:, others]
    return far[changed.sum(axis=1) > 1] if len(far) else far


def _came_off(trace: Trace, transfer: Bools) -> Bools:
    """``push next; ret; next:``: SP rose by one word, which is where control is now, and nothing else has changed."""
    sp, arch, found = trace.sp, trace.arch, np.zeros(len(transfer), np.bool_)
    others = changed_bits(i for i, r in enumerate(arch.registers) if r.name not in (arch.pc, arch.sp, arch.flags))
    near = np.flatnonzero((trace.changed & np.uint64(others) == 0) & ~transfer)
    near = near[near > 0]
    near = near[sp[near] == sp[near - 1] + np.uint64(arch.word)]
    values, _ = trace.words.at(near, sp[near - 1])
    found[near[values == trace.pc[near]]] = True
    return found


def _popped(trace: Trace, transfer: Bools) -> Bools:
    """``pop {r4, pc}`` to the very next address: SP rose by some words, the last of which is where control is now."""
    sp, arch, found = trace.sp, trace.arch, np.zeros(len(transfer), np.bool_)
    if COMPUTES_PC[arch.name]:
        rose = np.flatnonzero((sp[1:] > sp[:-1]) & (sp[1:] - sp[:-1] <= np.uint64(16 * arch.word))) + 1
        rose = rose[~transfer[rose]]
        values, _ = trace.words.at(rose, sp[rose] - np.uint64(arch.word))
        found[rose[values & np.uint64(arch.code_mask) == trace.pc[rose]]] = True
    return found


def _pushed(trace: Trace, fall: Words, transfer: Bools, stored: Words) -> tuple[Bools, Bools, Words]:
    """This step lowered SP by one word and stored the fall-through address there; or that lay there before a transfer.

    Also those whose word one of the next two instructions takes off, and the code addresses stored in other ways.
    """
    word, writes, sp, count = trace.arch.word, trace.writes, trace.sp, len(trace)
    whole = np.flatnonzero((writes.size == word) & (writes.step.astype(np.int64) + 1 < count))
    after = writes.step[whole].astype(np.int64) + 1
    pushed = (writes.address[whole] == sp[after]) & (writes.value[whole] == fall[after])
    pushed &= sp[after] + np.uint64(word) == sp[after - 1]
    call, undone = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    call[after[pushed]] = True
    others = writes.value[whole[~pushed]]
    stored = distinct(np.concatenate((stored, others[in_code(trace, others)])))
    places = np.flatnonzero(call)
    for distance in (1, 2):  # the second one, if the first leaves SP alone
        places = places[places + distance < count]
        places = places[~transfer[places + distance]]
        undone[places[sp[places + distance] == sp[places] + np.uint64(word)]] = True
        places = places[sp[places + distance] == sp[places]]
    still = np.flatnonzero(transfer[1:] & (sp[1:] == sp[:-1])) + 1
    still = still[np.isin(fall[still], stored)] if len(stored) else still[:0]
    values, _ = trace.words.at(still, sp[still])
    call[still[values == fall[still]]] = True
    return call & (transfer | ~undone), undone & transfer, stored


def in_code(trace: Trace, values: Words) -> Bools:
    """Which of some values are addresses of code."""
    found = np.zeros(len(values), np.bool_)
    for low, high in code_of(trace):
        found |= (values >= low) & (values < high)
    return found


def code_of(trace: Trace) -> list[tuple[int, int]]:
    """Where code is: the start and the end of every executable segment."""
    return [
        (segment.address + loaded.bias, segment.address + loaded.bias + len(segment.data))
        for loaded in trace.images
        for segment in loaded.image.segments
        if segment.executable
    ]
