"""The mapped regions of a trace: which stack does a stack pointer point to?"""

from __future__ import annotations

from bisect import bisect_left

from testbed.trace import Trace

StackSpan = tuple[int, int]  # the first address, and the one behind the last


class StackRegions:
    """The mapped memory of a trace, to ask which part of it a stack pointer points to."""

    def __init__(self, trace: Trace) -> None:
        self._spans: list[StackSpan] = sorted((region.address, region.end) for region in trace.initial)

    def at(self, sp: int) -> StackSpan:
        """The one that a push at ``sp`` would write to; one without a byte, at ``sp``, where there is none."""
        i = bisect_left(self._spans, (sp, 0)) - 1
        return self._spans[i] if i >= 0 and sp <= self._spans[i][1] else (sp, sp)
