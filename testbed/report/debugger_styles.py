"""A named backtrace as debuggers and profilers print it: gdb, LLDB, perf script; and as JSON.

Arguments are not shown: a backtrace has no values for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from testbed.symbolize import NamedBacktrace, NamedFrame, Origin
from testbed.trace import Snapshot
from testbed.unwinder import Backtrace


@dataclass(frozen=True, slots=True)
class Shown:
    """What a style prints: the named frames, the snapshot they belong to, and why the walk stopped ("": the root)."""

    names: NamedBacktrace
    snapshot: Snapshot
    stopped: str = ""

    @property
    def digits(self) -> int:
        """Hexadecimal digits of an address."""
        return 2 * self.snapshot.arch.word

    @property
    def physical(self) -> list[NamedFrame]:
        return [frame for frame in self.names.frames if frame.origin is Origin.PHYSICAL]


def shown(snapshot: Snapshot, said: Backtrace, names: NamedBacktrace) -> Shown:
    """A backtrace with its names, ready for a style."""
    return Shown(names, snapshot, "" if said.stopped is None else f"{said.stopped.reason}: {said.stopped}")


def gdb(one: Shown) -> Iterator[str]:
    """``bt`` of gdb. A frame's address stands where execution is not at the start of a line."""
    for number, frame in enumerate(one.names.frames):
        before = one.names.frames[number - 1] if number else None
        # A call that holds an inlined one has that one's address; gdb gives it once.
        same = before is not None and before.origin is Origin.INLINED and before.pc == frame.pc
        address = f"{frame.pc:#0{one.digits + 2}x} in " if frame.pc is not None and number and not same else ""
        name = frame.function or "??"
        if "(" not in name:
            name += " ()"
        place = f" at {frame.line}" if frame.line is not None and frame.line.file else _from(frame)
        yield f"#{number:<3}{address}{name}{place}"
    if one.stopped:
        yield f"Backtrace stopped: {one.stopped}"
    for unsure in one.names.unsure:
        if unsure.candidates:
            yield f"({unsure} above {_physical_name(one, unsure.physical)})"


def _from(frame: NamedFrame) -> str:
    return f" from {frame.module}" if not frame.function and frame.module is not None else ""


def _physical_name(one: Shown, physical: int) -> str:
    return next(frame.function for frame in one.physical if frame.physical == physical)


def lldb(one: Shown) -> Iterator[str]:
    """``bt`` of LLDB: ``module`function``, ``[inlined]``, ``[artificial]`` for a tail call."""
    yield "* thread #1"
    frames = one.names.frames
    for number, frame in enumerate(frames):
        star = "*" if number == 0 else " "
        outer = next(f for f in frames[number:] if f.physical == frame.physical and f.origin is not Origin.INLINED)
        name = frame.function or f"{frame.module_offset or 0:#x}"
        if frame.origin is Origin.INLINED:
            name = f"{outer.function} [inlined] {name}"
        line = frame.line
        place = ""
        if line is not None and line.file and line.line:
            place = f" at {line.file.rpartition('/')[2]}:{line.line}" + (f":{line.column}" if line.column else "")
        elif frame.offset:
            place = f" + {frame.offset}"
        artificial = " [artificial]" if frame.origin is Origin.TAIL_CALL else ""
        address = "" if frame.pc is None else f"{frame.pc:#0{one.digits + 2}x} "
        yield f"  {star} frame #{number}: {address}{frame.module or '???'}`{name}{place}{artificial}"


def perf(one: Shown) -> Iterator[str]:
    """One sample of ``perf script``: the address, the symbol with its offset, the file; ``(inlined)``."""
    for frame in one.names.frames:
        if frame.pc is None:
            continue  # a profile has no line without an address
        if frame.origin is Origin.INLINED:
            yield f"\t{frame.pc:>16x} {frame.function or '[unknown]'} (inlined)"
            continue
        if frame.origin is Origin.TAIL_CALL:
            continue  # perf reconstructs none
        name = f"{frame.function}+{frame.offset or 0:#x}" if frame.function else "[unknown]"
        yield f"\t{frame.pc:>16x} {name} ({frame.module.image.path.name if frame.module else '[unknown]'})"


def frames_data(one: Shown) -> dict[str, Any]:
    """The named frames as JSON: one object per call, and what is unsure."""
    return {
        "schema": 1,
        "frames": [_frame_data(frame) for frame in one.names.frames],
        "unsure": [
            {"frame": u.physical, "certainty": u.certainty.name, "because": u.because, "candidates": u.candidates}
            for u in one.names.unsure
        ],
        "stopped": one.stopped or None,
        "problems": [str(problem) for problem in one.names.problems],
    }


def _frame_data(frame: NamedFrame) -> dict[str, Any]:
    line = frame.line
    return {
        "origin": frame.origin.name,
        "frame": frame.physical,
        "pc": frame.pc,
        "is_return_address": frame.caller,
        "module": frame.module.image.path.name if frame.module else None,
        "module_offset": frame.module_offset,
        "function": frame.function or None,
        "symbol": frame.symbol or None,
        "offset": frame.offset,
        "file": line.file if line else None,
        "line": line.line or None if line else None,
        "column": line.column or None if line else None,
    }
