"""The catalogue of output dialects: a name that people know, and the function that prints in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from testbed.arch import PerIsa
from testbed.image import LoadedImage
from testbed.naming.symbolize import NamedFrame, Origin
from testbed.report.debugger_styles import PrintedBacktrace, frames_data, gdb, lldb, perf, shown

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


__all__ = ["STYLES", "PrintedBacktrace", "shown"]


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
