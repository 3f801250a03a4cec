"""drgn, the programmable debugger: its unwinder on a core file per snapshot, in a process of its own.

It unwinds by `.eh_frame` and `.debug_frame`, and tells every register that it recovers; the CFA it does not tell. A
`.debug_frame` is read from files with debug information only. Where a table says that there is no caller, drgn shows
one more frame, whose pc it does not know; where it cannot go on it just ends, and does not say why.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache, partial
from pathlib import Path

from testbed.arch import Arch
from testbed.contract.assumption import TableRow
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, Unwinder, followed
from testbed.export.core import core_bytes
from testbed.export.dumped_memory import image_range
from testbed.referee.model import Find, Found, OtherVersions, Referee, called, read_findings
from testbed.referee.process.file_tool import FileTool, python_script
from testbed.referee.process.limits import all_recorded, own_packages, wheel_in, with_every_register
from testbed.referee.process.without_tables import file_of
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, NoUnwindInfo, UnreadableMemory, UnwindError

PACKAGE = "drgn"
MAX_FRAMES = 1024
_INSIDE = Path(__file__).with_name("inside.py")


@cache
def find() -> Found | None:
    """The drgn that is installed for this Python; None where there is none."""
    own = own_packages(PACKAGE)
    return in_packages(own) if own else None


def in_packages(packages: str) -> Found | None:
    """The drgn in a folder of packages; None where there is none."""
    return wheel_in(packages, PACKAGE)


@cache
def asked_in(packages: str) -> FileTool:
    """The one process of a drgn."""
    return FileTool(python_script(_INSIDE, packages))


def unwind(find: Find, snapshot: Snapshot) -> Backtrace:
    """drgn's backtrace of a snapshot, by the drgn that ``find`` finds."""
    found = find()
    return unwind_by(asked_in(found.packages if found else ""), snapshot)


def unwind_by(asked: FileTool, snapshot: Snapshot) -> Backtrace:
    """What drgn says; a crash and a hang are a stop at the interrupted frame."""
    return followed(snapshot, _callers(asked, snapshot))


def _callers(asked: FileTool, snapshot: Snapshot) -> Iterator[Frame]:
    """drgn's frames as ours: the end of the stack is a frame without a pc, or a return address of zero."""
    arch, files = snapshot.arch, [[str(file_of(loaded.image)), *image_range(loaded)] for loaded in snapshot.images]
    said = asked.about(snapshot, core_bytes(snapshot), {"files": files, "most": MAX_FRAMES}, key="core")
    for told in said["frames"][1:]:
        if told["pc"] is None or (told["pc"] == 0 and not told["interrupted"]):
            return
        kind = FrameKind.INTERRUPTED if told["interrupted"] else FrameKind.CALLER
        pc = arch.code_address(told["pc"])
        yield Frame(kind, pc, _registers(arch, kind, told["registers"]) | {arch.pc: pc}, found_by="drgn")
    raise _stop(said["error"], len(said["frames"]))


def _registers(arch: Arch, kind: FrameKind, told: Mapping[str, int]) -> dict[str, int]:
    """The registers of ours among drgn's. A table's return-address column shows as the link register of the caller;
    what that held before the call, only a signal's frame can know."""
    hidden: Collection[str | None] = (arch.link,) if kind is FrameKind.CALLER else ()
    return {name: value for name, value in told.items() if name in arch.by_name and name not in hidden}


def _stop(error: str, frames: int) -> UnwindError:
    error = re.sub(r"/\S*/", "", error)  # a file's name says enough
    if error.startswith("FaultError"):
        stop = UnreadableMemory(0, 0)
        stop.args = (error,)
        return stop
    if frames >= MAX_FRAMES:
        return NoProgress(f"more than {MAX_FRAMES} frames")
    return NoUnwindInfo(error or "it found no caller, and does not say why")


def unwinders(find: Find) -> tuple[Unwinder, ...]:
    """The unwinders of the drgn that is found."""
    asked = with_every_register(partial(unwind, find), all_recorded)
    tool = called("drgn", find)
    return (
        Unwinder(
            name="drgn",
            summary="drgn: .eh_frame, then .debug_frame, then the frame pointer",
            unwind=asked,
            tool=tool,
            needs=frozenset({".eh_frame"}),
            counted=True,
        ),
        Unwinder(
            name="drgn_debug_frame",
            summary="drgn on files with debug information: .debug_frame",
            unwind=asked,
            tool=tool,
            arches=frozenset({"arm32"}),
            needs=frozenset({".debug_frame", ".debug_info"}),
            assumption=TableRow(".debug_frame"),
            counted=True,
        ),
    )


REFEREE = Referee(
    name="drgn",
    summary="drgn, the programmable debugger, on a core file per snapshot",
    package="pip install drgn",
    find=find,
    unwinders=unwinders(find),
    findings=read_findings(__file__),
    others=OtherVersions(in_packages=in_packages, unwinders=unwinders),
)
