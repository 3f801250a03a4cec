"""Control followed through a trace, or through one piece of it after the other: which activation executes each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.native.compiled import native
from testbed.trace import Trace
from testbed.trace.flat.memory import memory_of
from testbed.truth.events import COMPUTES_PC, Bools, Ints, Transfers, Words, code_of, find_transfers
from testbed.truth.model import Activations
from testbed.truth.native import state as names
from testbed.truth.native.ending import index_places, mark_needed, resolve, settle
from testbed.truth.native.rules import follow
from testbed.truth.native.stacks import region_of
from testbed.truth.native.state import Events, Log, Setting, State
from testbed.truth.native.switches import SPARE

BOUND = 1 << 20  # steps: what is read in another way later than this is undecided
NATIVE_FROM = 100_000  # steps; below that, loading compiled code costs more than it saves
_REFERENCES = [names.PARENT, names.READ, names.SECOND, names.RECORD, names.LOST]
_KEPT = [names.INNERMOST, names.GIVEN, names.WAY, names.OVER]


class RowReading(NamedTuple):
    """What is known of a row, by the number of the activation that its steps belong to if that is another one (-1):
    is that in doubt, and was the jump that opened it none?"""

    whose: int
    doubt: bool
    none: bool


_NO_READINGS: Mapping[int, RowReading] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class FollowedRows:
    """All rows at the end of some steps, read: ``whose[i]`` is the activation that row ``i`` stands for, ``none[i]``:
    the jump that opened it was none."""

    state: State
    whose: Ints = field(repr=False)
    doubt: Bools = field(repr=False)
    none: Bools = field(repr=False)
    parent: Ints = field(repr=False)
    returns: Words = field(repr=False)
    cfa: Words = field(repr=False)
    changes: Ints = field(repr=False)
    nodes: Ints = field(repr=False)
    jumps: tuple[tuple[int, int], ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.whose)

    def column(self, name: int) -> Any:
        """A column of links."""
        return self.state.links[: len(self), name]

    def addresses(self, name: int) -> Words:
        """A column of addresses."""
        return self.state.addresses[: len(self), name]

    def marked(self, name: int) -> Bools:
        """A column of marks."""
        return self.state.marks[: len(self), name]

    def given(self, end: int) -> Ints:
        """The row that each step is given to, up to ``end``."""
        return np.repeat(self.nodes, np.diff(np.append(self.changes, end)))

    def readings(self) -> dict[int, RowReading]:
        """Of the rows that a later step may read in another way."""
        kind, read, serial = (self.column(name) for name in (names.KIND, names.READ, names.SERIAL))
        open_ones = np.flatnonzero(((kind != names.CALL) & (kind != names.SIGNAL)) | self.marked(names.LATE))
        return {
            int(serial[i]): RowReading(
                int(serial[read[i]]) if read[i] >= 0 else -1, bool(self.doubt[i]), bool(self.none[i])
            )
            for i in open_ones.tolist()
        }

    def activations(self, chosen: Ints, number: NDArray[np.int32], opened: Ints, goes_on: Words) -> Activations:
        """Some activations and all their callers, under new numbers."""
        parent, inner = self.parent[chosen], self.parent[chosen] >= 0
        return Activations(
            np.where(inner, number[parent], np.int32(-1)),
            self.returns[chosen],
            self.cfa[chosen],
            self.addresses(names.ENTRY)[chosen],
            opened,
            np.where(inner, goes_on, np.uint64(0)),
            self.column(names.KIND)[chosen] == names.SIGNAL,
        )


@dataclass(frozen=True, eq=False)
class Path:
    """What was followed: who called whom, who executes each step, which steps are undecided; and the rows of all that
    (of no steps: None)."""

    activations: Activations
    node: NDArray[np.int32]
    undecided: Bools = field(repr=False)
    found: FollowedRows | None = field(repr=False)


def setting_of(trace: Trace, first: int = 0) -> Setting:
    """What the rules know of a machine; the first row is step ``first``."""
    arch = trace.arch
    regions = sorted((region.address, region.end) for region in trace.initial)
    starts, ends = np.array(regions, np.uint64).reshape(-1, 2).T.copy()
    low, high = np.array(sorted(code_of(trace)), np.uint64).reshape(-1, 2).T.copy()
    others = {arch.pc, arch.sp, arch.flags}
    return Setting(
        starts,
        ends,
        low,
        high,
        np.int64(arch.word),
        np.uint64(arch.entry_cfa),
        np.ascontiguousarray(trace.registers),
        np.array([arch.index[r.name] for r in arch.registers if r.name not in others], np.int64),
        np.int64(arch.index[arch.link] if arch.link else -1),
        np.uint64(arch.code_mask & ~arch.signature),
        np.uint64(arch.word if COMPUTES_PC[arch.name] else 0),
        np.int64(first),
        np.int64(BOUND),
    )


def state_at_start(trace: Trace) -> State:
    """Before anything was called: the bottom of the first stack."""
    sp, machine = trace.sp[0], setting_of(trace)
    links = np.full((1, names.LINKS), -1, np.int64)
    links[0, [names.STACK, names.OPENED, names.KIND, names.SERIAL]] = 0, 0, names.BOTTOM, 0
    addresses = np.zeros((1, names.ADDRESSES), np.uint64)
    addresses[0, names.ENTRY] = sp
    marks = np.zeros((1, names.MARKS), np.bool_)
    marks[0, names.ALIVE] = True
    now = np.zeros(names.NOW, np.int64)
    now[[names.USED, names.STACKS, names.MADE_ROWS, names.WAY, names.OVER]] = 1, 1, 1, -1, -1
    link = machine.registers[0, machine.link] & machine.mask if machine.link >= 0 else np.uint64(0)
    owners = np.array([[native(region_of, when=False)(sp, machine), 0]], np.int64)
    last, table = np.array([sp, link], np.uint64), np.empty(0, np.int64)
    return State(links, addresses, marks, np.array([[sp, sp]], np.uint64), owners, table, now, last)


def with_room(state: State, more: int, *, natively: bool) -> State:
    """The same state with room for more rows."""
    used, stacks = int(state.now[names.USED]), int(state.now[names.STACKS])
    size = 1 << (2 * (used + more)).bit_length()

    def longer(column: Any, rows: int) -> Any:
        out = np.empty((rows + more, column.shape[1]), column.dtype)
        out[:rows] = column[:rows]
        return out

    links, addresses, marks = (longer(column, used) for column in (state.links, state.addresses, state.marks))
    spans, owners = (longer(column, stacks) for column in (state.spans, state.owners))
    table = np.full(size, -1, np.int64)
    out = State(links, addresses, marks, spans, owners, table, state.now.copy(), state.last.copy())
    native(index_places, when=natively)(out)
    return out


def go_on(
    trace: Trace, before: State, events: Events, first: int = 0, start: int = 0, *, natively: bool
) -> tuple[State, Log]:
    """Follow control through more events, from row ``start`` on, of a trace whose first row is step ``first``."""
    room = len(events.row) + 4 * SPARE
    state, machine = with_room(before, room, natively=natively), setting_of(trace, first)
    memory, journal = memory_of(trace)
    log = Log(np.empty(room, np.int64), np.empty(room, np.int64), np.empty((room, 3), np.int64))
    log.change_rows[0], log.change_nodes[0] = start, state.now[names.GIVEN]
    state.now[[names.NEXT, names.CHANGES, names.JUMPS]] = 0, 1, 0
    while not native(follow, when=natively)(events, state, log, machine, memory, journal):
        room = 2 * room + 4096
        state = with_room(state, room, natively=natively)
    changes, jumps = state.now[[names.CHANGES, names.JUMPS]]
    return state, Log(log.change_rows[:changes], log.change_nodes[:changes], log.jumps[:jumps])


def read(state: State, log: Log, later: Mapping[int, RowReading] = _NO_READINGS, *, natively: bool) -> FollowedRows:
    """All rows as they are read at the end; ``later`` is what the rest of the run says of them."""
    used = int(state.now[names.USED])
    mine = state._replace(links=state.links.copy())
    doubt, whose, none = np.zeros(used, np.bool_), np.empty(used, np.int64), mine.links[:used, names.KIND] == names.AWAY
    native(settle, when=natively)(mine, doubt)
    if later:
        serial = mine.links[:used, names.SERIAL]
        numbers = np.fromiter(later, np.int64)
        rows = np.minimum(np.searchsorted(serial, numbers), used - 1)
        for row, number in zip(rows.tolist(), numbers.tolist(), strict=True):
            if serial[row] == number:
                reading = later[number]
                at = int(np.searchsorted(serial, reading.whose)) if reading.whose >= 0 else -1
                mine.links[row, names.READ], doubt[row], none[row] = at, reading.doubt, reading.none
    native(resolve, when=natively)(mine, whose, doubt)
    parent = mine.links[:used, names.PARENT]
    parent = np.where(parent >= 0, whose[parent], -1)
    returns, cfa = (np.where(parent >= 0, mine.addresses[:used, i], np.uint64(0)) for i in (names.RETURN, names.CFA))
    jumps = tuple((row, int(whose[node])) for row, node, record in log.jumps.tolist() if record < 0 or not none[record])
    return FollowedRows(mine, whose, doubt, none, parent, returns, cfa, log.change_rows, log.change_nodes, jumps)


def forget(state: State, *, natively: bool) -> tuple[State, Ints]:
    """Without the rows that are over and that nothing can come back to; and the numbers of those that stay.

    What stays: whoever is alive, whoever was opened last of those that come back to one place, and what these refer to.
    """
    used, stacks = int(state.now[names.USED]), int(state.now[names.STACKS])
    keep = state.marks[:used, names.ALIVE].copy()
    keep[state.table[state.table >= 0]] = True
    keep[[at for at in (*state.now[_KEPT].tolist(), *state.owners[:stacks, names.TOP].tolist()) if at >= 0]] = True
    while native(mark_needed, when=natively)(keep, state):
        pass
    stays = np.flatnonzero(keep)
    number = np.full(used + 1, -1, np.int64)  # the last place is for -1
    number[stays] = np.arange(len(stays))
    links, owners, now = state.links[stays], state.owners[:stacks].copy(), state.now.copy()
    links[:, _REFERENCES] = number[links[:, _REFERENCES]]
    owners[:, names.TOP] = number[owners[:, names.TOP]]
    now[_KEPT] = number[now[_KEPT]]
    now[names.USED] = len(stays)
    rows = (links, state.addresses[stays], state.marks[stays])
    return State(*rows, state.spans[:stacks].copy(), owners, state.table[:0], now, state.last.copy()), stays


def path_of(trace: Trace, transfers: Transfers | None = None, natively: bool | None = None) -> Path:
    """The activation of every step. ``natively`` None: where the trace is long."""
    natively = len(trace) >= NATIVE_FROM if natively is None else natively
    if not len(trace):
        return Path(Activations.of(()), np.empty(0, np.int32), np.empty(0, np.bool_), None)
    events = (transfers or find_transfers(trace)).events()
    state, log = go_on(trace, state_at_start(trace), events, natively=natively)
    found = read(state, log, natively=natively)
    whose = found.whose
    chosen = np.flatnonzero(whose == np.arange(len(found)))
    number = np.full(len(found), -1, np.int32)
    number[chosen] = np.arange(len(chosen))
    opened, goes_on = found.column(names.OPENED)[chosen], found.addresses(names.GOES_ON)[chosen]
    given = found.given(len(trace))
    return Path(found.activations(chosen, number, opened, goes_on), number[whose[given]], found.doubt[given], found)
