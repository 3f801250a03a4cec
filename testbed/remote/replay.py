"""A recorded run as a target of gdb: it steps, continues and stops at breakpoints, forward and backward in time.

Nothing executes. A position is a step of the trace; moving looks for the next step, or the one before, at which gdb
asked to stop: an instruction (``Z0``, ``Z1``), or a write to a watched range (``Z2``). What was recorded cannot be
changed, so writing is refused.

Source: manual of gdb, appendix "Remote Serial Protocol", sections "Packets" (``bc``, ``bs``, ``Z``) and "Stop Reply
Packets" (``replaylog``, ``swbreak``, ``watch``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from testbed.remote.snapshot_target import FEATURES, answer
from testbed.trace import Trace

_POINT = re.compile(r"([Zz])([0-4]),([0-9a-f]+),([0-9a-f]+)")
# The moves: (direction, one step only). With a signal to deliver (C05, S05) they are the same: the past had its own.
_MOVE = re.compile(r"(?:vCont;)?(bs|bc|[cCsS])(?:[0-9a-f]{2})?(?:[:;].*)?")
_MOVES = {"s": (1, True), "c": (1, False), "bs": (-1, True), "bc": (-1, False)}
_SUPPORTED = "ReverseStep+;ReverseContinue+;swbreak+;hwbreak+;vContSupported+"
_64 = (1 << 64) - 1
_REASONS = {"0": "swbreak:;", "1": "hwbreak:;"}


@dataclass(slots=True)
class Replay:
    """A position in a trace, and where gdb wants to stop: ``points`` are (kind, address, size) as in ``Z`` packets."""

    trace: Trace
    step: int = 0
    points: set[tuple[str, int, int]] = field(default_factory=set)

    def answer(self, request: str) -> str | None:
        """The reply to a request: "" for what is not supported, None for a request that ends the conversation."""
        if match := _MOVE.fullmatch(request):
            direction, single = _MOVES[match[1].lower()]
            return "T05" + self.move(direction, single=single)
        if request == "vCont?":
            return "vCont;c;C;s;S"
        if match := _POINT.fullmatch(request):
            return self._set_point(match)
        if request[:1] in ("G", "M", "P", "X"):
            return "E.a recorded run cannot be changed"
        if request.startswith("qRcmd,"):
            return self._monitor(request.removeprefix("qRcmd,"))
        return answer(self.trace.snapshot(self.step), request, f"{FEATURES};{_SUPPORTED}")

    def move(self, direction: int, *, single: bool) -> str:
        """Go on (1) or back (-1) to the next stop; why it is one, in the words of a stop reply."""
        last = len(self.trace) - 1
        if not 0 <= self.step + direction <= last:
            return "replaylog:end;" if direction > 0 else "replaylog:begin;"
        if single:
            self.step += direction
            return ""
        stops = [stop for stop in (self._next_point(direction), self._next_write(direction)) if stop]
        if not stops:
            self.step = last if direction > 0 else 0
            return "replaylog:end;" if direction > 0 else "replaylog:begin;"
        self.step, reason = min(stops, key=lambda stop: stop[0] * direction)
        return reason

    def _monitor(self, command: str) -> str:
        """gdb's ``monitor step``: where in the recording this is."""
        try:
            said = bytes.fromhex(command).strip()
        except ValueError:
            return "E01"
        if said != b"step":
            return b"monitor step: where in the recording this is\n".hex()
        return f"step @{self.step} of @0 to @{len(self.trace) - 1}\n".encode("ascii").hex()

    def _set_point(self, match: re.Match[str]) -> str:
        set_or_clear, kind, address, size = match.groups()
        if kind not in ("0", "1", "2"):
            return ""  # reads are not recorded
        if len(address.lstrip("0")) > 16 or len(size.lstrip("0")) > 16:
            return "E.more than 64 bits"
        point = kind, int(address, 16), int(size, 16)
        if set_or_clear == "Z":
            self.points.add(point)
        else:
            self.points.discard(point)
        return "OK"

    def _next_point(self, direction: int) -> tuple[int, str] | None:
        """The nearest step, in a direction, whose instruction has a breakpoint."""
        places = {address: kind for kind, address, _ in self.points if kind in _REASONS}
        pcs = self.trace.pc[self.step + 1 :] if direction > 0 else self.trace.pc[: self.step]
        found = np.flatnonzero(np.isin(pcs, np.array(list(places), dtype=np.uint64)))
        if not len(found):
            return None
        step = self.step + 1 + int(found[0]) if direction > 0 else int(found[-1])
        return step, _REASONS[places[int(self.trace.pc[step])]]

    def _next_write(self, direction: int) -> tuple[int, str] | None:
        """Forward: the step after the next write to a watched range. Backward: the step of the last one before."""
        writes = self.trace.writes
        watched = np.zeros(len(writes), dtype=bool)
        ranges = [(address, size) for kind, address, size in self.points if kind == "2"]
        for address, size in ranges:
            # A write begins in the range, or the range begins in the write; differences of 64 bits, without overflow.
            watched |= (writes.address - np.uint64(address) < np.uint64(size)) | (
                np.uint64(address) - writes.address < writes.size
            )
        watched &= writes.step >= self.step if direction > 0 else writes.step < self.step
        found = np.flatnonzero(watched)
        if not len(found):
            return None
        i = int(found[0] if direction > 0 else found[-1])
        low, wide = int(writes.address[i]), int(writes.size[i])
        address = next(start for start, size in ranges if (low - start) & _64 < size or (start - low) & _64 < wide)
        step = int(writes.step[i])
        return min(step + 1, len(self.trace) - 1) if direction > 0 else step, f"watch:{address:x};"
