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
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from testbed.arch import Arch
from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Unwinder
from testbed.referee.model import Found, Referee
from testbed.referee.process.debugger import SIGNAL, Reply, Session, frames_of, nothing_said
from testbed.referee.process.without_tables import DWARF, OTHERS, TABLES
from testbed.referee.read_findings import read_findings
from testbed.trace import Snapshot
from testbed.words.errors import (
    NoProgress,
    NoUnwindInfo,
    UnreadableMemory,
    UnwindError,
)

PROGRAM = "gdb-multiarch"

_INSIDE = Path(__file__).with_name("inside.py")
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


def command(requests: int, replies: int) -> Sequence[str]:
    settings = [part for setting in _SETTINGS for part in ("-iex", setting)]
    pipes = f"python testbed_pipes = {requests}, {replies}"
    return [PROGRAM, "-nx", "-q", "-batch", *settings, "-ex", pipes, "-x", str(_INSIDE)]


@cache
def session(removed: frozenset[str], arch: Arch) -> Session:
    """The one session of a mode in this process; gdb does not take a program of another architecture later."""
    return Session(removed, command)


def unwind(removed: frozenset[str], snapshot: Snapshot) -> Backtrace:
    """gdb's backtrace; a crash, or no answer in time, is why it stopped."""
    try:
        return backtrace_of(snapshot, session(removed, snapshot.arch).ask(snapshot))
    except UnwindError as stop:
        return nothing_said(snapshot, stop)


def backtrace_of(snapshot: Snapshot, reply: Reply) -> Backtrace:
    """A reply as a value. A last frame with pc 0 is gdb's mark of the outermost one, and is none itself."""
    said = reply["frames"]
    stopped = _stop_of(snapshot.arch, *reply["stop"])
    if len(said) > 1 and said[-1]["pc"] == 0 and said[-2]["kind"] != SIGNAL:
        said, stopped = said[:-1], None
    frames = frames_of(snapshot, said)
    if stopped is not None:
        stopped.pc = frames[-1].pc
    return Backtrace(frames, stopped)


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
        _unwinder(
            "gdb",
            "gdb with all tables",
            (),
            needs=frozenset({".text"}),
            counted=True,
        ),
        _unwinder(
            "gdb_exidx",
            "gdb with EHABI tables only",
            DWARF | OTHERS,
            needs=frozenset({".text", ".ARM.exidx"}),
            counted=True,
        ),
        _unwinder(
            "gdb_no_tables",
            "gdb's analysers of prologues",
            TABLES,
            needs=frozenset({".text"}),
            counted=True,
        ),
    ),
    by_hand="gdb-multiarch -batch -ex bt program snapshot.core",
    findings=read_findings(__file__),
)
