"""Where a function's own code does not say how to unwind: by what the trace shows of the function's activations.

What is asked of a frame goes by its activation and the step that it executed last. So of all frames further out there
are as many to look at as there are calls, however many steps look back at them.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from testbed.arch import Arch
from testbed.contract.assumption import AS_CALLED, ENTERED, KEPT, KIND, NAMED, ONE_CFA, OUTERMOST, Clause
from testbed.image import Image, image_covering, once_per_image
from testbed.truth import Truth
from testbed.verdicts.assumptions.along import (
    CLAUSE_OF,
    NUMBERS,
    Bools,
    Clauses,
    Failed,
    Failing,
    Filling,
    Numbers,
    Words,
    are_at,
    promised_of,
)

_COLD = ".cold"  # compilers name so what they moved out of a function: it is entered by jumps, with its frame
_LARGEST = 1 << 20  # bytes of a frame


@dataclass(frozen=True, eq=False)
class _CodeFrames:
    """Frames of activations, which each executed the step ``last`` last; ``inner`` is who was called by it, or -1."""

    truth: Truth
    index: Numbers
    last: Numbers
    inner: Numbers

    @classmethod
    def innermost(cls, truth: Truth, steps: Numbers) -> _CodeFrames:
        return cls(truth, truth.node[steps].astype(np.int64), steps, np.full(len(steps), -1))

    @classmethod
    def callers(cls, truth: Truth, inner: Numbers) -> _CodeFrames:
        """The frames that activations come back to."""
        true = truth.activations
        return cls(truth, true.parent[inner].astype(np.int64), true.opened[inner] - 1, inner)

    @property
    def arch(self) -> Arch:
        return self.truth.trace.arch

    @cached_property
    def is_calling(self) -> Bools:
        true = self.truth.activations
        calling: Bools = (self.inner >= 0) & ~true.signal[self.inner] & ~true.signal[self.index]
        return calling

    @cached_property
    def pc(self) -> Words:
        """Where each frame stands."""
        true = self.truth.activations
        return np.where(self.inner < 0, self.truth.trace.pc[self.last], true.return_address[self.inner])

    @cached_property
    def sp(self) -> Words:
        return np.where(self.inner < 0, self.truth.trace.sp[self.last], self.truth.activations.cfa[self.inner])

    @cached_property
    def place(self) -> tuple[Words, Bools, Bools]:
        """Where the function of each begins by its symbol, where there is one, and where the file begins with it."""
        pcs, which = np.unique(self.pc - self.is_calling.astype(np.uint64), return_inverse=True)
        found = [_place(self.truth, pc) for pc in pcs.tolist()]
        starts = np.array([place[0] if place else 0 for place in found], np.uint64)
        named, entry = [place is not None for place in found], [place is not None and place[1] for place in found]
        return starts[which], np.array(named, np.bool_)[which], np.array(entry, np.bool_)[which]

    @cached_property
    def entered(self) -> Numbers:
        """The last step, up to the one executed last, at which each activation was at the function's start; or -1."""
        truth, (start, _, _) = self.truth, self.place
        starts, rank = np.unique(start, return_inverse=True)
        number = np.minimum(np.searchsorted(starts, truth.trace.pc), len(starts) - 1)
        visits = np.flatnonzero(starts[number] == truth.trace.pc)
        span = len(truth.node) + 1
        keys = (truth.node[visits].astype(np.int64) * len(starts) + number[visits]) * span + visits
        order = np.argsort(keys)
        own = (self.index * len(starts) + rank) * span
        at = np.searchsorted(keys[order], own + self.last, side="right") - 1
        found = np.where(at >= 0, keys[order[at]], -1) if len(keys) else np.full(len(own), -1)
        return np.where(found >= own, found - own, -1)

    @cached_property
    def unlike(self) -> Bools:
        """By register, which of them a function was not entered with as the call left them; only the promised ones."""
        truth, arch, columns = self.truth, self.arch, np.asarray(self.truth.trace.registers)
        pairs, place = np.unique(np.stack((self.index, self.entered)), axis=1, return_inverse=True)
        index, entered = pairs
        promised, code = promised_of(truth)
        differs = (columns[truth.activations.opened[index]] != columns[entered]) & promised[code[index]]
        differs[:, [arch.index[arch.pc], arch.index[arch.flags]]] = False
        if arch.link is not None:
            column = arch.index[arch.link]
            link = columns[entered, column] & np.uint64(arch.code_mask)
            differs[:, column] |= ~are_at(truth, index, link)
        found: Bools = differs[place.reshape(-1)]
        return found

    @cached_property
    def keeps(self) -> Bools:
        """Where the return address is in the link register, or in a word between SP and the CFA."""
        truth, arch, true = self.truth, self.arch, self.truth.activations
        returns, goes_on = true.return_address[self.index], true.goes_on[self.index]
        size = true.cfa[self.index] - self.sp
        kept = np.zeros(len(self.index), np.bool_)
        mask, word = np.uint64(~arch.signature & arch.code_mask), np.uint64(arch.word)
        if arch.link is not None:
            link = truth.trace.column(arch.link)[self.last] & mask
            kept = ~self.is_calling & are_at(truth, self.index, link)
        seen = np.where(self.inner < 0, self.last, true.opened[self.inner])
        left = np.flatnonzero(~kept & (size <= np.uint64(_LARGEST)))
        distance = np.uint64(0)
        while len(left):  # mostly it is near an end
            left = left[distance + distance < size[left]]
            for at in (true.cfa[self.index[left]] - distance - word, self.sp[left] + distance):
                value, mapped = truth.trace.words.at(seen[left], at)
                value &= mask
                kept[left] |= mapped & ((value == returns[left]) | (value == goes_on[left]) & (goes_on[left] != 0))
            left, distance = left[~kept[left]], distance + word
        return kept

    @cached_property
    def fails(self) -> Clauses:
        """The clause that fails of each frame, of CLAUSE_OF; 0: none."""
        if not len(self.index):
            return np.zeros(0, np.uint8)
        true, trace = self.truth.activations, self.truth.trace
        _, named, is_entry = self.place
        is_root, signal = true.parent[self.index] < 0, true.signal[self.index]
        pcs, one_cfa = _one_cfa(self.truth)
        one = one_cfa[np.searchsorted(pcs, trace.pc[self.last])]
        found = np.where(one, np.uint8(0), np.uint8(NUMBERS[ONE_CFA]))
        for fails, by in (
            (~self.keeps, KEPT),
            (self.unlike.any(axis=1), AS_CALLED),
            (self.entered < 0, ENTERED),
            (signal, KIND),
        ):
            found[fails] = NUMBERS[by]
        found[is_root] = 0
        found[is_entry != is_root] = NUMBERS[OUTERMOST]
        found[~named] = NUMBERS[NAMED]
        return found

    def evidence(self, row: int, clause: Clause) -> Filling:
        """Of one frame what the words of its clause need."""
        truth, true, index = self.truth, self.truth.activations, int(self.index[row])
        start, entered = int(self.place[0][row]), int(self.entered[row])
        if clause is NAMED:
            return {"at": int(self.pc[row]) - bool(self.is_calling[row])}
        if clause is OUTERMOST:
            is_root = true.parent[index] < 0
            return {"not_": "" if is_root else "not ", "where": "elsewhere" if is_root else "there"}
        if clause is ENTERED:
            return {"at": start}
        if clause is ONE_CFA:
            return {"at": int(truth.trace.pc[self.last[row]])}
        if clause is not AS_CALLED:
            return {"true": int(true.return_address[index])}
        column = int(np.argmax(self.unlike[row]))
        name, registers = [*self.arch.index][column], truth.trace.registers
        was = true.return_address[index] if name == self.arch.link else registers[true.opened[index], column]
        return {"register": name, "found": int(registers[entered, column]), "was": int(was)}


@dataclass(frozen=True, eq=False)
class CodeRows:
    """Some steps of a run, with the frames of all activations that are alive there."""

    truth: Truth
    steps: Numbers
    innermost: _CodeFrames
    outer: _CodeFrames

    @classmethod
    def of(cls, truth: Truth, steps: Numbers) -> CodeRows:
        parent = truth.activations.parent
        lives = np.zeros(len(parent), np.bool_)
        lives[truth.node[steps]] = True
        for index in reversed(range(len(parent))):  # a parent comes before its children
            if lives[index] and parent[index] >= 0:
                lives[parent[index]] = True
        inner = np.flatnonzero(lives & (parent >= 0))
        return cls(truth, steps, _CodeFrames.innermost(truth, steps), _CodeFrames.callers(truth, inner))

    def failing(self) -> Failing:
        """The first frame of each step of which the code does not say the row. Of answers nothing is foretold."""
        parent, inner = self.truth.activations.parent, self.outer.inner
        frame, clause = np.full(len(parent), -1, np.int32), np.zeros(len(parent), np.uint8)
        for index, fails in zip(inner.tolist(), self.outer.fails.tolist(), strict=True):
            outer = parent[index]
            further = 1 + frame[outer] if frame[outer] > 0 else -1
            frame[index], clause[index] = (1, fails) if fails else (further, clause[outer])
        fails, node = self.innermost.fails, self.truth.node[self.steps]
        return Failing(
            np.where(fails != 0, 0, frame[node]),
            np.where(fails != 0, fails, clause[node]),
            np.ones(len(node), np.bool_),
        )

    def in_words(self) -> list[Failed | None]:
        """The same with evidence; None where there is no such frame."""
        found, parent = self.failing(), self.truth.activations.parent
        said: list[Failed | None] = [None] * len(self.steps)
        for i in np.flatnonzero(found.frame >= 0).tolist():
            frames, row, index = self.innermost, i, int(self.truth.node[self.steps[i]])
            for _ in range(found.frame[i]):
                frames, row = self.outer, int(np.searchsorted(self.outer.inner, index))
                index = int(parent[index])
            clause = CLAUSE_OF[found.clause[i]]
            assert isinstance(clause, Clause)
            here = {"here": int(frames.pc[row])}
            said[i] = Failed(int(found.frame[i]), clause, None, here | dict(frames.evidence(row, clause)))
        return said


def _place(truth: Truth, pc: int) -> tuple[int, bool] | None:
    """Where the function at a pc begins by its symbol, and whether the file's execution begins in it."""
    loaded = image_covering(truth.trace.images, pc)
    start = None if loaded is None else _start(loaded.image, pc - loaded.bias)
    if loaded is None or start is None:
        return None
    return start + loaded.bias, start == _start(loaded.image, loaded.image.entry)


@once_per_image
def _start(image: Image, address: int) -> int | None:
    """Where the function that covers a link-time address begins; one without a size ends where the next begins."""
    functions = [symbol for symbol in image.symbols if symbol.is_function]
    i = bisect_right(functions, address, key=lambda symbol: symbol.address)
    found = functions[i - 1] if i else None
    if found is not None and found.size and address >= found.address + found.size:
        found = image.function_at(address)
    if found is not None and _COLD in found.name:
        found = image.symbol_named(found.name.partition(_COLD)[0])
    return None if found is None else found.address


def _one_cfa(truth: Truth) -> tuple[Words, Bools]:
    """Every instruction that ran, in order, and whether at all its visits SP, or a frame pointer, is equally far from
    the CFA."""
    if truth not in _ONE_CFA:
        trace = truth.trace
        order = np.argsort(trace.pc, kind="stable")
        pcs, first = np.unique(trace.pc[order], return_index=True)
        one = np.zeros(len(pcs), np.bool_)
        for name in (trace.arch.sp, *trace.arch.frame_pointers):
            distance = (truth.activations.cfa[truth.node] - trace.column(name))[order]
            one |= np.minimum.reduceat(distance, first) == np.maximum.reduceat(distance, first)
        _ONE_CFA[truth] = pcs, one
    return _ONE_CFA[truth]


_ONE_CFA: WeakKeyDictionary[Truth, tuple[Words, Bools]] = WeakKeyDictionary()
