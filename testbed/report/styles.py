"""The catalogue of output dialects: a name that people know, and the function that prints in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from testbed.report.crash_styles import android, glibc, ios, libunwind
from testbed.report.debugger_styles import PrintedBacktrace, frames_data, gdb, lldb, perf, shown

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
