"""An assumption evaluated along the true stack, frame by frame: it holds, or fails at one frame by one clause.

A *reading* is a second version of a technique, written from its assumption alone; it shares nothing with the technique.
It finds the caller of frame 0, then, if that was right, that of frame 1, and so on. Each is compared with the truth:
the first difference is the clause that fails, and says what the technique must say there. Many sites are read at once,
in columns.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.contract.assumption import BEHIND, CFA, CLAUSES, END, KIND, MOST, REGISTER, Clause
from testbed.contract.native import ROOT
from testbed.contract.unwinder import Backtrace, Backtraces, FrameKind
from testbed.trace import Snapshot, Trace
from testbed.trace.distinct_rows import distinct_rows
from testbed.truth import TrueFrame, Truth
from testbed.truth.native.near import is_at

Filling = Mapping[str, object]
Numbers = NDArray[np.int64]
Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]
Clauses = NDArray[np.uint8]  # numbers of CLAUSE_OF


@dataclass(frozen=True, slots=True)
class FoundCaller:
    """What a technique comes by at one frame: the caller, and this frame's CFA where it says one.

    ``clause`` is what fails if ``pc`` is not where the caller goes on. ``how`` are the words before the pc, ``by`` what
    gave the rest; either may be a value that is made into words when they are printed. ``registers`` are those that are
    claimed besides pc. ``at`` is where a word of the stack was found.
    """

    pc: int
    clause: Clause
    how: object
    registers: Mapping[str, int] = field(default_factory=dict)
    cfa: int | None = None
    by: object = ""
    kind: FrameKind = FrameKind.CALLER
    at: int | None = None

    def __str__(self) -> str:
        return f"{self.pc:#x}"

    def is_said(self, said: Backtrace, frame: int) -> bool:
        """True where an answer says all of this behind ``frame``."""
        if len(said.frames) <= frame + 1:
            return False
        here, caller = said.frames[frame : frame + 2]
        named = {name: value for name, value in self.registers.items() if caller.registers.get(name) != value}
        return (here.cfa, caller.pc, caller.kind, named) == (self.cfa, self.pc, self.kind, {})


@dataclass(frozen=True, slots=True)
class ForetoldEnd:
    """That a technique comes by no caller at a frame, by which clause: it ``stops``, or claims the root."""

    clause: Clause
    stops: bool
    evidence: Filling = field(default_factory=dict)

    def __str__(self) -> str:
        return "stop" if self.stops else "root"

    def is_said(self, said: Backtrace, frame: int) -> bool:
        """True where an answer ends at ``frame``, in this way."""
        return len(said.frames) == frame + 1 and (said.stopped is not None) is self.stops


@dataclass(frozen=True, slots=True)
class Failed:
    """The frame at which an assumption fails, counted from the innermost, and by which clause.

    ``foretold`` is what the technique must say there; None: that is not known. The evidence is filled into the words of
    the clause.
    """

    frame: int
    clause: Clause
    foretold: FoundCaller | ForetoldEnd | None
    evidence: Filling


NUMBERS: Mapping[Clause, int] = {clause: number for number, clause in enumerate(CLAUSES.values(), 1)}
"""Each clause of any form, as columns number it: 0 is none."""
CLAUSE_OF = ("", *CLAUSES.values())


def promised_of(truth: Truth) -> tuple[Bools, Numbers]:
    """The registers that are the same again for the caller, SP among them.

    A row of all registers by convention, and the row of each activation.
    """
    if truth not in _PROMISED:
        names, sp = truth.trace.arch.index, truth.trace.arch.sp
        conventions, of_activation = truth.conventions
        rows = [[name == sp or name in each.judged for name in names] for each in conventions]
        _PROMISED[truth] = np.array(rows, np.bool_), of_activation
    return _PROMISED[truth]


_PROMISED: WeakKeyDictionary[Truth, tuple[Bools, Numbers]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Sites:
    """Some steps of a run: what a technique is given there, in columns, and the truth about it."""

    truth: Truth
    steps: Numbers

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def trace(self) -> Trace:
        return self.truth.trace

    @property
    def arch(self) -> Arch:
        return self.truth.trace.arch

    def snapshot(self, row: int) -> Snapshot:
        return self.trace.snapshot(int(self.steps[row]))

    @cached_property
    def registers(self) -> Words:
        """All registers of each site."""
        return np.asarray(self.trace.registers)[self.steps]

    def register(self, name: str) -> Words:
        return np.ascontiguousarray(self.registers[:, self.arch.index[name]])

    def words(self, rows: Numbers, addresses: Words, where: Bools, size: int | None = None) -> tuple[Words, Bools]:
        """A word of memory at some sites, or ``size`` bytes, and where it could be read; only what ``where`` asks."""
        values, mapped = np.zeros(len(rows), np.uint64), np.zeros(len(rows), np.bool_)
        asked = np.flatnonzero(where)
        address = addresses[asked] & np.uint64(self.arch.word_mask)
        values[asked], mapped[asked] = self.trace.words.at(self.steps[rows[asked]], address, size)
        return values, mapped


@dataclass(frozen=True, slots=True)
class ToldHow:
    """Of one site what words need besides: see `FoundCaller` and `ForetoldEnd`."""

    how: object = ""
    by: object = ""
    at: int | None = None
    evidence: Filling = field(default_factory=dict)


CALLER, STOPS, CLAIMS = range(3)  # there is a caller; the technique stops, or claims the root


@dataclass(frozen=True, eq=False)
class ComeBy:
    """What a technique comes by at one frame of some sites, in columns: a `FoundCaller` or a `ForetoldEnd` of each.

    ``ends`` says which, ``clause`` numbers CLAUSE_OF. Registers are in the architecture's order.
    """

    ends: NDArray[np.uint8]
    clause: NDArray[np.uint8]
    pc: Words
    values: Words
    known: Bools
    cfa: Words
    cfa_known: Bools
    interrupted: Bools
    tell: Callable[[int], ToldHow]

    def one(self, arch: Arch, row: int) -> FoundCaller | ForetoldEnd:
        """What is come by at one site."""
        clause, told = CLAUSE_OF[self.clause[row]], self.tell(row)
        assert isinstance(clause, Clause)
        if self.ends[row] != CALLER:
            return ForetoldEnd(clause, bool(self.ends[row] == STOPS), told.evidence)
        registers = {name: int(self.values[row, i]) for name, i in arch.index.items() if self.known[row, i]}
        kind = FrameKind.INTERRUPTED if self.interrupted[row] else FrameKind.CALLER
        cfa = int(self.cfa[row]) if self.cfa_known[row] else None
        return FoundCaller(int(self.pc[row]), clause, told.how, registers, cfa, told.by, kind, told.at)


ReadingAlong = Generator[ComeBy, Bools, None]
"""What is come by at frame 0 of all sites; then, of those that it is told to go on with, at frame 1, and so on."""


def found_callers(clause: Clause, sites: Sites, pc: Words, tell: Callable[[int], ToldHow]) -> ComeBy:
    """Callers of which nothing is known but where they go on."""
    many, registers = len(pc), len(sites.arch.index)
    return ComeBy(
        np.full(many, CALLER, np.uint8),
        np.full(many, NUMBERS[clause], np.uint8),
        pc,
        np.zeros((many, registers), np.uint64),
        np.zeros((many, registers), np.bool_),
        np.zeros(many, np.uint64),
        np.zeros(many, np.bool_),
        np.zeros(many, np.bool_),
        tell,
    )


End = tuple[Bools, Clause, bool | Bools, Callable[[int], Filling]]
"""Where a technique ends, by which clause, whether it stops, and the evidence."""


def unless(found: ComeBy, *ends: End) -> ComeBy:
    """What is found, but where it ends: by the first of the clauses that is so."""
    which = np.select([each[0] for each in ends], list(range(len(ends))), -1)
    how, clause = found.ends.copy(), found.clause.copy()
    for i, (_, by, stops, _) in enumerate(ends):
        how[which == i] = np.where(stops, STOPS, CLAIMS)[which == i] if isinstance(stops, np.ndarray) else 2 - stops
        clause[which == i] = NUMBERS[by]

    def tell(row: int) -> ToldHow:
        return found.tell(row) if which[row] < 0 else ToldHow(evidence=ends[which[row]][3](row))

    return replace(found, ends=how, clause=clause, tell=tell)


def either(first: Bools, one: ComeBy, other: ComeBy) -> ComeBy:
    """The one where ``first`` is true, elsewhere the other."""
    wide = first[:, np.newaxis]
    return ComeBy(
        np.where(first, one.ends, other.ends),
        np.where(first, one.clause, other.clause),
        np.where(first, one.pc, other.pc),
        np.where(wide, one.values, other.values),
        np.where(wide, one.known, other.known),
        np.where(first, one.cfa, other.cfa),
        np.where(first, one.cfa_known, other.cfa_known),
        np.where(first, one.interrupted, other.interrupted),
        lambda row: one.tell(row) if first[row] else other.tell(row),
    )


def too_deep(k: Numbers, most: int, *, stops: bool) -> End:
    """The end of a technique that takes so many frames at most, at frame ``k`` of each site."""
    return k + 1 >= most, MOST, stops, lambda row: {"frame": str(k[row]), "most": str(most)}


@dataclass(frozen=True, eq=False)
class Failing:
    """Of each site the frame at which an assumption fails, -1 where it holds; the clause (of CLAUSE_OF), and whether an
    answer says there what that foretells."""

    frame: NDArray[np.int32]
    clause: NDArray[np.uint8]
    foretold: Bools

    @classmethod
    def nowhere(cls, many: int) -> Failing:
        return cls(np.full(many, -1, np.int32), np.zeros(many, np.uint8), np.zeros(many, np.bool_))

    def put(self, where: Numbers | slice, some: Failing) -> None:
        """What is found of some sites."""
        self.frame[where], self.clause[where], self.foretold[where] = some.frame, some.clause, some.foretold


def check_assumption(
    sites: Sites, reading: ReadingAlong, said: Backtraces | None = None, *, once: bool = False
) -> Failing:
    """Where an assumption fails along the true stack of each site; what is ``said`` is held to what that foretells.

    ``once``: of sites that are said the same caller of the same activation, one goes on for all.
    """
    found = Failing.nowhere(len(sites))
    shared = _SharedCallers.of(sites, said) if said is not None and once else None
    for k, rows, come, fails in _along(sites, reading, shared):
        failed = np.flatnonzero(fails)
        found.frame[rows[failed]], found.clause[rows[failed]] = k, fails[failed]
        if said is not None and len(failed):
            found.foretold[rows[failed]] = _are_said(said, sites.steps[rows[failed]], k, come, failed)
    for some, like in reversed(shared.like if shared else ()):
        found.put(some, Failing(found.frame[like], found.clause[like], found.foretold[like]))
    return found


@dataclass(frozen=True, eq=False)
class _SharedCallers:
    """Which sites are said the same caller of the same activation.

    ``node`` has the caller that each site is said at the frame that is asked about next. ``like`` has, frame by frame,
    the sites that went on, and for each of them the one that went on in its place.
    """

    node: NDArray[np.int32]
    outer: NDArray[np.int32]
    like: list[tuple[Numbers, Numbers]]

    @classmethod
    def of(cls, sites: Sites, said: Backtraces) -> _SharedCallers:
        return cls(said.sites.outer[said.site[sites.steps]], said.nodes.outer, [])

    def first(self, rows: Numbers, callers: Numbers) -> Bools:
        """Of some sites, those that go on to the activations ``callers``; the others are like one of them."""
        node = self.node[rows]
        there = node >= 0
        first, place = distinct_rows(np.stack((np.where(there, node, -1 - rows), callers), axis=1))
        self.like.append((rows, rows[first][place]))
        self.node[rows[there]] = self.outer[node[there]]
        go_on = np.zeros(len(rows), np.bool_)
        go_on[first] = True
        return go_on


def all_failed(sites: Sites, reading: ReadingAlong) -> list[Failed | None]:
    """Where an assumption fails at each site, in words; None where it holds at every frame."""
    found: list[Failed | None] = [None] * len(sites)
    for k, rows, come, fails in _along(sites, reading):
        for i in np.flatnonzero(fails).tolist():
            row = int(rows[i])
            found[row] = _in_words(sites, row, k, come.one(sites.arch, i), CLAUSE_OF[fails[i]])
    return found


def _along(
    sites: Sites, reading: ReadingAlong, shared: _SharedCallers | None = None
) -> Iterator[tuple[int, Numbers, ComeBy, NDArray[np.uint8]]]:
    """Frame by frame: its number, the sites that are right so far, what is come by at each, and what fails."""
    rows, index = np.arange(len(sites)), sites.truth.node[sites.steps].astype(np.int64)
    come, k = next(reading), 0
    while True:
        fails = _held_against(sites, index, come)
        yield k, rows, come, fails
        go_on = (fails == 0) & (come.ends == CALLER)
        callers = sites.truth.activations.parent[index].astype(np.int64)
        if shared is not None:
            go_on[go_on] = shared.first(rows[go_on], callers[go_on])
        if not go_on.any():
            return
        rows, index = rows[go_on], callers[go_on]
        come, k = reading.send(go_on), k + 1


def _held_against(sites: Sites, index: Numbers, come: ComeBy) -> NDArray[np.uint8]:
    """The first difference between what is come by at a frame of each site, of activation ``index``, and the truth: the
    gravest first."""
    true = sites.truth.activations
    parent = true.parent[index]
    is_root, interrupted, ends = parent < 0, true.signal[index], come.ends != CALLER
    calling = ~interrupted & ~true.signal[parent]
    lies = np.zeros(len(index), np.bool_)
    for _, differs in _differences(sites, index, come):
        lies |= differs
    later = [np.uint8(NUMBERS[each]) for each in (KIND, BEHIND, CFA, REGISTER)]
    fails: NDArray[np.uint8] = np.select(
        [
            ends & is_root & (come.ends == CLAIMS),
            ends,
            is_root,
            ~are_at(sites.truth, index, come.pc),
            interrupted & ~come.interrupted,
            calling & come.interrupted,
            come.cfa_known & (come.cfa != true.cfa[index]),
            lies,
        ],
        [np.uint8(0), come.clause, np.uint8(NUMBERS[END]), come.clause, *later],
        np.uint8(0),
    )
    return fails


def are_at(truth: Truth, index: Numbers, pcs: Words) -> Bools:
    """Which pcs are right answers to where the callers of activations go on: as `TrueFrame.is_at` of each."""
    right: Bools = is_at(pcs, truth.activations.return_address[index], truth.activations.goes_on[index])
    return right


def _differences(sites: Sites, index: Numbers, come: ComeBy) -> Iterator[tuple[str, Bools]]:
    """Each register with a true value that something is said of, and where that is false: of a caller those that its
    callee promises, of a frame that a signal interrupted every one."""
    true, arch = sites.truth.activations, sites.arch
    promised, code = promised_of(sites.truth)
    for name, column in arch.index.items():
        known = come.known[:, column]
        if name in (arch.pc, arch.flags) or not known.any():
            continue
        judged = known & (true.parent[index] >= 0) & (true.signal[index] | promised[code[index], column])
        yield name, judged & (come.values[:, column] != _true_value(sites, index, name))


def _true_value(sites: Sites, index: Numbers, name: str) -> Words:
    """A register of the frame that each activation comes back to."""
    true = sites.truth.activations
    if name == sites.arch.sp:
        return true.cfa[index]
    values: Words = sites.trace.column(name)[true.opened[index] - true.signal[index]]
    return values


def _in_words(sites: Sites, row: int, k: int, come: FoundCaller | ForetoldEnd, clause: Clause | str) -> Failed:
    """A clause that fails, with its evidence."""
    assert isinstance(clause, Clause)
    frames = sites.truth.stack(int(sites.steps[row])).frames
    here, caller = frames[k], frames[k + 1] if k + 1 < len(frames) else None
    known: dict[str, object] = {"here": here.pc}
    if caller is not None:
        known["true"] = caller.pc if caller.goes_on is None else caller.goes_on
    if isinstance(come, ForetoldEnd):
        return Failed(k, clause, come, known | dict(come.evidence))
    known |= {"how": come.how, "by": come.by, "found": come.pc}
    if clause is CFA:
        known |= {"found": come.cfa, "true": here.cfa}
    if clause is REGISTER and caller is not None:
        name = first_false(sites.arch, caller, come.registers)
        known |= {"register": name, "found": come.registers[name], "true": caller.registers[name]}
    return Failed(k, clause, come, known)


def first_false(arch: Arch, true: TrueFrame, claimed: Mapping[str, int]) -> str:
    """The first register with a false value: of a caller the truth knows those that a call preserves."""
    return next(
        name
        for name, value in true.registers.items()
        if name not in (arch.pc, arch.flags) and claimed.get(name, value) != value
    )


def _are_said(said: Backtraces, steps: Numbers, k: int, come: ComeBy, rows: Numbers) -> Bools:
    """Where answers say behind frame ``k`` what is come by at some rows: as `is_said` of each."""
    nodes, first = said.nodes, said.site[steps]
    here, node = np.full(len(steps), _NOBODY), said.sites.outer[first].astype(np.int64)
    for _ in range(k):
        here, node = node, np.where(node >= 0, nodes.outer[np.maximum(node, 0)], _NOBODY) if len(nodes) else node
    is_there = (node != _NOBODY) & (k < max(said.most_frames, 1))
    has_caller = is_there & (node >= 0) & (k + 1 < said.most_frames)
    ends = come.ends[rows]
    ended = is_there & ~has_caller & ((node != ROOT) == (ends == STOPS))
    if not has_caller.any():
        none: Bools = ended & (ends != CALLER)
        return none
    node, here = np.maximum(node, 0), np.maximum(here, 0)
    cfa, cfa_known = (
        (said.sites.cfa[first], said.sites.cfa_known[first]) if not k else (nodes.cfa[here], nodes.cfa_known[here])
    )
    same: Bools = has_caller & (nodes.pc[node] == come.pc[rows]) & ~come.interrupted[rows]
    same &= (cfa_known == come.cfa_known[rows]) & (~cfa_known | (cfa == come.cfa[rows]))
    for name, column in said.trace.arch.index.items():
        known = come.known[rows, column]
        if name in said.registers and known.any():
            i = said.registers.index(name)
            is_known = nodes.known[node] >> np.uint64(i) & np.uint64(1) != 0
            same &= ~known | is_known & (nodes.values[node, i] == come.values[rows, column])
        elif name != said.trace.arch.pc:
            same &= ~known
    same[ends != CALLER] = ended[ends != CALLER]
    return same


_NOBODY = -(1 << 30)  # as a link: the answer ended further in
