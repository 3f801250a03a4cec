"""Follow control through a trace: which activation executes each step.

An activation's caller is where control really goes on when the activation is over. A call hands over an address to
come back to; whoever jumps to what came of that address returns. SP says which of several equal ones.

The rules, at a transfer to ``(pc, SP)`` while ``top`` is the innermost activation:

0. a signal opens two: its trampoline, which the handler returns to, and the handler;
1. the effect of a call opens an activation, and so does a promise, which is a jump with an address to come back to;
2. ``(pc, SP) = (top.return_address, top.cfa)``: it is over, unless `testbed.truth.straight` says that this was a jump;
3. ``(pc, SP)`` is where some call of a living activation comes back to: ``longjmp`` if that one is on this
   stack, a switch of stacks if it is not;
4. ``top`` comes back elsewhere, as it does if the jump takes the word off the stack that its call had put there: over,
   and the jump is its parent's;
5. ``SP`` is on no stack of this chain, or above its bottom: a fresh stack, with a bottom of its own, or that of who
   was left there;
6. ``SP`` above ``top.entry_sp``: it comes back to a call of a dead activation whose parent lives (a function that
   returns twice: it lives again); or to ``top.return_address``: it is over, and has taken its arguments off; or to a
   landing pad: the activations below ``SP`` are gone;
7. anything else is a jump or a tail call: nothing changes.

What cannot be seen when it happens is learned from what comes later: `testbed.truth.hindsight`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from testbed.trace import Trace
from testbed.truth.evidence import Evidence, leads_back, leads_back_from_above
from testbed.truth.hands import Hands, popped, restorer
from testbed.truth.hindsight import Learned
from testbed.truth.links import kept_links
from testbed.truth.living import Living
from testbed.truth.model import Activation, Activations, Path
from testbed.truth.promises import events, find_promises, links
from testbed.truth.straight import Ends, OnceMore
from testbed.truth.transfers import NOWHERE, Event, Transfers

MAX_ROUNDS = 32


def follow_readably(trace: Trace, transfers: Transfers) -> Path:
    """The activation of every step, by the rules as they read; `follow_natively` has to find the same."""
    learned, kept, made = Learned(), frozenset(kept_links(trace).tolist()), links(transfers).made
    once_more = OnceMore()
    for _ in range(MAX_ROUNDS):
        walk = _Walk(trace, learned, made)
        for event in events(transfers, find_promises(transfers, learned.arrived)):
            walk.at(event)
        more = learned | walk.shown(kept, once_more)
        if more == learned:
            break
        learned = more
    return walk.path()


class _Walk:
    """The state of one pass: the activations, the innermost one, who comes back where.

    ``made`` are the addresses that a link register held and that no call had made.
    """

    def __init__(self, trace: Trace, learned: Learned, made: frozenset[int]) -> None:
        self._trace, self._learned, self._made = trace, learned, made
        self._hands = Hands(trace)
        self._evidence, self._ends = Evidence(self._hands), Ends(trace)
        self._pushes = trace.arch.link is None
        self._entry_cfa = trace.arch.entry_cfa
        self._all = Living(trace)
        self._site: list[Event | None] = []
        self._comes_back: dict[tuple[int, int], int] = {}  # (return address, CFA) -> the activation opened last
        self._changes: list[tuple[int, int]] = []
        self._jumps: list[tuple[int, int]] = []
        self._goes_on: dict[int, int] = {}  # activation -> where control went, where that was not its return address
        self._astray: set[int] = set()  # activations that took such a jump
        self._top = -1
        if len(trace):
            self._open_bottom(0, int(trace.sp[0]))

    def at(self, event: Event) -> None:
        if self._trace.interrupted(event.step - 1):
            self._interrupt(event)
            return
        if event.promise and not self._is_new(event):
            return
        if event.call and event.site not in self._learned.no_calls:
            if event.drops and (event.site, event.pc) not in self._learned.no_landings:
                self._evidence.drops(event, self._top, event.sp + self._entry_cfa)
            else:
                self._open(event)
            return
        if event.transfer:
            self._come_back(event)

    def _is_new(self, event: Event) -> bool:
        """Is the address at the return place another one than the innermost activation's own, wherever that is now?

        Nor one of a call, unless that is over and its word was stored again; nor one that control came back to
        already, unless this jump makes it again.
        """
        top, cfa = self._all[self._top], event.sp + self._entry_cfa
        if event.fall == top.return_address or (self._pushes and cfa == top.cfa):
            return False
        before = self._comes_back.get((event.fall, cfa))
        if before is None or self._all.alive[before]:
            return before is None
        site = self._site[before]
        if site is None or not site.promise:
            return self._pushes
        return (event.site, event.pc) in self._learned.handed

    def _come_back(self, event: Event) -> None:
        """Rules 2 to 7."""
        pc, sp = event.pc, event.sp
        top = self._all[self._top]
        if pc == top.return_address and sp == top.cfa:
            may_jump = self._ends.may_jump(event, self._opening(top.index))
            if not (may_jump and (event.site, pc) in self._learned.no_returns):
                self._over(event, may_jump=may_jump)
            return
        opened = self._comes_back.get((pc, sp))
        target = self._all[opened].parent if opened is not None else None
        lives = target is not None and self._all.alive[target]
        if opened is not None:
            dead, site = None if lives else target, self._opening(opened).site
            self._evidence.comes_to(event, opened, site, dead, self._all.is_replaced(dead, self._top))
        if lives and opened is not None and (way := self._evidence.way):
            self._evidence.arrives(event, way, self._all.is_left(opened, way.sp, self._top))
        if opened is not None and target is not None and lives and target != self._top:
            self._returned(opened)
            self._leave_for(event, target)
            return
        self._evidence.look_back(event, self._top, lives)
        if lives:
            return
        if self._comes_back_elsewhere(event, top):
            self._over(event)
            if pc != top.return_address:
                self._goes_away(event, target)
            return
        if self._pushes and popped(event):
            self._evidence.arrived.add(pc)
        if self._goes_away(event, target):
            return
        back = top.parent is not None and leads_back(self._hands, event, top, self._opening(top.index).pc)
        if back:
            self._evidence.jumps_back(event, top)
        if pc in self._made and not (back and pc == self._hands.link(event)):
            self._evidence.arrived.add(pc)

    def shown(self, kept: Collection[int], once_more: OnceMore) -> Learned:
        """What this pass has shown of the steps before; to be asked after the last event. ``kept``: see `links`."""
        straight = self._ends.shown(once_more)
        still_open = [
            (index, site.site)
            for index in self._all.chain(self._top if len(self._all) else None)
            if (site := self._site[index])
        ]
        self._evidence.promised.update(site.site for site in self._site if site and site.promise)
        jumps = Learned(straight.no_calls(kept), no_returns=straight.no_returns)
        return jumps | self._evidence.shown(self._learned, still_open, kept)

    def path(self) -> Path:
        steps = np.array([step for step, _ in self._changes] + [len(self._trace)], np.int64)
        nodes = np.array([index for _, index in self._changes], np.int32)
        node = np.repeat(nodes, np.diff(steps))
        known = [replace(a, goes_on=self._goes_on.get(a.index)) for a in self._all.activations]
        return Path(Activations.of(known), node, tuple(self._jumps), self._learned)

    def _now(self, step: int, index: int) -> None:
        self._top, self._evidence.way = index, None
        if self._changes and self._changes[-1][0] == step:
            self._changes.pop()
        self._changes.append((step, index))

    def _add(self, activation: Activation, event: Event | None) -> None:
        self._all.add(activation, self._top)
        self._site.append(event)
        self._now(activation.opened, activation.index)

    def _open_bottom(self, step: int, sp: int) -> None:
        self._add(Activation(len(self._all), None, None, sp, None, step), None)

    def _open(self, event: Event) -> None:
        cfa = event.sp + self._entry_cfa
        index = len(self._all)
        self._ends.calls_again(self._comes_back.get((event.fall, cfa)), self._top)
        self._comes_back[event.fall, cfa] = index
        self._add(Activation(index, self._top, event.fall, event.sp, cfa, event.step), event)

    def _interrupt(self, event: Event) -> None:
        """The kernel has entered a handler: its return address leads to the trampoline, which gives all back."""
        step, after, site = event.step, event.sp + self._entry_cfa, event._replace(site=NOWHERE)
        pc, sp = int(self._trace.pc[step - 1]), int(self._trace.sp[step - 1])
        index = len(self._all)
        self._add(Activation(index, self._top, pc, after, sp, step, signal=True), site)
        self._add(Activation(index + 1, index, restorer(self._trace, event), event.sp, after, step), site)

    def _leave_for(self, event: Event, target: int) -> None:
        """Rule 3: drop to ``target``, or switch to its stack and leave this one as it is."""
        self._jumps.append((event.step, self._top))
        self._throw_away(event, self._all.inside(target, self._top))
        self._now(event.step, target)

    def _over(self, event: Event, *, may_jump: bool = False) -> None:
        """The innermost activation is over: control is back in its parent."""
        top = self._all[self._top]
        assert top.parent is not None
        self._ends.over(self._top, top.parent, event, self._opening(self._top) if may_jump else None)
        self._returned(self._top)
        self._all.alive[self._top] = False
        if event.pc != top.return_address:
            self._goes_on[self._top] = event.pc
            self._evidence.goes_elsewhere(event, self._top)
        self._now(event.step, top.parent)

    def _returned(self, index: int) -> None:
        """Control came back to what a call or a promise handed over."""
        site = self._site[index]
        assert site is not None
        self._evidence.returned.add(site.site)
        if site.promise:
            self._evidence.handed.add((site.site, site.pc))

    def _comes_back_elsewhere(self, event: Event, top: Activation) -> bool:
        """Rule 4. The word that the call pushed says where its callee returns, whatever it holds by then."""
        if top.parent is None or top.signal:
            return False
        if event.pc != top.return_address and (event.site, event.pc) in self._learned.no_landings:
            return False
        if self._pushes and (event.before, event.sp) == (top.entry_sp, top.cfa):
            return True
        if top.index in self._astray:
            return leads_back_from_above(self._hands, event, top)
        opening = self._opening(top.index)
        return opening.site in self._learned.elsewhere and leads_back(self._hands, event, top, opening.pc)

    def _goes_away(self, event: Event, target: int | None) -> bool:
        """Rules 5 and 6; whether the innermost activation went to another stack, or up."""
        top, jump = self._all[self._top], (event.site, event.pc)
        elsewhere = self._all.is_elsewhere(event.sp, self._top)
        if jump in self._learned.switches or (elsewhere and jump not in self._learned.no_landings):
            self._jumps.append((event.step, self._top))
            self._open_bottom(event.step, event.sp)
            self._evidence.way = event
        elif elsewhere:
            resumed = self._all.resumed(event.sp, self._top)
            if resumed is not None:
                self._leave_for(event, resumed)
        elif event.sp > top.entry_sp and top.parent is not None:
            self._go_up(event, target)
        else:
            return False
        return True

    def _go_up(self, event: Event, target: int | None) -> None:
        """Rule 6."""
        top = self._all[self._top]
        parent = self._all[target].parent if target is not None else None
        if target is not None and parent is not None and self._all.alive[parent]:
            self._leave_for(event, parent)
            self._all.alive[target] = True
            self._now(event.step, target)
        elif event.pc == top.return_address:
            self._over(event)
        elif (event.site, event.pc) in self._learned.no_landings:
            self._astray.add(self._top)
        else:
            self._land(event)

    def _land(self, event: Event) -> None:
        """Rule 6: a jump to a landing pad. The activations below SP are gone."""
        gone = self._all.below(event.sp, self._top, self._pushes)
        if gone:
            landed = self._all[gone[-1]].parent or 0
            self._jumps.append((event.step, self._top))
            self._throw_away(event, gone)
            self._evidence.lands(event, self._all[self._top], landed, gone)
            self._now(event.step, landed)
            self._evidence.way = event

    def _opening(self, index: int) -> Event:
        opening = self._site[index]
        assert opening is not None
        return opening

    def _throw_away(self, event: Event, gone: list[int]) -> None:
        """These activations are over without a return of their own."""
        inside = False
        for index in reversed(gone):
            self._all.alive[index] = False
            site, parent = self._site[index], self._all[index].parent
            assert site is not None and parent is not None
            outer = self._all[parent]
            ordinary = (event.pc, event.sp) == (outer.return_address, outer.cfa)
            inside = self._evidence.thrown(index, site, event if ordinary else None, inside, self._pushes)
