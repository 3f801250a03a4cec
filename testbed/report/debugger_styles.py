"""A named backtrace as debuggers and profilers print it: gdb, LLDB, perf script; and as JSON.

Arguments are not shown: a backtrace has no values for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from testbed.contract.frames import Backtrace
from testbed.image.debug import debug_info
from testbed.naming.symbolize import NamedBacktrace, NamedFrame, Origin
from testbed.report import JSON_VERSION
from testbed.trace import Snapshot


@dataclass(frozen=True, slots=True)
class PrintedBacktrace:
    """What a style prints: the named frames, the snapshot they belong to, and why the walk stopped ("": the root).

    ``program`` is what the snapshot's first image is called, where its file's name in a cache is not what people know.
    """

    names: NamedBacktrace
    snapshot: Snapshot
    stopped: str = ""
    program: str = ""

    @property
    def digits(self) -> int:
        """Hexadecimal digits of an address."""
        return 2 * self.snapshot.arch.word

    def file(self, frame: NamedFrame, unknown: str) -> str:
        """The name of the file that a frame's code is in."""
        if frame.module is None:
            return unknown
        own = self.program and frame.module is self.snapshot.images[0]
        return self.program if own else frame.module.image.path.name

    @property
    def physical(self) -> list[NamedFrame]:
        return [frame for frame in self.names.frames if frame.origin is Origin.PHYSICAL]


def shown(snapshot: Snapshot, said: Backtrace, names: NamedBacktrace, program: str = "") -> PrintedBacktrace:
    """A backtrace with its names, ready for a style."""
    stopped = "" if said.stopped is None else f"{said.stopped.reason}: {said.stopped}"
    return PrintedBacktrace(names, snapshot, stopped, program)


def gdb(one: PrintedBacktrace) -> Iterator[str]:
    """``bt`` of gdb. A frame's address stands where execution is not at the start of a line."""
    for number, frame in enumerate(one.names.frames):
        address = f"{frame.pc:#0{one.digits + 2}x} in " if _shows_address(one, number) else ""
        name = frame.function or "??"
        if "(" not in name:
            name += " ()"
        place = f" at {frame.line}" if frame.line is not None and frame.line.file else ""
        yield f"#{number:<3}{address}{name}{place}"
    if one.stopped:
        yield f"Backtrace stopped: {one.stopped}"
    for unsure in one.names.unsure:
        if unsure.candidates:
            yield f"({unsure} above {_physical_name(one, unsure.physical)})"


def _shows_address(one: PrintedBacktrace, number: int) -> bool:
    """Not for a call that holds an inlined one, which has the same; not where execution is at the start of a line."""
    frame = one.names.frames[number]
    if frame.pc is None:
        return False
    if number and (before := one.names.frames[number - 1]).origin is Origin.INLINED and before.pc == frame.pc:
        return False
    if frame.caller or frame.module is None or frame.line is None:
        return True
    return not debug_info(frame.module.image).begins_line(frame.pc - frame.module.bias)


def _physical_name(one: PrintedBacktrace, physical: int) -> str:
    return next(frame.function for frame in one.physical if frame.physical == physical)


def lldb(one: PrintedBacktrace) -> Iterator[str]:
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
        yield f"  {star} frame #{number}: {address}{one.file(frame, '???')}`{name}{place}{artificial}"


def perf(one: PrintedBacktrace) -> Iterator[str]:
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
        yield f"\t{frame.pc:>16x} {name} ({one.file(frame, '[unknown]')})"


def frames_data(one: PrintedBacktrace) -> dict[str, Any]:
    """The named frames as JSON: one object per call, and what is unsure."""
    return {
        "schema": JSON_VERSION,
        "frames": [_frame_data(one, frame) for frame in one.names.frames],
        "unsure": [
            {"frame": u.physical, "certainty": u.certainty.name, "because": u.because, "candidates": u.candidates}
            for u in one.names.unsure
        ],
        "stopped": one.stopped or None,
        "problems": [str(problem) for problem in one.names.problems],
    }


def _frame_data(one: PrintedBacktrace, frame: NamedFrame) -> dict[str, Any]:
    line = frame.line
    return {
        "origin": frame.origin.name,
        "frame": frame.physical,
        "pc": frame.pc,
        "is_return_address": frame.caller,
        "module": one.file(frame, "") or None,
        "module_offset": frame.module_offset,
        "function": frame.function or None,
        "symbol": frame.symbol or None,
        "offset": frame.offset,
        "file": line.file if line else None,
        "line": line.line or None if line else None,
        "column": line.column or None if line else None,
    }
