"""gdb: its own unwinders, at snapshots that it sees over its remote protocol. One process per mode, many programs.

gdb takes the first of its unwinders that knows a pc: the DWARF one, ARM's by EHABI, one that knows signal trampolines
by their code, and last the architecture's analyser of prologues. Which files it gets decides which of them come out.

Settings, and why: the OS ABI is Linux, which decides how signal frames are known and which these files do not say;
`backtrace past-main`, because a snapshot's stack does not end at main. All else is as gdb comes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from testbed.arch import Arch
from testbed.arch.gdb_targets import gdb_target
from testbed.errors import (
    NoProgress,
    NoUnwindInfo,
    ToolCrashed,
    ToolHung,
    UnreadableMemory,
    UnwindError,
)
from testbed.image import LoadedImage
from testbed.referee.child import Child
from testbed.referee.gdb_limits import WITH_EHABI, WITH_TABLES, WITHOUT_TABLES
from testbed.referee.model import Found, Referee
from testbed.referee.without_tables import DWARF, OTHERS, TABLES, file_of, without_tables
from testbed.remote import Shown, listen, serve
from testbed.trace import Snapshot
from testbed.unwinder import Backtrace, Frame, FrameKind, Unwinder

PROGRAM = "gdb-multiarch"
MAX_FRAMES = 1024
SECONDS = 20.0  # for one snapshot; opening a program is one too
PATIENCE = 3  # snapshots of one program that may hang before the rest of it is not asked any more

_INSIDE = Path(__file__).with_name("inside_gdb.py")
_SETTINGS = (
    "set confirm off",
    "set pagination off",
    "set debuginfod enabled off",
    "set auto-load off",
    "set osabi GNU/Linux",
    "set backtrace past-main on",
    "set trust-readonly-sections on",
    "set sysroot",
    "maint set internal-error quit yes",
    "maint set internal-error corefile no",
)
_ENDS = frozenset({"NO_REASON", "OUTERMOST"})
_STOPS: Mapping[str, Callable[[str], UnwindError]] = {
    "NULL_ID": NoUnwindInfo,
    "NO_SAVED_PC": NoUnwindInfo,
    "UNAVAILABLE": NoUnwindInfo,
    "INNER_ID": NoProgress,
    "SAME_ID": NoProgress,
    "limit": NoProgress,
}
SIGNAL = "signal"


@cache
def find() -> Found | None:
    path = shutil.which(PROGRAM)
    if path is None:
        return None
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"GNU gdb .*?([\d.]+)\s*$", done.stdout.partition("\n")[0])
    return Found(match[1], path) if match else None


def version() -> str:
    found = find()
    return f"gdb {found.version}" if found else "gdb"


@dataclass(slots=True)
class Session:
    """gdb in one mode: its process, the program that it has open, and the target that it asks."""

    removed: frozenset[str]
    command: Callable[[int, int], Sequence[str]]
    seconds: float = SECONDS
    child: Child | None = None
    images: tuple[LoadedImage, ...] = ()
    hung: int = 0
    shown: Shown | None = None
    port: int = 0
    _serving: threading.Thread | None = field(default=None, repr=False)

    def ask(self, snapshot: Snapshot) -> Mapping[str, Any]:
        """What gdb says of a snapshot. Raises ToolCrashed or ToolHung; the next question finds a new process."""
        if self.child is not None and not self.child.ours:  # forked since: the process is the parent's
            self.child, self._serving, self.images = None, None, ()
        if self.images != snapshot.images:
            self.hung = 0
        if self.hung >= PATIENCE:
            raise ToolHung(f"{self.hung} snapshots of this program got no answer; it is not asked any more")
        try:
            if self.child is None or self.images != snapshot.images:
                self._open(snapshot)
            assert self.child is not None and self.shown is not None
            self.shown.snapshot = snapshot
            reply: Mapping[str, Any] = self.child.ask(request_for(snapshot.arch), seconds=self.seconds)
        except (ToolCrashed, ToolHung) as error:
            self.child = None
            self.hung += isinstance(error, ToolHung)
            raise
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
            self.child = Child(self.command)
        self.child.ask({"open": files, "port": self.port}, seconds=self.seconds)

    def _serve(self, snapshot: Snapshot) -> None:
        listener = listen()
        self.port = listener.getsockname()[1]
        self.shown = Shown(snapshot)
        answer = self.shown.answer
        self._serving = threading.Thread(target=serve, args=(listener, lambda: answer), daemon=True)
        self._serving.start()


def command(requests: int, replies: int) -> Sequence[str]:
    settings = [part for setting in _SETTINGS for part in ("-iex", setting)]
    pipes = f"python testbed_pipes = {requests}, {replies}"
    return [PROGRAM, "-nx", "-q", "-batch", *settings, "-ex", pipes, "-x", str(_INSIDE)]


@cache
def session(removed: frozenset[str], arch: Arch) -> Session:
    """The one session of a mode in this process; gdb does not take a program of another architecture later."""
    return Session(removed, command)


@cache
def request_for(arch: Arch) -> Mapping[str, Any]:
    """The question, the same at every snapshot: which registers of callers, and of what a signal interrupted.

    By gdb's own names of them, as the remote protocol has them: gdb before version 15 shows those that are parts of
    others, such as arm64's d8, as they are in the innermost frame.
    """
    theirs = {ours: name for name, ours in gdb_target(arch).ours.items()}
    everything = {name: theirs.get(name, name) for name in arch.by_name if name != arch.flags}
    kept = {name: everything[name] for name in (*arch.preserved, arch.sp)}
    return {"registers": kept, "all": everything, "limit": MAX_FRAMES}


def unwind(removed: frozenset[str], snapshot: Snapshot) -> Backtrace:
    """gdb's backtrace; a crash, or no answer in time, is why it stopped."""
    innermost = Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, found_by="registers")
    try:
        return backtrace_of(snapshot, session(removed, snapshot.arch).ask(snapshot))
    except UnwindError as stop:
        stop.pc = snapshot.pc
        return Backtrace((innermost,), stop)


def backtrace_of(snapshot: Snapshot, reply: Mapping[str, Any]) -> Backtrace:
    """A reply as a value. A last frame with pc 0 is gdb's mark of the outermost one, and is none itself."""
    arch = snapshot.arch
    said = reply["frames"]
    stopped = _stop_of(arch, *reply["stop"])
    if len(said) > 1 and said[-1]["pc"] == 0 and said[-2]["kind"] != SIGNAL:
        said, stopped = said[:-1], None
    cfa = said[0]["cfa"] if said else None  # none: gdb could not even read what stands at pc
    frames = [Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, cfa, "registers")]
    for inner, frame in pairwise(said):
        kind = FrameKind.INTERRUPTED if inner["kind"] == SIGNAL else FrameKind.CALLER
        pc = arch.code_address(frame["pc"])
        # gdb's integers are signed where it says nothing else.
        registers = {name: value & ((1 << arch.by_name[name].bits) - 1) for name, value in frame["registers"].items()}
        frames.append(Frame(kind, pc, {**registers, arch.pc: pc}, frame["cfa"], inner["unwinder"]))
    if stopped is not None:
        stopped.pc = frames[-1].pc
    return Backtrace(tuple(frames), stopped)


def _stop_of(arch: Arch, reason: str, text: str) -> UnwindError | None:
    """gdb's reason for having no more frames; None where it means that there are none."""
    if reason in _ENDS:
        return None
    if address := re.search(r"at address 0x([0-9a-f]+)", text):
        return UnreadableMemory(int(address[1], 16), arch.word)
    return _STOPS.get(reason, NoUnwindInfo)(text)


def _unwinder(name: str, summary: str, removed: Collection[str], **rest: Any) -> Unwinder:
    kept = frozenset(removed)
    return Unwinder(name=name, summary=summary, unwind=partial(unwind, kept), tool=version, **rest)


GDB = Referee(
    name="gdb",
    summary="the GNU debugger, over its remote protocol",
    package="apt install gdb-multiarch",
    find=find,
    unwinders=(
        _unwinder("gdb", "gdb with all tables", (), needs=frozenset({".text"}), limits=WITH_TABLES),
        _unwinder(
            "gdb_exidx",
            "gdb with EHABI tables only",
            DWARF | OTHERS,
            needs=frozenset({".text", ".ARM.exidx"}),
            limits=WITH_EHABI,
        ),
        _unwinder(
            "gdb_no_tables", "gdb's analysers of prologues", TABLES, needs=frozenset({".text"}), limits=WITHOUT_TABLES
        ),
    ),
)
