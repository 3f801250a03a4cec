"""The catalogue of output dialects: a name that people know, and the function that prints in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from testbed.arch import PerIsa
from testbed.contract.unwinder import Backtrace
from testbed.image import LoadedImage
from testbed.image.debug import debug_info
from testbed.naming.symbolize import NamedBacktrace, NamedFrame, Origin
from testbed.report import JSON_VERSION
from testbed.trace import Snapshot

# A named backtrace as crash reporters and libraries print it: Android, iOS, glibc, libunwind.
#
# All but iOS show physical frames only: what these libraries find on a stack.

_PER_LINE = 4  # registers


@dataclass(frozen=True, slots=True)
class _CallSize:
    """``size`` is how many bytes a return address lies behind the shortest call instruction's beginning, or (1) its
    last byte. The 4 bytes before one are a single call where all bits of ``wide`` are set."""

    size: int
    wide: int | None = None


_CALLS = PerIsa(
    {
        "x86_64": _CallSize(1),
        "arm64": _CallSize(4),
        "a32": _CallSize(4),
        "thumb": _CallSize(2, wide=0xE000_F000),
    }
)


def glibc(one: PrintedBacktrace) -> Iterator[str]:
    """``backtrace_symbols``: ``file(symbol+0xe) [0x4008f0]``, the linker's name, the return address as it is."""
    for frame in one.physical:
        if frame.module is None or frame.pc is None:
            yield f"[{frame.pc:#x}]"
            continue
        inside = f"{frame.symbol}+{frame.offset:#x}" if frame.symbol else f"+{frame.module_offset:#x}"
        yield f"./{one.file(frame, '')}({inside}) [{frame.pc:#x}]"


def libunwind(one: PrintedBacktrace) -> Iterator[str]:
    """A walk with ``unw_get_proc_name``: ``0x400920: (func+0x1c)``."""
    for frame in one.physical:
        name = f"({frame.symbol}+{frame.offset:#x})" if frame.symbol else "-- no symbol name for this frame"
        yield f"{frame.pc:#x}: {name}"


def android(one: PrintedBacktrace) -> Iterator[str]:
    """A tombstone's register block and backtrace: ``#00 pc 0001cb16  libc.so (abort+57)``, the offset decimal.

    A caller's pc is that of its call instruction, as libunwindstack adjusts it.
    """
    arch, registers = one.snapshot.arch, one.snapshot.registers
    names = [register.name for register in arch.registers]
    general = names[: names.index(arch.pc) + 1]
    spelled = {arch.link: "lr"} if arch.link else {}
    width = max(len(spelled.get(name, name)) for name in general)
    values = {name: f"{value:0{one.digits}x}" for name, value in registers.items()}
    cells = [f"{spelled.get(name, name):<{width}} {values.get(name, '?' * one.digits)}" for name in general]
    for start in range(0, len(cells), _PER_LINE):
        yield "    " + "  ".join(cells[start : start + _PER_LINE])
    yield ""
    yield "backtrace:"
    for number, frame in enumerate(one.physical):
        pc = frame.pc or 0
        back = 0 if not frame.caller else _back_to_call(frame.module, pc)
        relative = (pc if frame.module is None else pc - frame.module.bias) - back
        file = one.file(frame, "<unknown>")
        name = (
            f" ({frame.function}+{(frame.offset or 0) - back})" if frame.function and frame.offset is not None else ""
        )
        yield f"      #{number:02} pc {relative:0{one.digits}x}  {file}{name}"


def _back_to_call(module: LoadedImage | None, pc: int) -> int:
    """How far before a return address its call instruction begins (x86: one byte, inside it)."""
    if module is None:
        return 1
    link = pc - module.bias
    call = _CALLS[module.image.isa_at(link - 1).name]
    if call.wide is not None:
        for segment in module.image.segments:
            at = link - 4 - segment.address
            if at >= 0 and at + 4 <= len(segment.data):
                before = int.from_bytes(segment.data[at : at + 4], "little")
                return 4 if before & call.wide == call.wide else call.size
    return call.size


def ios(one: PrintedBacktrace) -> Iterator[str]:
    """A crash report's thread: number, image, address, ``symbol + offset``, the place; inlined calls are marked."""
    number = 0
    for frame in one.names.frames:
        if frame.pc is None or frame.origin is Origin.TAIL_CALL:
            continue  # a crash report reconstructs none
        file = one.file(frame, "???")
        yield f"{number:<4}{file:<30}\t{frame.pc:#018x} {_ios_name(one, frame)}"
        number += 1


def _ios_name(one: PrintedBacktrace, frame: NamedFrame) -> str:
    base = frame.module.bias if frame.module else 0
    place = f" ({frame.line.file.rpartition('/')[2]}:{frame.line.line})" if frame.line and frame.line.file else ""
    if not frame.function:
        return f"{base:#x} + {(frame.pc or 0) - base}"
    outer = next(f for f in one.physical if f.physical == frame.physical)
    offset = f" + {outer.offset}" if outer.offset is not None else ""
    return f"{frame.function}{offset}{' [inlined]' if frame.origin is Origin.INLINED else ''}{place}"


# A named backtrace as debuggers and profilers print it: gdb, LLDB, perf script; and as JSON.
#
# Arguments are not shown: a backtrace has no values for them.


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
            above = next(frame.function for frame in one.physical if frame.physical == unsure.physical)
            yield f"({unsure} above {above})"


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


def as_json(one: PrintedBacktrace) -> Iterator[str]:
    """Everything, for programs."""
    yield json.dumps(frames_data(one), indent=1)


STYLES: Mapping[str, Callable[[PrintedBacktrace], Iterator[str]]] = MappingProxyType(
    {
        "gdb": gdb,
        "lldb": lldb,
        "glibc": glibc,
        "libunwind": libunwind,
        "android": android,
        "ios": ios,
        "perf": perf,
        "json": as_json,
    }
)
