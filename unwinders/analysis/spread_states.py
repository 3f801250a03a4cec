"""The states that have come somewhere so far, which of them are to go on, and what is taken back of a trial.

A state *loses* a value of the caller where neither a register nor a slot has it any more. No function does so on a way
on which it cleans up: it resumes the exception, or returns, and whoever called it gets its registers back. So where it
is not known in which state code begins, one that leads to a loss is not the one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from testbed.arch import Arch
from unwinders.analysis.abstract_state import CFA, AbstractState, EntryValue
from unwinders.analysis.operations import Control, Return

Node = tuple[int, int]  # a pc, and the condition that is known to hold there (0: none)


class LosesValue(Exception):
    """A trial leads to where a value of the caller is lost."""


@dataclass(eq=False)
class SpreadStates:
    """The state at each place that control gets to; ``weak`` are places that it does not get to from the entry."""

    at: dict[Node, AbstractState] = field(default_factory=dict)
    weak: set[Node] = field(default_factory=set)
    work: list[Node] = field(default_factory=list)  # a heap: code that comes first is followed first
    waiting: set[Node] = field(default_factory=set)
    before: dict[Node, tuple[AbstractState | None, bool]] | None = None  # of what a trial changed: how it was

    @property
    def on_trial(self) -> bool:
        return self.before is not None

    def change(self, node: Node, state: AbstractState, *, weak: bool) -> None:
        """A place has another state, which goes on from there."""
        if self.before is not None:
            self.before.setdefault(node, (self.at.get(node), node in self.weak))
        self._set(node, state, weak=weak)
        if node not in self.waiting:
            self.waiting.add(node)
            heappush(self.work, node)

    def take(self) -> Node:
        """The place to go on from."""
        node = heappop(self.work)
        self.waiting.discard(node)
        return node

    def reached(self, pc: int) -> bool:
        return (pc, 0) in self.at or any((pc, holds) in self.at for holds in range(1, 15))

    def tried(self, spread: Callable[[], None]) -> bool:
        """Let states spread; False, and all is as before, where that loses a value of the caller."""
        self.before = {}
        try:
            spread()
        except LosesValue:
            for node, (state, weak) in self.before.items():
                self._set(node, state, weak=weak)
            self.work.clear()
            self.waiting.clear()
            return False
        finally:
            self.before = None
        return True

    def _set(self, node: Node, state: AbstractState | None, *, weak: bool) -> None:
        if state is None:
            del self.at[node]
        else:
            self.at[node] = state
        (self.weak.add if weak else self.weak.discard)(node)


def loses(arch: Arch, before: AbstractState, after: AbstractState, control: Control | None) -> bool:
    """True for an instruction that loses a value of the caller, and for a return without giving all of them back."""
    if isinstance(control, Return):
        return any(after.registers.get(name) != EntryValue(name) for name in arch.preserved)
    lost = before.said() - after.said()
    return bool(lost) and not lost.isdisjoint((CFA, arch.return_address, *arch.preserved))
