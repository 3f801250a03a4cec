"""What is found out of a function when its states have spread already: they spread again, and it is known then."""

from __future__ import annotations

from dataclasses import dataclass, field


class DoesNotReturn(Exception):
    """A call: behind it, what does not belong together would meet."""

    def __init__(self, call: int) -> None:
        super().__init__(call)
        self.call = call


class IsNoCall(Exception):
    """Calls of a place in the same function, where the return address is lost."""

    def __init__(self, calls: frozenset[int]) -> None:
        super().__init__(calls)
        self.calls = calls


class IsConstant(Exception):
    """What was followed as code is loaded as a constant."""


@dataclass(eq=False)
class FoundLate:
    """``no_return``: calls that do not return; ``pushes``: calls that are none; ``constants``: between the code, where
    one begins -> its end, and the instruction that loads it."""

    no_return: set[int] = field(default_factory=set)
    pushes: set[int] = field(default_factory=set)
    constants: dict[int, tuple[int, int]] = field(default_factory=dict)

    def add(self, found: DoesNotReturn | IsNoCall | IsConstant) -> None:
        match found:
            case DoesNotReturn():
                self.no_return.add(found.call)
            case IsNoCall():
                self.pushes |= found.calls
            case IsConstant():
                self._leave_out_nonsense()

    def _leave_out_nonsense(self) -> None:
        """Not constants are what a constant loads that was taken for an instruction."""
        spans = tuple((start, end) for start, (end, _) in self.constants.items())
        self.constants = {
            start: (end, by)
            for start, (end, by) in self.constants.items()
            if not any(low <= by < high for low, high in spans)
        }
