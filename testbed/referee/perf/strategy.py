"""Linux perf: what `perf script` makes of samples that `perf record --call-graph dwarf` would have written.

One `perf script` reads a stream of samples, one per snapshot, and answers each at once: registers, 8 KiB of the stack,
the files. It remembers rows between them, as for any profile. Debian's perf unwinds with nongnu libunwind, over
`.eh_frame_hdr`'s table, then `.debug_frame`; where neither has a row, libunwind guesses. What comes out is a list of
addresses: no registers, and no word on why the list ends.

Of a caller perf lists the address before its pc, so that it lies in the call; of a frame that a signal interrupted, the
pc as it is. That is taken back here: where the frame before it is at the instructions of Linux's signal trampoline, an
address is the pc; elsewhere the pc is the one behind it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from testbed.arch import Arch
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.unwinder import Unwinder
from testbed.image import LoadedImage
from testbed.referee.model import Found, Referee
from testbed.referee.perf.records import NAMES, opening, sample
from testbed.referee.process.every_register import with_every_register
from testbed.referee.process.json_lines import JsonProcess
from testbed.referee.read_findings import read_findings
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, ToolCrashed, ToolHung, UnreadableMemory

MAX_FRAMES = 1024
SECONDS = 20.0  # for one snapshot; one takes half a millisecond, the first 0.1 s
# mov $15, %eax or %rax; syscall: with the bytes from its beginning to each of its two instructions.
_TRAMPOLINES = tuple((bytes.fromhex(move + "0f05"), (0, len(move) // 2)) for move in ("b80f000000", "48c7c00f000000"))
_INSIDE = Path(__file__).with_name("inside.py")
_OPTIONS = ("--no-inline", "--no-demangle", "--max-stack", str(MAX_FRAMES))


@cache
def find() -> Found | None:
    """A perf that unwinds with libunwind and can run our script; another one is not taken."""
    path = shutil.which("perf")
    if path is None:
        return None
    try:
        told = subprocess.run(
            [path, "version", "--build-options"], capture_output=True, text=True, timeout=20, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r"perf version (\S+)", told)
    has = {name for name in ("libunwind", "libpython") if re.search(rf"\b{name}: \[ on", told)}
    return Found(f"{version[1]} with libunwind", path) if version and len(has) == 2 else None


@dataclass(slots=True)
class PerfScript:
    """One process of perf, and the program that it was told of."""

    images: tuple[LoadedImage, ...]
    process: JsonProcess
    asked: int = 0

    def addresses(self, snapshot: Snapshot) -> list[int]:
        """What perf lists. Raises ToolCrashed or ToolHung."""
        self.asked += 1
        return [int(each) for each in self.process.ask_bytes(sample(snapshot, self.asked), seconds=SECONDS)]


_RUNNING: list[PerfScript] = []


def command(requests: int, replies: int) -> Sequence[str]:
    """perf with the stream as its standard input: it takes no other for one."""
    found = find()
    assert found is not None, "perf is not installed"
    perf = (found.path, "--buildid-dir", os.devnull, "script", "-i", "-", *_OPTIONS, "-s", str(_INSIDE))
    return ["env", f"TESTBED_REPLIES={replies}", *perf]


def _script(snapshot: Snapshot) -> PerfScript:
    if _RUNNING and not (_RUNNING[0].images == snapshot.images and _RUNNING[0].process.ours):
        _RUNNING.pop().process.close()
    if not _RUNNING:
        environment = {"PERF_CONFIG": os.devnull, "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
        process = JsonProcess(command, environment=environment, standard_input=True)
        process.tell(opening(snapshot.images))
        _RUNNING.append(PerfScript(snapshot.images, process))
    return _RUNNING[0]


def unwind(snapshot: Snapshot) -> Backtrace:
    """What perf says; a crash and a hang are a stop at the interrupted frame."""
    first = Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, found_by="registers")
    try:
        listed = _script(snapshot).addresses(snapshot)
    except (ToolCrashed, ToolHung) as stop:
        _RUNNING.clear()
        stop.pc = snapshot.pc
        return Backtrace((first,), stop)
    if not listed:
        stopped = NoUnwindInfo("perf has no address for this sample")
        stopped.pc = snapshot.pc
        return Backtrace((first,), stopped)
    return Backtrace(_frames(snapshot, first, listed[1:]), None)


def _frames(snapshot: Snapshot, first: Frame, addresses: Iterable[int]) -> tuple[Frame, ...]:
    frames = [first]
    for address in addresses:
        signalled = _in_trampoline(snapshot, frames[-1].pc)
        kind = FrameKind.INTERRUPTED if signalled else FrameKind.CALLER
        pc = address if signalled else (address + 1) & (1 << 64) - 1
        frames.append(Frame(kind, pc, {snapshot.arch.pc: pc}, found_by="perf"))
    return tuple(frames)


def _in_trampoline(snapshot: Snapshot, pc: int) -> bool:
    return any(_reads(snapshot, pc - skip, code) for code, skips in _TRAMPOLINES for skip in skips)


def _reads(snapshot: Snapshot, address: int, code: bytes) -> bool:
    try:
        return address >= 0 and snapshot.memory.read(address, len(code)) == code
    except UnreadableMemory:
        return False


def version() -> str:
    """What a person calls the perf that is installed: its name and version."""
    found = find()
    return f"perf {found.version}" if found else "perf is not installed"


def _sampled(arch: Arch) -> Iterable[str]:
    return NAMES


REFEREE = Referee(
    name="perf",
    summary="Linux perf script, on samples with registers and 8 KiB of the stack",
    package="apt-get install linux-perf",
    find=find,
    unwinders=(
        Unwinder(
            name="perf",
            summary="Linux perf, as built with libunwind: .eh_frame_hdr's table, .debug_frame, then guesses; pcs only",
            unwind=with_every_register(unwind, _sampled),
            arches=frozenset({"x86_64"}),
            needs=frozenset({".eh_frame_hdr"}),
            counted=True,
            tool=version,
        ),
    ),
    findings=read_findings(__file__),
)
