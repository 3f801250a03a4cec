"""Follow control through a trace: which activation executes each step.

The rules, at a transfer to ``(pc, SP)`` while ``top`` is the innermost activation:

0. a signal opens two: its trampoline, which the handler returns to, and the handler;
1. the effect of a call opens an activation;
2. ``(pc, SP) = (top.return_address, top.cfa)``: it is over, whatever instruction did that;
3. ``(pc, SP)`` is where some call of a living activation comes back to: ``longjmp`` if that one is on this
   stack, a switch of stacks if it is not;
4. ``SP`` is on no stack of this chain, or above its bottom: a fresh stack, with a bottom of its own;
5. ``SP`` above ``top.entry_sp``: it comes back to a call of a dead activation whose parent lives (a function
   that returns twice: it lives again), else a landing pad: the activations below ``SP`` are gone;
6. anything else is a jump or a tail call: nothing changes.

Two things cannot be seen when they happen, only afterwards: a ``bl`` used as a jump has every effect of a call,
and so has ``adr lr, table; ldr pc, [lr, ...]`` where ``table`` follows. So a *call site* is disbelieved when
nothing it opened ever came back, and something it opened was thrown away by its own parent's ordinary return;
then the trace is followed again without it. Where calls push, that is asked only of calls to the next address:
a word left on the stack would spoil the parent's return.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import numpy as np

from testbed.trace import Trace
from testbed.truth.model import Activation, Activations, Path
from testbed.truth.transfers import Event, Transfers

MAX_ROUNDS = 32
NOWHERE = -1  # the call site of what no instruction called
NATIVE_FROM = 100_000  # steps; below that, loading the native pass costs more than it saves


def follow(trace: Trace, transfers: Transfers) -> Path:
    """The activation of every step; sites that were no calls are found out and left out."""
    if len(trace) >= NATIVE_FROM and trace.sizes.all():  # signals belong to short programs
        from testbed.truth.native.follow import follow_natively  # numba: worth loading for a long trace only

        return follow_natively(trace, transfers, MAX_ROUNDS)
    return follow_readably(trace, transfers)


def follow_readably(trace: Trace, transfers: Transfers) -> Path:
    """The rules as they read; `follow_native` has to find the same."""
    events = tuple(transfers.events())
    disbelieved: frozenset[int] = frozenset()
    for _ in range(MAX_ROUNDS):
        walk = _Walk(trace, disbelieved)
        for event in events:
            walk.at(event)
        refuted = walk.refuted()
        if refuted <= disbelieved:
            break
        disbelieved |= refuted
    return walk.path()


class _Walk:
    """The state of one pass: the tree of activations, the innermost one, who is alive, who comes back where."""

    def __init__(self, trace: Trace, disbelieved: frozenset[int]) -> None:
        self._trace = trace
        self._disbelieved = disbelieved
        self._pushes = trace.arch.link is None
        self._entry_cfa = trace.arch.entry_cfa
        self._regions = sorted((region.address, region.end) for region in trace.initial)
        self._starts = [start for start, _ in self._regions]
        self._activations: list[Activation] = []
        self._alive: list[bool] = []
        self._site: list[Event | None] = []
        self._stack: list[tuple[int, int]] = []  # the memory region that the activation's stack lies in
        self._bottom: list[int] = []
        self._comes_back: dict[tuple[int, int], int] = {}  # (return address, CFA) -> the activation opened last
        self._changes: list[tuple[int, int]] = []
        self._jumps: list[tuple[int, int]] = []
        self._returned: set[int] = set()
        self._thrown_away: set[int] = set()
        self._top = -1
        if len(trace):
            self._open_bottom(0, int(trace.sp[0]))

    def at(self, event: Event) -> None:
        if self._trace.interrupted(event.step - 1):
            self._interrupt(event)
            return
        if event.call and event.site not in self._disbelieved:
            self._open(event)
            return
        if not event.transfer:
            return
        pc, sp = event.pc, event.sp
        top = self._activations[self._top]
        if pc == top.return_address and sp == top.cfa:
            self._note_return(self._top)
            self._alive[self._top] = False
            assert top.parent is not None
            self._now(event.step, top.parent)
            return
        opened = self._comes_back.get((pc, sp))
        target = self._activations[opened].parent if opened is not None else None
        if target is not None and self._alive[target]:
            if target != self._top:
                assert opened is not None
                self._note_return(opened)
                self._leave_for(event, target)
        elif self._is_elsewhere(sp):
            self._jump(event)
            self._open_bottom(event.step, sp)
        elif sp > top.entry_sp and top.parent is not None:
            parent = self._activations[target].parent if target is not None else None
            if target is not None and parent is not None and self._alive[parent]:
                self._leave_for(event, parent)
                self._alive[target] = True
                self._now(event.step, target)
            else:
                self._land(event)

    def refuted(self) -> frozenset[int]:
        return frozenset(self._thrown_away - self._returned)

    def path(self) -> Path:
        steps = np.array([step for step, _ in self._changes] + [len(self._trace)], np.int64)
        nodes = np.array([index for _, index in self._changes], np.int32)
        node = np.repeat(nodes, np.diff(steps))
        return Path(Activations.of(self._activations), node, tuple(self._jumps), self._disbelieved)

    def _now(self, step: int, index: int) -> None:
        self._top = index
        if self._changes and self._changes[-1][0] == step:
            self._changes.pop()
        self._changes.append((step, index))

    def _add(self, activation: Activation, event: Event | None) -> None:
        sp = activation.entry_sp
        self._activations.append(activation)
        self._alive.append(True)
        self._site.append(event)
        self._stack.append(self._region(sp))
        self._bottom.append(activation.index if activation.parent is None else self._bottom[activation.parent])
        self._now(activation.opened, activation.index)

    def _open_bottom(self, step: int, sp: int) -> None:
        self._add(Activation(len(self._activations), None, None, sp, None, step), None)

    def _open(self, event: Event) -> None:
        cfa = event.sp + self._entry_cfa
        index = len(self._activations)
        self._comes_back[event.fall, cfa] = index
        self._add(Activation(index, self._top, event.fall, event.sp, cfa, event.step), event)

    def _interrupt(self, event: Event) -> None:
        """The kernel has entered a handler: its return address leads to the trampoline, which gives all back."""
        arch, step = self._trace.arch, event.step
        after = event.sp + self._entry_cfa
        if arch.link is None:
            restorer = self._trace.memory(step).unsigned(event.sp, arch.word)
        else:
            restorer = arch.code_address(int(self._trace.column(arch.link)[step]))
        site = event._replace(site=NOWHERE)
        pc, sp = int(self._trace.pc[step - 1]), int(self._trace.sp[step - 1])
        index = len(self._activations)
        self._add(Activation(index, self._top, pc, after, sp, step, signal=True), site)
        self._add(Activation(index + 1, index, restorer, event.sp, after, step), site)

    def _region(self, sp: int) -> tuple[int, int]:
        """The region that a push at ``sp`` writes to; an empty one where nothing is mapped."""
        if self._stack:
            start, end = self._stack[self._top]
            if start < sp <= end:
                return start, end
        i = bisect_right(self._starts, sp - 1) - 1
        return self._regions[i] if i >= 0 and sp <= self._regions[i][1] else (sp, sp)

    def _is_elsewhere(self, sp: int) -> bool:
        """Rule 4. The bottom itself may set up any SP it likes: a bare-metal entry does.

        An SP that points nowhere is no stack but a register that a function borrowed: nothing changes.
        """
        top = self._activations[self._top]
        if top.parent is None:
            return False
        start, end = self._stack[self._top]
        if start < sp <= end:
            bottom = self._bottom[self._top]
            lowest = self._activations[bottom].entry_sp
            return self._stack[bottom] == (start, end) and sp > lowest > top.entry_sp
        if any(low < sp <= high for low, high in (self._stack[index] for index in self._chain(self._top))):
            return False
        return any(low < sp <= high for low, high in self._regions)

    def _chain(self, index: int | None) -> Iterator[int]:
        while index is not None:
            yield index
            index = self._activations[index].parent

    def _leave_for(self, event: Event, target: int) -> None:
        """Rule 3: drop to ``target``, or switch to its stack and leave this one as it is."""
        self._jump(event)
        gone: list[int] = []
        for index in self._chain(self._top):
            if index == target:
                self._throw_away(event, gone)
                break
            gone.append(index)
        self._now(event.step, target)

    def _land(self, event: Event) -> None:
        """Rule 5. A function that called out cannot be at its entry SP where calls push nothing: so one goes too.

        On a chain over two stacks (a call made on a stack of its own), what lies on the other stack goes first:
        SPs of different stacks do not compare.
        """
        equal = not self._pushes
        gone: list[int] = []
        for index in self._chain(self._top):
            activation = self._activations[index]
            start, end = self._stack[index]
            here = start < event.sp <= end
            if activation.parent is None or (here and activation.entry_sp > event.sp):
                break
            if here and activation.entry_sp == event.sp:
                if not equal:
                    break
                equal = False
            gone.append(index)
        if gone:
            if event.pc != self._activations[self._top].return_address:  # `ret 8` is no jump
                self._jump(event)
            else:
                self._note_return(self._top)
            self._throw_away(event, gone)
            self._now(event.step, self._activations[gone[-1]].parent or 0)

    def _jump(self, event: Event) -> None:
        self._jumps.append((event.step, self._top))

    def _note_return(self, index: int) -> None:
        site = self._site[index]
        assert site is not None
        self._returned.add(site.site)

    def _throw_away(self, event: Event, gone: list[int]) -> None:
        """These activations are over without a return of their own."""
        for index in gone:
            self._alive[index] = False
            site, parent = self._site[index], self._activations[index].parent
            assert site is not None
            assert parent is not None
            outer = self._activations[parent]
            if (event.pc, event.sp) == (outer.return_address, outer.cfa) and not (self._pushes and site.transfer):
                self._thrown_away.add(site.site)
