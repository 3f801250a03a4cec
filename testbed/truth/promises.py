"""Return addresses that no call made: who hands one over with a jump promises that control comes back there.

``adr x30, back; b f``, ``push back; jmp f``: what lies at the return place when control jumps was put there by no call.
It is put there by kernels that enter a handler with the way out as its return address, by code that pushes several
addresses ahead, by a handler that makes the interrupted function call another one, and by who copies a piece of stack.

A value that lies there means nothing alone. It is a promise if control *arrives* at that address and that belongs to no
call: off the stack, or at what a link register held that no call had made. Such addresses are `Learned.arrived`. Then
every jump that finds one of them at its return place opens an activation, the words above it first where several lie
there; and if none from that jump ever comes back, it was no call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.truth.transfers import Event, Transfers, distinct, history_of, in_code, may_hold, word_at

Addresses = NDArray[np.uint64]
_MOST = 64  # addresses that lie ahead at one jump
_NONE = np.empty(0, np.uint64)


@dataclass(frozen=True, eq=False)
class Promises:
    """Jumps with an address at the return place: the step behind the jump, the address, and SP as if it were pushed."""

    steps: NDArray[np.int64]
    address: Addresses
    sp: Addresses

    def __len__(self) -> int:
        return len(self.steps)


class Links(NamedTuple):
    """Of a link register, in order: the return addresses of calls, and the code addresses that it held at jumps."""

    falls: Addresses
    held: Addresses

    @property
    def made(self) -> frozenset[int]:
        """The addresses that no call made."""
        return frozenset(self.held.tolist()) - frozenset(self.falls.tolist())

    def __or__(self, other: Links) -> Links:
        """Of more steps."""
        return Links(np.union1d(self.falls, other.falls), np.union1d(self.held, other.held))


NO_LINKS = Links(_NONE, _NONE)
NO_PROMISES = Promises(np.empty(0, np.int64), _NONE, _NONE)


def find_promises(transfers: Transfers, arrived: frozenset[int]) -> Promises:
    """The jumps that hand over one of the addresses at which control ``arrived``."""
    trace = transfers.trace
    if not arrived or not len(trace):
        return NO_PROMISES
    jumps = _jumps(transfers)
    wanted = np.array(sorted(arrived), np.uint64)
    if trace.arch.link is None:
        return _pushed(trace, jumps, wanted)
    address = trace.column(trace.arch.link)[jumps] & _bits(trace)
    there = np.isin(address, wanted) & (address != trace.pc[jumps])
    return Promises(jumps[there], address[there], trace.sp[jumps[there]])


def links(transfers: Transfers, steps: slice = slice(None)) -> Links:
    """What calls and jumps in some steps had in the link register."""
    trace = transfers.trace
    if trace.arch.link is None:
        return NO_LINKS
    address = trace.column(trace.arch.link)[steps][(transfers.transfer & ~transfers.call)[steps]] & _bits(trace)
    new = np.ones(len(address), np.bool_)
    new[1:] = address[1:] != address[:-1]
    address = distinct(address[new])
    return Links(distinct(transfers.fall[steps][transfers.call[steps]]), address[in_code(trace, address)])


def events(transfers: Transfers, promises: Promises) -> tuple[Event, ...]:
    """The candidate steps in order, each promise behind its jump."""
    if not len(promises):
        return tuple(transfers.events())
    trace = transfers.trace
    made = [
        Event(step, pc, sp, site, address, before, transfer=False, call=True, drops=False, promise=True)
        for step, pc, sp, site, address, before in zip(
            promises.steps.tolist(),
            trace.pc[promises.steps].tolist(),
            promises.sp.tolist(),
            trace.pc[promises.steps - 1].tolist(),
            promises.address.tolist(),
            trace.sp[promises.steps - 1].tolist(),
            strict=True,
        )
    ]
    return tuple(sorted((*transfers.events(), *made), key=lambda event: event.step))


def _jumps(transfers: Transfers) -> NDArray[np.int64]:
    """The steps behind jumps; a signal's first one is none, nor is an instruction that repeats itself."""
    trace = transfers.trace
    jump = transfers.transfer & ~transfers.call
    jump[1:] &= (trace.sizes[:-1] > 0) & (trace.pc[1:] != trace.pc[:-1])
    return np.flatnonzero(jump)


def _bits(trace: Trace) -> np.uint64:
    return np.uint64(trace.arch.code_mask & ~trace.arch.signature)


def _pushed(trace: Trace, jumps: NDArray[np.int64], wanted: Addresses) -> Promises:
    """Where calls push: the word that SP points at after a jump, and those above it."""
    word, sp = trace.arch.word, trace.sp[jumps]
    may = np.zeros(len(jumps), np.bool_)
    for value in wanted:
        may |= may_hold(trace, sp, np.full(len(sp), value, np.uint64))
    near = jumps[may]
    if not len(near):
        return NO_PROMISES
    ahead = np.uint64(word) * np.arange(_MOST, dtype=np.uint64)
    history = history_of(trace, distinct((trace.sp[near][:, None] + ahead).reshape(-1)))
    known, found = frozenset(wanted.tolist()), []
    for step in near.tolist():
        here = []
        for place in range(int(trace.sp[step]), int(trace.sp[step]) + word * _MOST, word):
            address = word_at(history, place, word, step)
            if address not in known:
                break
            here.append((step, address, place))
        found.extend(reversed(here))
    columns = list(zip(*found, strict=True)) or [(), (), ()]
    return Promises(np.array(columns[0], np.int64), np.array(columns[1], np.uint64), np.array(columns[2], np.uint64))
