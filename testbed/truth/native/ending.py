"""What the end of a run, or of a piece of it, says: which reading each row has."""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.native.compiled import compiled
from testbed.truth.native.stacks import belongs, slot
from testbed.truth.native.state import (
    ALIVE,
    AWAY,
    BACK,
    CALL,
    CFA,
    ELSEWHERE,
    ENDED,
    KEPT,
    KIND,
    LATE,
    LOST,
    PARENT,
    PROMISE,
    READ,
    RECORD,
    RETURN,
    RETURNED,
    SECOND,
    TARGET,
    USED,
)


@compiled()
def index_places(state: Any) -> None:
    """Fill the table: of those with one place the one that was opened last."""
    for index in range(state.now[USED]):
        if state.addresses[index, RETURN] != 0:
            state.table[slot(state.addresses[index, RETURN], state.addresses[index, CFA], state)] = index


@compiled()
def settle(state: Any, doubt: Any) -> None:
    """Give each row its last reading, and mark those in doubt.

    A promise that nobody came back to was none; in doubt, unless a call goes to its address. A return that may
    have been a jump is in doubt as long as nobody has returned who went on behind it.
    """
    links, marks = state.links, state.marks
    for index in range(state.now[USED]):
        kind, first = links[index, KIND], links[index, READ]
        doubt[index] = marks[index, ELSEWHERE] or marks[index, LATE]
        if kind == PROMISE and not marks[index, RETURNED] and first < 0:
            links[index, READ] = links[index, PARENT]
            doubt[index] = doubt[index] or not _is_called(state.addresses[index, RETURN], state)
        elif kind in (ENDED, BACK, AWAY):
            is_last = kind != AWAY and first >= 0 and links[first, RECORD] == index
            gone = kind == ENDED and first != links[index, SECOND] and not marks[first, RETURNED]
            doubt[index] = doubt[index] or (is_last and (marks[first, ALIVE] or gone)) or marks[index, KEPT]


@compiled()
def _is_called(address: Any, state: Any) -> Any:
    """Did a call go to an address?"""
    for index in range(state.now[USED]):
        if state.links[index, KIND] == CALL and state.addresses[index, TARGET] == address:
            return True
    return False


@compiled()
def resolve(state: Any, whose: Any, doubt: Any) -> None:
    """The activation that each row's steps belong to; who is called in doubt is in doubt."""
    for index in range(state.now[USED]):
        whose[index] = belongs(np.int64(index), state)
    for index in range(state.now[USED]):
        outer = state.links[index, PARENT]
        if outer >= 0 and (doubt[outer] or doubt[whose[outer]]):
            doubt[index] = True
    for index in range(state.now[USED]):
        doubt[index] = doubt[index] or doubt[whose[index]]


@compiled()
def mark_needed(keep: Any, state: Any) -> Any:
    """Mark what the marked rows refer to; true where anything was new."""
    more = False
    for index in range(state.now[USED] - 1, -1, -1):
        if keep[index]:
            for column in (PARENT, READ, SECOND, RECORD, LOST):
                other = state.links[index, column]
                if other >= 0 and not keep[other]:
                    keep[other], more = True, True
    return more


@compiled()
def mark_callers(marked: Any, parent: Any) -> None:
    """Mark all callers of those that are marked; a caller comes before what it called."""
    for index in range(len(marked) - 1, -1, -1):
        if marked[index] and parent[index] >= 0:
            marked[parent[index]] = True
