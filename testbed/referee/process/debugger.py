"""A debugger in a process of its own that looks at snapshots over the remote protocol, one after the other.

What runs inside it (`testbed.referee.gdb.inside`, `testbed.referee.lldb.inside`) is asked by lines of JSON::

    {"open": [[file, bias], ...], "port": N, "triple": T}    -> anything
    {"registers": {...}, "all": {...}, "limit": N}           -> {"frames": [...], "stop": [name, text]}
                                                     either  -> {"refused": text}

Registers are asked for as {our name: the debugger's}; ``all`` is for a frame that a signal interrupted. A frame is
{"pc", "kind": "normal" or "signal", "unwinder", "cfa", "registers"}.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

from testbed.arch import Arch
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, nothing_found
from testbed.conventions import platform
from testbed.image import LoadedImage
from testbed.referee.model import Find, Found
from testbed.referee.process.file_tool import JsonProcess
from testbed.referee.process.without_tables import file_of, without_tables
from testbed.remote import ShownSnapshot, listen, serve, triple
from testbed.remote.gdb_targets import GDB_TARGETS
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, ToolCrashed, ToolHung, UnwindError

MAX_FRAMES = 256  # gdb asks each frame through all inside it: 256 frames of one function take 2 s, 1024 take minutes
SECONDS = 20.0  # for one snapshot; opening a program is one too
PATIENCE = 3  # snapshots of one program that may hang before the rest of it is not asked any more
SIGNAL = "signal"

Reply = Mapping[str, Any]


@dataclass(slots=True)
class Session:
    """A debugger in one mode: its process, the program that it has open, and the target that it asks."""

    removed: frozenset[str]
    command: Callable[[int, int], Sequence[str]]
    afresh: bool = False  # open the program again for each snapshot: what was asked before must not matter
    seconds: float = SECONDS
    child: JsonProcess | None = None
    images: tuple[LoadedImage, ...] = ()
    hung: int = 0
    shown: ShownSnapshot | None = None
    port: int = 0
    _serving: threading.Thread | None = field(default=None, repr=False)

    def ask(self, snapshot: Snapshot) -> Reply:
        """What it says of a snapshot.

        Raises ToolCrashed or ToolHung, after which the next question finds a new process; NoUnwindInfo where it does
        not take the program.
        """
        if self.child is not None and not self.child.ours:  # forked since: the process is the parent's
            self.child, self._serving, self.images = None, None, ()
        if self.images != snapshot.images:
            self.hung = 0
        if self.hung >= PATIENCE:
            raise ToolHung(f"{self.hung} snapshots of this program got no answer; it is not asked any more")
        try:
            if self.child is None or self.afresh or self.images != snapshot.images:
                self._open(snapshot)
            assert self.child is not None and self.shown is not None
            self.shown.snapshot = snapshot
            return self._answered(self.child, request_for(snapshot.arch))
        except (ToolCrashed, ToolHung) as error:
            self.child = None
            self.hung += isinstance(error, ToolHung)
            raise

    def _answered(self, child: JsonProcess, request: Mapping[str, Any]) -> Reply:
        reply: Reply = child.ask(request, seconds=self.seconds)
        if "refused" in reply:
            self.images = ()
            raise NoUnwindInfo(f"the debugger refuses: {reply['refused']}")
        return reply

    def _open(self, snapshot: Snapshot) -> None:
        self.images = snapshot.images
        if self._serving is None:
            self._serve(snapshot)
        assert self.shown is not None
        self.shown.snapshot = snapshot
        files = []
        for loaded in snapshot.images:
            path = file_of(loaded.image)
            files.append([str(without_tables(path, removed=self.removed) if self.removed else path), loaded.bias])
        if self.child is None:
            self.child = JsonProcess(self.command, ports=(self.port,))
        self._answered(self.child, {"open": files, "port": self.port, "triple": triple(snapshot)})

    def _serve(self, snapshot: Snapshot) -> None:
        listener = listen()
        self.port = listener.getsockname()[1]
        self.shown = ShownSnapshot(snapshot)
        answer = self.shown.answer
        self._serving = threading.Thread(target=serve, args=(listener, lambda: answer), daemon=True)
        self._serving.start()


@cache
def request_for(arch: Arch) -> Mapping[str, Any]:
    """The question, the same at every snapshot: which registers of callers, and of what a signal interrupted.

    By the names that the remote protocol gives them: gdb before version 15 shows those that are parts of others, such
    as arm64's d8, as they are in the innermost frame.
    """
    theirs = {ours: name for name, ours in GDB_TARGETS[arch.name].ours.items()}
    everything = {name: theirs.get(name, name) for name in arch.by_name if name != arch.flags}
    kept = {name: everything[name] for name in (*platform(arch).preserved, arch.sp)}
    return {"registers": kept, "all": everything, "limit": MAX_FRAMES}


def backtrace(snapshot: Snapshot, said: Sequence[Mapping[str, Any]], stopped: UnwindError | None) -> Backtrace:
    """The frames of a reply as values; the interrupted one is there even if the debugger could not read it."""
    arch = snapshot.arch
    cfa = said[0]["cfa"] if said else None
    frames = [Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, cfa, "registers")]
    for inner, frame in pairwise(said):
        kind = FrameKind.INTERRUPTED if inner["kind"] == SIGNAL else FrameKind.CALLER
        pc = arch.code_address(frame["pc"])
        # A debugger's integers are signed where it says nothing else.
        registers = {name: value & ((1 << arch.by_name[name].bits) - 1) for name, value in frame["registers"].items()}
        frames.append(Frame(kind, pc, {**registers, arch.pc: pc}, frame["cfa"], inner["unwinder"]))
    if stopped is not None:
        stopped.pc = frames[-1].pc
    return Backtrace(tuple(frames), stopped)


def asked(
    session: Callable[[Found | None, frozenset[str], Arch], Session],
    backtrace_of: Callable[[Snapshot, Reply], Backtrace],
    find: Find,
    removed: frozenset[str],
    snapshot: Snapshot,
) -> Backtrace:
    """A debugger's backtrace; a crash, or no answer in time, is why it stopped."""
    try:
        return backtrace_of(snapshot, session(find(), removed, snapshot.arch).ask(snapshot))
    except UnwindError as stop:
        return nothing_found(snapshot, stop)
