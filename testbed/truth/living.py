"""The activations of one pass over a trace: who called whom, who is alive, and on which stack each of them is."""

from __future__ import annotations

from collections.abc import Iterator

from testbed.trace import Trace
from testbed.truth.model import Activation
from testbed.truth.regions import StackRegions, StackSpan, is_in


class Living:
    """A growing list of activations. ``alive`` says of each whether it may still go on."""

    def __init__(self, trace: Trace) -> None:
        self.activations: list[Activation] = []
        self.alive: list[bool] = []
        self._regions = StackRegions(trace)
        self._stack: list[StackSpan] = []  # the memory region that the activation's stack lies in
        self._bottom: list[int] = []

    def __len__(self) -> int:
        return len(self.activations)

    def __getitem__(self, index: int) -> Activation:
        return self.activations[index]

    def add(self, activation: Activation, top: int) -> None:
        """A new one, which takes control from ``top``."""
        self._stack.append(self._region(activation.entry_sp, top))
        self._bottom.append(activation.index if activation.parent is None else self._bottom[activation.parent])
        self.activations.append(activation)
        self.alive.append(True)

    def _region(self, sp: int, top: int) -> StackSpan:
        """The region that a push at ``sp`` writes to; an empty one where nothing is mapped."""
        if self._stack and is_in(sp, self._stack[top]):
            return self._stack[top]
        return self._regions.at(sp)

    def chain(self, index: int | None) -> Iterator[int]:
        """An activation and its callers, innermost first."""
        while index is not None:
            yield index
            index = self.activations[index].parent

    def inside(self, outer: int, top: int) -> list[int]:
        """The activations further in than one of this chain, innermost first; none where it is on another."""
        found: list[int] = []
        for index in self.chain(top):
            if index == outer:
                return found
            found.append(index)
        return []

    def is_elsewhere(self, sp: int, top: int) -> bool:
        """Is ``sp`` on no stack of this chain, or above its bottom?

        The bottom itself may set up any SP it likes: a bare-metal entry does. An SP that points nowhere is no stack but
        a register that a function borrowed.
        """
        innermost = self.activations[top]
        if innermost.parent is None:
            return False
        if is_in(sp, self._stack[top]):
            bottom = self._bottom[top]
            lowest = self.activations[bottom].entry_sp
            return self._stack[bottom] == self._stack[top] and sp > lowest > innermost.entry_sp
        if any(is_in(sp, self._stack[index]) for index in self.chain(top)):
            return False
        return is_in(sp, self._regions.at(sp))

    def is_left(self, index: int, sp: int, top: int) -> bool:
        """Was it left, with all its callers, on another stack, on which SP is at its own entry or below?"""
        if not is_in(sp, self._stack[index]) or sp > self.activations[index].entry_sp:
            return False
        return all(self.alive[each] for each in self.chain(index)) and index not in self.chain(top)

    def resumed(self, sp: int, top: int) -> int | None:
        """Who was left where SP is: the innermost there, or, of several with its CFA, the outermost."""
        for index in reversed(range(len(self))):
            if self.activations[index].parent is not None and self.is_left(index, sp, top):
                cfa = self.activations[index].cfa
                return [each for each in self.chain(index) if self.activations[each].cfa == cfa][-1]
        return None

    def is_replaced(self, dead: int | None, top: int) -> bool:
        """Is somebody of this chain where a dead activation was? Then that one is gone, whatever control comes to."""
        if dead is None:
            return False
        place = self.activations[dead].entry_sp
        return any(self.activations[index].entry_sp == place for index in self.chain(top))

    def below(self, sp: int, top: int, pushes: bool) -> list[int]:
        """The activations that are gone when control goes on at ``sp``, innermost first.

        A function that called out cannot be at its entry SP where calls push nothing: so one goes too. On a chain over
        two stacks (a call made on a stack of its own), what lies on the other stack goes first: SPs of different
        stacks do not compare.
        """
        equal = not pushes
        gone: list[int] = []
        for index in self.chain(top):
            activation = self.activations[index]
            here = is_in(sp, self._stack[index])
            if activation.parent is None or (here and activation.entry_sp > sp):
                break
            if here and activation.entry_sp == sp:
                if not equal:
                    break
                equal = False
            gone.append(index)
        return gone
