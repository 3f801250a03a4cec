"""What runs in the Python that LLDB's module is for, as a script: requests in, LLDB's frames out.

Nothing of the testbed is imported here. The arguments are LLDB's Python path and two file descriptors, of requests and
replies: lines of JSON as `testbed.referee.process.debugger` has them. Which unwind plan LLDB took for a frame it says
in its log only.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from typing import IO, Any

sys.path.insert(0, sys.argv[1])

import lldb

_PLAN = re.compile(
    r"th\d+/fr(\d+) (?:initialized frame .* using (.*) UnwindPlan|Using (?:full|fast) unwind plan '(.*)')"
)
_INSTEAD = re.compile(r"th\d+/fr(\d+) trying to unwind from this function with the UnwindPlan '(.*?)' because")
_TRAP = re.compile(r"th\d+/fr(\d+) .*(?:TrapHandler|trap handler)", re.I)


class Debugger:
    """LLDB with one program open, and its log from where it was last read."""

    def __init__(self) -> None:
        self.debugger = lldb.SBDebugger.Create()
        self.debugger.SetAsync(False)
        self.process: Any = None
        self.log: IO[str] = tempfile.NamedTemporaryFile("r", errors="replace", suffix=".log")  # noqa: SIM115
        self.debugger.HandleCommand(f"log enable -f {self.log.name} lldb unwind")

    def open_images(self, files: list[list[Any]], port: int, triple: str) -> dict[str, Any]:
        """Forget the program of before, take this one."""
        if self.process is not None:
            self.process.Detach()
            self.debugger.DeleteTarget(self.process.GetTarget())
            lldb.SBModule.GarbageCollectAllocatedModules()
        self.process = None
        if not files:
            raise RuntimeError("LLDB needs a program file")
        error = lldb.SBError()
        target = self.debugger.CreateTarget(str(files[0][0]), triple, None, False, error)
        if error.Fail():
            raise RuntimeError(f"LLDB does not open {files[0][0]}: {error}")
        for path, _ in files[1:]:
            target.AddModule(str(path), triple, None)
        address = f"connect://127.0.0.1:{port}"
        self.process = target.ConnectRemote(self.debugger.GetListener(), address, "gdb-remote", error)
        if error.Fail():
            raise RuntimeError(f"LLDB does not connect: {error}")
        for i, (_, bias) in enumerate(files):
            target.SetModuleLoadAddress(target.GetModuleAtIndex(i), bias)
        return {"version": self.debugger.GetVersionString()}

    def backtrace(self, registers: dict[str, str], everything: dict[str, str], limit: int) -> dict[str, Any]:
        """LLDB's frames at the snapshot that the target shows now. It never says why there are no more."""
        error = self.process.Continue()  # so that it forgets the one before
        if error.Fail():
            raise RuntimeError(f"LLDB does not go on: {error}")
        self.log.seek(0, os.SEEK_END)
        thread = self.process.GetThreadAtIndex(0)
        frames = []
        for i in range(limit + 1):
            frame = thread.GetFrameAtIndex(i)
            if not frame.IsValid():
                break
            frames.append(frame)
        too_many = len(frames) > limit
        plans, signals = self.told()
        said = []
        for level, frame in enumerate(physical(frames)):
            names = everything if level and level - 1 in signals else registers
            values = {} if too_many or not level else values_of(frame, names)
            cfa = frame.GetCFA()
            said.append(
                {
                    "pc": frame.GetPC(),
                    "kind": "signal" if level in signals else "normal",
                    "unwinder": plans.get(level, ""),
                    "cfa": None if cfa == lldb.LLDB_INVALID_ADDRESS else cfa,
                    "registers": values,
                }
            )
        return {"frames": said, "stop": ["limit", f"more than {limit} frames"] if too_many else ["end", ""]}

    def told(self) -> tuple[dict[int, str], set[int]]:
        """From the log, by number of the physical frame: the unwind plan taken, and which are signal frames."""
        plans: dict[int, str] = {}
        signals = set()
        for line in self.log:
            if match := _PLAN.search(line):
                plans[int(match[1])] = match[2] or match[3]
            elif match := _INSTEAD.search(line):
                plans[int(match[1])] = match[2]
            elif match := _TRAP.search(line):
                signals.add(int(match[1]))
        return plans, signals


def physical(frames: list[Any]) -> list[Any]:
    """One frame for each that is on the stack.

    LLDB shows the inlined calls of one before it, with its CFA; the innermost of these has its pc and registers, the
    others a place in the code. At the first instruction of an inlined call it does not: that has not begun yet. Tail
    calls that it concludes are none.
    """
    out = []
    inside = None
    for frame in frames:
        if frame.IsArtificial():
            continue
        if inside is None or frame.GetCFA() != inside:
            out.append(frame)
        inside = frame.GetCFA() if frame.IsInlined() else None
    return out


def values_of(frame: Any, names: dict[str, str]) -> dict[str, int]:
    """The registers that LLDB shows in a frame: of a vector the low half."""
    values = {}
    for ours, name in names.items():
        shown = frame.FindRegister(name)
        if not shown.IsValid() or shown.GetError().Fail() or (shown.GetValue() is None and not shown.GetNumChildren()):
            continue
        data = shown.GetData()
        error = lldb.SBError()
        size = data.GetByteSize()
        value = data.GetUnsignedInt64(error, 0) if size >= 8 else data.GetUnsignedInt32(error, 0) if size >= 4 else None
        if value is not None and error.Success():
            values[ours] = value
    return values


def main(requests: int, replies: int) -> None:
    """Answer requests, a line of JSON each, until the pipe ends: files to open, or registers to unwind from."""
    debugger = Debugger()
    with os.fdopen(requests, encoding="ascii") as lines, os.fdopen(replies, "w", encoding="ascii") as out:
        for line in lines:
            request = json.loads(line)
            try:
                if "open" in request:
                    reply = debugger.open_images(request["open"], request["port"], request["triple"])
                else:
                    reply = debugger.backtrace(request["registers"], request["all"], request["limit"])
            except RuntimeError as error:
                reply = {"refused": str(error)}
            print(json.dumps(reply), file=out, flush=True)


main(int(sys.argv[2]), int(sys.argv[3]))
