"""The second pass: from what continuations were handed over, and which of them control went on at, to the stacks.

An activation is open from the call until control goes on at its continuation; whoever is further in is gone then, too.
A continuation that control never goes on at has an activation as long as it could still have been used:

* **a landing**: a jump (of an unwinder, of an exception's last instruction) after which SP is beyond the activation's
  own frame; or where SP is exactly back, or on a stack further out, into the middle of the function that made the call.
  A pad may stand right behind a call that never returns: who leaves several activations for it has not returned;
* **no call at all**: a call instruction that goes into its own function, not to its beginning, and whose continuation
  is read as data only (``call next; pop``), or dropped unread by adding to SP, or on a link-register machine not read;
* **a call used as a jump**: the link register's continuation was never even read, and the activation ended as control
  went on at its own parent's continuation, at that very address: who was gone to returned for the parent. Nothing else
  shows it. An exception passes over parents as well, to a landing pad in the function that made some call further out,
  and a function that never returns need not keep its link register (``__cxa_end_cleanup`` on 32-bit ARM);
* **another stack**: a jump to another function on a stack that nobody further out was on begins a new stack, unless the
  caller's continuation is used from the copy that went along. Its first function has the caller whose address the
  maker put at the return place (`makecontext`, Go's ``goexit``), whether or not control ever comes there. A stack that
  was left goes on with who left it, also where that function jumps to its own code. A bottom that goes back itself to
  who began it was that one;
* **a stack that was copied** (Go's ``morestack``): SP at a continuation is another one than at its call, and all that
  is returned to further out lies shifted by the same distance: these activations go on with new CFAs;
* **a call without its instruction**: a jump that leaves the address right behind it where a return address belongs, or
  a handler that leaves there the pc which it interrupted (Go's ``sigpanic``): whether or not control ever comes back.

What a call instruction is does not change: one whose continuation was used at any visit is a call at every one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.witness.carry import follow
from testbed.witness.continuations import Act, Birth, Continuation, Followed, Happening
from testbed.witness.extents import Extents
from testbed.witness.labels import FIRST_STACK
from testbed.witness.testimony import Seen, Testimony

MAX_ROUNDS = 8


def attest(trace: Trace) -> Testimony:
    """The activations of a trace, by provenance."""
    if not len(trace):
        return Testimony((), np.zeros(0, np.int32))
    return stacks_of(trace, follow(trace))


def stacks_of(trace: Trace, followed: Followed) -> Testimony:
    """The second pass, repeated until no more calls turn out to be jumps."""
    called = {one.target for one in followed.continuations if one.target != one.address}
    extents = Extents(trace.images, called | {int(trace.pc[0])})
    calls = _no_calls(trace, followed, extents)
    for _ in range(MAX_ROUNDS):
        stacks = _Stacks(trace, followed, extents, calls)
        stacks.run()
        found = stacks.jumps - calls
        if not found:
            break
        calls |= found
    return Testimony(tuple(stacks.activations), stacks.node, tuple(stacks.unfollowed))


def _no_calls(trace: Trace, followed: Followed, extents: Extents) -> set[int]:
    """The continuations of call instructions that call nothing."""
    linked = trace.arch.link is not None

    def inside(one: Continuation) -> bool:
        """It goes into the middle of its own function; in code without symbols nobody can say."""
        if one.index in followed.dropped and not extents.is_named(one.target):
            return True
        return extents.same(one.target, one.function) and extents.start(one.target) != one.target

    return {
        one.index
        for one in followed.continuations
        if one.kind is Birth.CALL
        and not followed.came_back(one)
        and (linked or one.index in followed.used or one.index in followed.dropped)
        and inside(one)
    }


class _Stacks:
    """The state of the pass: the activations so far, and the innermost one."""

    def __init__(self, trace: Trace, followed: Followed, extents: Extents, no_calls: Iterable[int]) -> None:
        self.trace, self.arch, self.followed, self.extents = trace, trace.arch, followed, extents
        self.no_calls = frozenset(no_calls)
        self.targets = {one.target for one in followed.continuations if one.kind is Birth.CALL}
        self.activations: list[Seen] = [Seen(None, None, None, 0, -1, FIRST_STACK)]
        self.current = 0
        self.opened: dict[int, int] = {}  # the activation of a continuation
        self.left: dict[int, int] = {}  # the innermost activation of a stack that was left by a jump
        self.begun_by: dict[int, int] = {}  # of the bottom of a stack, who began it
        self.same: dict[int, int] = {}  # of a bottom that was none, whose steps its are
        self.jumps: set[int] = set()
        self.unfollowed: list[int] = []
        self.node: NDArray[np.int32] = np.zeros(len(trace), np.int32)

    def run(self) -> None:
        begun = 0
        acts = {
            Act.CALL: self.call,
            Act.JUMP: self.jump,
            Act.RETURN: self.returned,
            Act.SIGNAL: self.signal,
            Act.RESUME: self.resume,
        }
        for happening in self.followed.happenings:
            before = self.current
            acts[happening.act](happening)
            if self.current != before:
                self.node[begun : happening.step + 1] = before
                begun = happening.step + 1
        self.node[begun:] = self.current
        for bottom, who in reversed(self.same.items()):
            self.node[self.node == bottom] = who
            self.activations = [replace(a, parent=who) if a.parent == bottom else a for a in self.activations]

    def later(self, activation: Seen, step: int) -> bool:
        """Control goes on at its continuation after ``step``."""
        return activation.continuation >= 0 and self.followed.last[activation.continuation] > step

    def open(self, activation: Seen) -> int:
        self.activations.append(activation)
        self.current = len(self.activations) - 1
        if activation.continuation >= 0:
            self.opened[activation.continuation] = self.current
        return self.current

    def hand_over(self, index: int, step: int) -> None:
        one = self.followed.continuations[index]
        self.open(Seen(self.current, one.address, one.cfa, step + 1, index, one.stack))

    def call(self, happening: Happening) -> None:
        if happening.continuation not in self.no_calls:
            self.hand_over(happening.continuation, happening.step)

    def returned(self, happening: Happening) -> None:
        """Control goes on at a continuation: whoever handed it over is the innermost one."""
        index = self.opened.get(happening.continuation)
        if index is None:
            return
        parent = self.activations[index].parent
        assert parent is not None
        self.went_back(index)
        if index == self.current and happening.ahead is None:
            self.current = parent
            return
        further_out = list(self._outwards(self.current))
        if index in further_out[1:]:
            if happening.to == self.activations[index].address:
                self.jumps.update(self._unread(further_out[further_out.index(index) - 1]))
        elif parent not in further_out:  # another stack: who is on this one may come back
            self.left[self.activations[self.current].stack] = self.current
            if self._copied_back(parent, happening, further_out):
                return
        if not self._copied(index, happening):
            self.current = parent

    def _copied(self, ended: int, happening: Happening) -> bool:
        """The stack lies elsewhere: all that its activations return to lies this much further on. It has new CFAs.

        What the innermost one returns to may be in the link register, if a jump from another stack brought it.
        """
        ahead, cfa, stack = happening.ahead, self.activations[ended].cfa, self.activations[ended].stack
        if ahead is None or cfa is None or happening.sp == cfa:
            return False
        distance, low, moved = happening.sp - cfa, cfa, list[Seen]()
        switched = self.activations[self.current].stack != stack
        outer = self.activations[ended].parent
        while outer is not None and self.activations[outer].cfa is not None and self.activations[outer].stack == stack:
            seen = self.activations[outer]
            assert seen.cfa is not None
            frame = range(seen.cfa - self.arch.entry_cfa if self.arch.entry_cfa else low, seen.cfa, self.arch.word)
            there = (place + distance for place in frame if place + distance not in frame)
            in_link = not moved and switched and ahead.get(self.arch.link or "") == seen.continuation
            if not in_link and all(ahead.get(place) != seen.continuation for place in there):
                return False
            moved.append(seen)
            low, outer = seen.cfa, seen.parent
        if outer is None:
            return False
        self.current = outer
        for seen in reversed(moved):
            self.open(replace(seen, parent=self.current, cfa=(seen.cfa or 0) + distance))
        return True

    def _copied_back(self, inner: int, happening: Happening, further_out: Sequence[int]) -> bool:
        """A piece of a stack was copied below activations that are there: its outermost function returns to them."""
        if happening.ahead is None:
            return False
        index, moved = inner, list[Seen]()
        while True:
            seen = self.activations[index]
            if seen.parent is None or seen.cfa is None:
                return False
            lies = happening.ahead.get(seen.cfa - self.arch.entry_cfa)
            if lies != seen.continuation:
                break
            moved.append(seen)
            index = seen.parent
        outer = None if lies is None else self.opened.get(lies)
        if outer is None or outer not in further_out:
            return False
        self.current = outer
        for seen in reversed(moved):
            self.open(replace(seen, parent=self.current))
        return True

    def _outwards(self, index: int) -> Iterator[int]:
        """An activation and all those further out."""
        at: int | None = index
        while at is not None:
            yield at
            at = self.activations[at].parent

    def _unread(self, ended: int) -> Iterable[int]:
        """The continuation of an activation that ended as its parent did: if nobody ever read its link register."""
        number = self.activations[ended].continuation
        if self.arch.link is None or number < 0 or number in self.followed.used:
            return
        one = self.followed.continuations[number]
        if one.kind is Birth.CALL and not self.followed.came_back(one):
            yield number

    def jump(self, happening: Happening) -> None:
        if (happening.leaves or self._goes_on_itself(happening)) and self._other_stack(happening):
            bottom = self.current
            self._made(happening, fresh=True)
            if self.current != bottom:
                self.begun_by.pop(bottom, None)
            return
        self._land(happening)
        self._made(happening)

    def _made(self, happening: Happening, fresh: bool = False, interrupted: int | None = None) -> None:
        """A jump hands over what control goes on at later, or what stands right behind it, as a call would.

        On a ``fresh`` stack also what its maker put at the return place, if no call goes to that address. From a
        handler also where its signal ``interrupted``: it makes the call that was to be seen there.
        """
        for number in happening.made:
            one = self.followed.continuations[number]
            called = one.kind is Birth.CALL or one.address == interrupted
            called = called or (fresh and one.kind is Birth.PUT and one.address not in self.targets)
            if called or self.followed.last[number] > happening.step:
                self.hand_over(number, happening.step)

    def _other_stack(self, happening: Happening) -> bool:
        """A jump to another function, on another stack: one that was left goes on, or a new one begins."""
        current = self.activations[self.current]
        if self._in_a_frame(current, happening):
            self.open(Seen(None, None, None, happening.step + 1, -1, happening.stack))
            return True
        if any(happening.stack == self.activations[index].stack for index in self._outwards(self.current)):
            return False
        if happening.copy >= 0 and self.followed.last[happening.copy] > happening.step:
            return False
        resumed = self.left.pop(happening.stack, None)
        if resumed is not None and self.went_back(resumed):
            return False
        self.left[current.stack] = self.current
        if resumed is not None:
            self.current = resumed
            return False
        self.begun_by[len(self.activations)] = self.current
        self.open(Seen(None, None, None, happening.step + 1, -1, happening.stack))
        return True

    def went_back(self, who: int) -> bool:
        """The bottom of a stack goes back itself to who began it: that one was on another stack for a while."""
        found = self.begun_by.get(self.current) == who
        if found:
            self.same[self.current] = self.current = who
        return found

    def _goes_on_itself(self, happening: Happening) -> bool:
        """A jump inside a function to a stack that was left by the same function: it goes on there for who left it."""
        left = self.left.get(happening.stack)
        if left is None or happening.stack == self.activations[self.current].stack:
            return False
        number = self.activations[left].continuation
        return number >= 0 and self.extents.same(self.followed.continuations[number].target, happening.to)

    def _in_a_frame(self, current: Seen, happening: Happening) -> bool:
        """SP goes up into the frame of somebody further out, and who jumps goes on with SP as it was: another stack."""
        here = current.stack == happening.stack and current.cfa is not None and happening.sp > current.cfa
        goes_on = self.later(current, happening.step)
        return here and goes_on and self.followed.last_sp[current.continuation] == current.cfa

    def _land(self, happening: Happening) -> None:
        """The activations whose frames a jump leaves behind are gone, if nobody goes on at their continuations."""
        index, gone = self.current, None
        while True:
            activation = self.activations[index]
            if activation.parent is None or self.later(activation, happening.step):
                break
            if self._left_behind(activation, happening):
                gone = index
            index = activation.parent
        if gone is not None:
            outer = self.activations[gone].parent
            assert outer is not None
            if gone == self.current and self.activations[gone].address == happening.to:
                self.unfollowed.append(happening.step)
            self.current = outer

    def _left_behind(self, activation: Seen, happening: Happening) -> bool:
        assert activation.cfa is not None
        if activation.stack == happening.stack:
            if happening.sp < activation.cfa:
                return False
            if happening.sp > activation.cfa or self.arch.entry_cfa:
                return True
        if activation.continuation < 0 or not happening.leaves:
            return False
        one: Continuation = self.followed.continuations[activation.continuation]
        middle = self.extents.start(happening.to) != happening.to
        return middle and self.extents.same(happening.to, one.function)

    def signal(self, happening: Happening) -> None:
        """The frame that the kernel wrote, and the handler: neither was called."""
        step = happening.step
        interrupted = int(self.trace.sp[step])
        stack = self.activations[self.current].stack
        self.open(Seen(self.current, happening.at, interrupted, step + 1, -1, stack, signal=True))
        self.hand_over(happening.continuation, step)

    def resume(self, happening: Happening) -> None:
        """The kernel loads a frame's registers: the interrupted activation goes on, wherever its pc is now."""
        at = next((index for index in self._outwards(self.current) if self.activations[index].signal), None)
        if at is None:
            return
        interrupted = self.activations[at]
        assert interrupted.parent is not None
        self.current = interrupted.parent
        if happening.continuation < 0 and (happening.to, happening.sp) != (interrupted.address, interrupted.cfa):
            self._land(happening)
            self._made(happening, interrupted=interrupted.address)
