"""What is true at an instruction over all its visits: the rows that a table should have.

Of every visit, the CFA is some distance from SP and from frame pointers, and each of the caller's registers is in its
register still, or in a slot of the frame, or neither. What holds at *every* visit can stand in a row. `merged` joins
what several traces show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.checks.native.codes import CallerColumns
from testbed.checks.row_checks import RowChecks
from testbed.checks.row_columns import caller_columns
from testbed.contract.rows import AtRegister, Offset, RegisterPlus, RowTable
from testbed.conventions import platform
from testbed.truth import Truth
from testbed.truth.events import Bools
from testbed.truth.native.near import is_at
from testbed.words.errors import UnreadableMemory

_MOST_SLOTS = 2048  # words at either end of a frame that are searched for a saved register
_MOST_PLACES = 32  # of one register, at one instruction
_FEW_PLACES = 4  # a register that was put away is in one, or in two
_ABOVE = 16  # the same of one that lies in the caller's
_Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class TruePlace:
    """Where a caller's register is at every visit: still in the register, at ``CFA + offset``, in other registers.

    ``copied``: the frame has it, perhaps elsewhere at each visit. ``back``: it is in the register again, in an
    activation that had changed it.
    """

    in_place: bool
    offsets: frozenset[int] = frozenset()
    registers: frozenset[str] = frozenset()
    copied: bool = False
    back: bool = False

    @property
    def kept(self) -> bool:
        """Is it in the register still, or in the function's frame?"""
        return self.in_place or any(offset < 0 for offset in self.offsets)

    @property
    def wanders(self) -> bool:
        """Is it in the frame, and no constant says where?"""
        return self.copied and not any(offset < 0 for offset in self.offsets)

    @property
    def vague(self) -> bool:
        """Is it in so many places that none says anything, as zero is?"""
        return not self.in_place and len(self.offsets) > _FEW_PLACES

    def __and__(self, other: TruePlace) -> TruePlace:
        return TruePlace(
            self.in_place and other.in_place,
            self.offsets & other.offsets,
            self.registers & other.registers,
            self.copied and other.copied,
            self.in_place and other.in_place and (self.back or other.back),
        )


@dataclass(frozen=True, slots=True)
class ObservedRow:
    """What holds at every visit of one link-time pc.

    ``cfa`` maps a register to ``CFA - register``, where that is the same every time. ``places`` has the caller's
    registers; the return address is the one under its own register's name. ``signed`` is None where it differs,
    and where it is signed with another value than the CFA.
    ``called`` of the ``visits`` are those of an activation that some instruction called: of the others, nothing is
    known but that nobody did. ``stack`` is ``CFA - SP`` at the first visit. ``outermost``: a frame pointer is zero.
    ``sized``: it was the same at all, though SP was moved by what is no constant.
    """

    pc: int
    visits: int
    called: int
    cfa: Mapping[str, int] = field(default_factory=dict)
    places: Mapping[str, TruePlace] = field(default_factory=dict)
    signed: bool | None = None
    stack: int | None = None
    outermost: bool = False
    returns: bool = False
    sized: bool = False


def merged(parts: Iterable[Mapping[int, ObservedRow]]) -> dict[int, ObservedRow]:
    """What holds in several traces."""
    found: dict[int, ObservedRow] = {}
    for part in parts:
        for pc, row in part.items():
            found[pc] = _both(found[pc], row) if pc in found else row
    return found


def _both(a: ObservedRow, b: ObservedRow) -> ObservedRow:
    visits, called = a.visits + b.visits, a.called + b.called
    if not a.called or not b.called:
        known = a if a.called else b
        return replace(known, visits=visits, called=called, returns=a.returns or b.returns)
    cfa = {name: offset for name, offset in a.cfa.items() if b.cfa.get(name) == offset}
    places = {name: place & b.places[name] for name, place in a.places.items() if name in b.places}
    signed = a.signed if a.signed == b.signed else None
    outermost = a.outermost and b.outermost
    returns, sized = a.returns or b.returns, a.sized and b.sized and a.stack == b.stack
    return ObservedRow(a.pc, visits, called, cfa, places, signed, a.stack, outermost, returns, sized)


def true_rows(
    watched: Truth, checks: RowChecks, table: RowTable, pcs: Collection[int], sized: Bools | None = None
) -> dict[int, ObservedRow]:
    """What holds at some pcs at all the visits that were compared; in the link register, when a call has been made.

    At ``sized`` steps SP has no constant distance from the CFA, though it is the same at all of them.

    Also looked at are the slots that the table's rows for these pcs name, and any register as the CFA's.
    """
    asked = np.array(sorted(pcs), np.uint64)
    steps = np.flatnonzero(checks.compared & np.isin(checks.pc, asked))
    if not len(steps):
        return {}
    steps = steps[np.argsort(checks.pc[steps], kind="stable")]
    called = (watched.activations.parent >= 0)[watched.node[steps]]
    numbers, starts, counts = np.unique(checks.pc[steps], return_index=True, return_counts=True)
    found = {}
    known = np.flatnonzero(called)
    facts = _facts(watched, checks.pc, steps[known], table) if len(known) else {}
    for pc, start, count in zip(numbers.tolist(), starts.tolist(), counts.tolist(), strict=True):
        its = steps[start : start + count]
        found[pc] = ObservedRow(pc, count, int(called[start : start + count].sum()), *facts.get(pc, ()))
        if _return(watched, its).any():
            found[pc] = replace(found[pc], returns=True)
        if sized is not None and sized[its].any():
            fixed = {name: offset for name, offset in found[pc].cfa.items() if name != watched.trace.arch.sp}
            found[pc] = replace(found[pc], cfa=fixed, sized=fixed != found[pc].cfa)
    return found


def _return(watched: Truth, steps: NDArray[np.int64]) -> Bools:
    """Whether each step leads back to where its activation was called."""
    node, after = watched.node[steps], np.minimum(steps + 1, len(watched.trace) - 1)
    returns = watched.trace.pc[after] == watched.activations.return_address[node]
    back: Bools = returns & (watched.node[after] == watched.activations.parent[node])
    return back


def _call(truth: CallerColumns, steps: NDArray[np.int64]) -> Bools:
    """Whether each step calls: an activation begins with the next one."""
    begun = truth.node[np.minimum(steps + 1, len(truth.node) - 1)]
    called: Bools = (truth.own[begun] == steps + 1) & (truth.parent[begun] == truth.node[steps])
    return called


_OTHERWISE = 2  # signed with another value than the CFA
_Facts = tuple[Mapping[str, int], Mapping[str, TruePlace], bool | None, int, bool]


def _as_left(truth: CallerColumns, steps: NDArray[np.int64], arch: Arch) -> NDArray[np.int64]:
    """The steps at which memory is as a row finds it: of a call that pushes, when it has been made."""
    return steps + (_call(truth, steps) if arch.link is None else 0)


def _facts(watched: Truth, pc: _Words, steps: NDArray[np.int64], table: RowTable) -> dict[int, _Facts]:
    """The facts of each pc, from visits of called activations in the order of their pcs."""
    trace = watched.trace
    arch, node = trace.arch, watched.node[steps]
    cfa, here = watched.activations.cfa[node], pc[steps]
    pcs, starts = np.unique(here, return_index=True)
    bases, slots = _named(table, pcs.tolist(), arch)
    distances = {}
    for name in bases:
        distance = (cfa - trace.column(name)[steps]) & np.uint64(arch.word_mask)
        low, high = np.minimum.reduceat(distance, starts), np.maximum.reduceat(distance, starts)
        distances[name] = low == high, _signed(low, arch)
    truth = caller_columns(watched)
    least, most = (part.reduceat(truth.signed[steps], starts) for part in (np.minimum, np.maximum))
    stack = _signed((cfa - trace.sp[steps])[starts] & np.uint64(arch.word_mask), arch)
    pointers = np.stack([np.maximum.reduceat(trace.column(name)[steps], starts) for name in arch.frame_pointers])
    zero = (pointers == 0).any(axis=0)
    left = _as_left(truth, steps, arch)
    stacks = [_frame_words(watched, int(step), int(cfa[i])) for step, i in zip(left[starts], starts, strict=True)]
    places = {name: _places(watched, truth, steps, starts, stacks, name, slots[name]) for name in slots}
    return {
        number: (
            {name: int(distance[i]) for name, (same, distance) in distances.items() if same[i]},
            {name: its[i] for name, its in places.items()},
            bool(most[i]) if least[i] == most[i] < _OTHERWISE else None,
            int(stack[i]),
            bool(zero[i]),
        )
        for i, number in enumerate(pcs.tolist())
    }


def _signed(values: _Words, arch: Arch) -> NDArray[np.int64]:
    shift = np.int64(64 - 8 * arch.word)
    return (values.astype(np.int64) << shift) >> shift


def _named(table: RowTable, pcs: list[int], arch: Arch) -> tuple[list[str], dict[str, set[int]]]:
    """The registers that a CFA is counted from, and for each of the caller's registers the slots that rows name."""
    rows = {id(row): row for row in map(table.at, pcs) if row is not None}
    bases = [row.cfa.register for row in rows.values() if isinstance(row.cfa, AtRegister | RegisterPlus)]
    slots: dict[str, set[int]] = {name: set() for name in (*platform(arch).preserved, arch.return_address)}
    for row in rows.values():
        slots.setdefault(row.return_address, set())
        for name, rule in row.registers.items():
            if name in arch.by_name:
                slots.setdefault(name, set()).update({rule.offset} if isinstance(rule, Offset) else ())
    slots.pop(arch.sp, None)
    bases = list(dict.fromkeys((arch.sp, *arch.frame_pointers, *bases, *_general(arch))))
    return [name for name in bases if name in arch.index], slots


def _general(arch: Arch) -> list[str]:
    return [each.name for each in arch.registers if each.bits == 8 * arch.word and each.name != arch.pc]


# Words of memory, how far the first is from the CFA, and which the activation has written: others are left over.
_FrameSlots = tuple[int, _Words, Bools]


def _frame_words(watched: Truth, step: int, cfa: int) -> _FrameSlots:
    """The words of the innermost frame at a step, and of what a function may use below it."""
    trace = watched.trace
    arch, memory, sp = trace.arch, trace.memory(step), int(trace.sp[step])
    high = cfa if sp <= cfa else sp + _ABOVE * arch.word
    low = high - min(high - sp + platform(arch).red_zone, 2 * _MOST_SLOTS * arch.word) // arch.word * arch.word
    kind = np.dtype(f"<u{arch.word}")
    for start in (low, sp + (high - sp) % arch.word):
        try:
            end = min(high, memory.mapped_until(start))
            words = np.frombuffer(memory.read(start, (end - start) // arch.word * arch.word), kind)
            return start - cfa, words.astype(np.uint64), _written(watched, step, start, len(words))
        except UnreadableMemory:
            continue
    return 0, np.empty(0, np.uint64), np.empty(0, np.bool_)


def _written(watched: Truth, step: int, start: int, count: int) -> Bools:
    """Which of some words from an address on were written since the innermost activation began, or are its caller's."""
    journal, word = watched.trace.writes, watched.trace.arch.word
    index = int(watched.node[step])
    first, end = np.searchsorted(journal.step, [int(watched.activations.opened[index]), step])
    address, size = journal.address[first:end].astype(np.int64) - start, journal.size[first:end].astype(np.int64)
    found = np.zeros(count, np.bool_)
    for at in (address, address + size - 1):
        found[at[(at >= 0) & (at < count * word)] // word] = True
    cfa = int(watched.activations.cfa[index]) - start
    found[max(cfa, 0) // word :] = True  # the caller's
    if watched.trace.arch.link is None and 0 < cfa <= count * word:
        found[cfa // word - 1] = True  # the call's
    return found


class _TrueValues:
    """One of the caller's registers at some steps: what it is, and whether a value is that."""

    def __init__(self, watched: Truth, truth: CallerColumns, steps: NDArray[np.int64], name: str) -> None:
        trace, activations, node = watched.trace, watched.activations, watched.node[steps]
        arch = trace.arch
        self.is_return = name in (arch.return_address, arch.link, arch.pc)
        self.size = arch.word if self.is_return else arch.by_name[name].bits // 8
        self.address = np.uint64(arch.code_mask & ~arch.signature)
        self.on = activations.goes_on[node]
        if self.is_return:
            self.true = activations.return_address[node]
        else:
            at_call = truth.own[node] if name in platform(arch).preserved else truth.entered[steps]
            self.true = trace.registers[at_call, arch.index[name]]

    def are(self, values: _Words, visits: NDArray[np.int64]) -> Bools:
        """Whether values are right at visits, which are places among the steps."""
        true = self.true[visits]
        right: Bools = is_at(values & self.address, true, self.on[visits]) if self.is_return else values == true
        return right


def _places(
    watched: Truth,
    truth: CallerColumns,
    steps: NDArray[np.int64],
    starts: NDArray[np.int64],
    frames: list[_FrameSlots],
    name: str,
    slots: Collection[int],
) -> list[TruePlace]:
    """Where one of the caller's registers is, for each group of steps."""
    trace, true = watched.trace, _TrueValues(watched, truth, steps, name)
    cfa, every = watched.activations.cfa[watched.node[steps]], np.arange(len(steps))
    left = _as_left(truth, steps, trace.arch)
    still = np.zeros(len(steps), np.bool_) if name == trace.arch.pc else true.are(trace.column(name)[steps], every)
    if name == trace.arch.link:
        still &= ~_call(truth, steps)
    in_place = np.logical_and.reduceat(still, starts)
    first, node = np.full(len(watched.activations), len(trace)), watched.node[steps]
    np.minimum.at(first, node[~still], steps[~still])
    back = in_place & np.logical_or.reduceat(first[node] < steps, starts)
    others = [other for other in _general(trace.arch) if other not in (name, trace.arch.sp)]
    in_others = {each: np.logical_and.reduceat(true.are(trace.column(each)[steps], every), starts) for each in others}
    found = []
    for i, (start, end) in enumerate(zip(starts.tolist(), [*starts[1:].tolist(), len(steps)], strict=True)):
        low, words, written = frames[i]
        if true.size > trace.arch.word:
            words = words[:-1] | words[1:] << np.uint64(8 * trace.arch.word)
            written = written[:-1] & written[1:]
        right = np.flatnonzero(true.are(words, np.full(len(words), start)) & written)
        # Those nearest to the CFA: a register that is zero is in many places.
        offsets = (low + right * trace.arch.word)[-_MOST_PLACES:]
        keep = np.array(sorted({*offsets.tolist(), *slots}), np.int64)
        # The last visit leaves few of them.
        for visited in (np.arange(end - 1, end), np.arange(start, end - 1)):
            visits = np.repeat(visited, len(keep))
            if len(visits):
                values, mapped = _loaded(watched, left[visits], cfa[visits], np.tile(keep, len(visited)), true.size)
                keep = keep[(mapped & true.are(values, visits)).reshape(-1, len(keep)).all(axis=0)]
        registers = frozenset(other for other, its in in_others.items() if its[i])
        copied = bool((low + right * trace.arch.word >= int(trace.sp[left[start]]) - int(cfa[start])).any())
        found.append(TruePlace(bool(in_place[i]), frozenset(keep.tolist()), registers, copied, bool(back[i])))
    return found


def _loaded(
    watched: Truth, steps: NDArray[np.int64], cfa: _Words, offsets: NDArray[np.int64], size: int
) -> tuple[_Words, Bools]:
    """The values at ``CFA + offset`` at steps, and whether they are mapped."""
    addresses = (cfa + offsets.astype(np.uint64)) & np.uint64(watched.trace.arch.word_mask)
    return watched.trace.words.at(steps, addresses, size)
