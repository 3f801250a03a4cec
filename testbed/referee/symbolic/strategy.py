"""symbolic, Sentry's library: a program's unwind tables as Breakpad's STACK CFI text, which crash servers walk by.

symbolic reads the tables, DWARF's or Mach-O's compact ones, and writes rules; it has no walker for them in Python, so
the rules are evaluated by ours (`testbed.referee.symbolic.stack_cfi`). What is judged is what the text says. It says
nothing of signal frames: behind one, the interrupted pc is looked up as if it were a return address.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, image_covering
from testbed.referee.model import Find, Found, OtherVersions, Referee
from testbed.referee.process.file_tool import SECONDS, python_script
from testbed.referee.process.json_lines import JsonProcess
from testbed.referee.process.packages import own_packages, wheel_in
from testbed.referee.process.without_tables import file_of
from testbed.referee.read_findings import read_findings
from testbed.referee.symbolic.stack_cfi import Records, caller, read_records
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, NoUnwindInfo, UnwindError

PACKAGE = "symbolic"
MAX_FRAMES = 1024
_KEPT = 32  # images whose text is kept


@cache
def find() -> Found | None:
    """The package symbolic that is installed for this Python; None where there is none."""
    own = own_packages(PACKAGE)
    return in_packages(own) if own else None


def in_packages(packages: str) -> Found | None:
    """The package symbolic in a folder of packages; None where there is none."""
    return wheel_in(packages, PACKAGE)


def version(find: Find = find) -> str:
    """What a person calls the symbolic that is found: its name and version."""
    found = find()
    return f"symbolic {found.version}" if found else PACKAGE


class Texts:
    """The STACK CFI text of images, asked for once each; of one at which symbolic died or hung, why."""

    def __init__(self, command: Callable[[int, int], Sequence[str]], seconds: float = SECONDS) -> None:
        self.command, self.seconds = command, seconds
        self.child: JsonProcess | None = None
        self.kept: OrderedDict[Image, str | UnwindError] = OrderedDict()
        self.read: OrderedDict[Image, Records] = OrderedDict()

    def of(self, image: Image) -> str:
        """Raises ToolCrashed, ToolHung, or NoUnwindInfo with what symbolic says is wrong with the file."""
        if image not in self.kept:
            self.kept[image] = self._asked(image)
            while len(self.kept) > _KEPT:
                self.kept.popitem(last=False)
        said = self.kept[image]
        if isinstance(said, UnwindError):
            raise type(said)(*said.args)
        return said

    def records_of(self, image: Image) -> Records:
        """What the text of an image says. Raises what `of` raises."""
        if image not in self.read:
            self.read[image] = read_records(self.of(image))
            while len(self.read) > _KEPT:
                self.read.popitem(last=False)
        return self.read[image]

    def _asked(self, image: Image) -> str | UnwindError:
        if self.child is not None and not self.child.ours:
            self.child = None
        try:
            self.child = self.child or JsonProcess(self.command)
            said = self.child.ask({"file": str(file_of(image))}, seconds=self.seconds)
        except UnwindError as error:
            self.child = None
            return error
        return NoUnwindInfo(" ".join(said["error"].split())) if said["error"] else str(said["text"])


@cache
def texts_of(found: Found | None) -> Texts:
    """The texts that one symbolic makes, in one process."""
    return Texts(python_script(Path(__file__).with_name("inside.py"), found.packages if found else ""))


def unwind(find: Find, snapshot: Snapshot) -> Backtrace:
    """The backtrace of a snapshot by the rows that symbolic reads out of its files."""
    return unwind_by(texts_of(find()), snapshot)


def unwind_by(texts: Texts, snapshot: Snapshot) -> Backtrace:
    """The walk by the text's rules: at most MAX_FRAMES frames, each but the first further out than the one before."""
    arch = snapshot.arch
    frame = Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, found_by="registers")
    done: list[Frame] = []
    try:
        while len(done) < MAX_FRAMES:
            loaded = image_covering(snapshot.images, frame.lookup_pc)
            if loaded is None:
                raise NoUnwindInfo(f"no image covers {frame.pc:#x}")
            start = min(segment.address for segment in loaded.image.segments) + loaded.bias
            rules = texts.records_of(loaded.image).rules_at(frame.lookup_pc - start)
            if rules is None:
                raise NoUnwindInfo(f"no STACK CFI record covers {frame.lookup_pc - start:#x}")
            cfa, value, registers = caller(arch, rules, frame.registers, snapshot.memory)
            done.append(Frame(frame.kind, frame.pc, frame.registers, cfa, frame.found_by))
            if not value:
                return Backtrace(tuple(done), None)
            if cfa < frame.registers[arch.sp] or (cfa == frame.registers[arch.sp] and len(done) > 1):
                done.pop()
                raise NoProgress(f"the CFA {cfa:#x} is not above SP {frame.registers[arch.sp]:#x}")
            pc = arch.code_address(value)
            frame = Frame(FrameKind.CALLER, pc, registers | {arch.pc: pc}, found_by="STACK CFI")
        raise NoProgress(f"more than {MAX_FRAMES} frames")
    except UnwindError as stop:
        stop.pc = frame.pc
        return Backtrace((*done, frame), stop)


def unwinders(find: Find) -> tuple[Unwinder, ...]:
    """The strategies of the symbolic that is found."""

    def unwinder(name: str, summary: str, section: str, arches: frozenset[str] | None = None) -> Unwinder:
        return Unwinder(
            name=name,
            summary=summary,
            unwind=partial(unwind, find),
            tool=partial(version, find),
            needs=frozenset({section}),
            arches=arches,
            counted=True,
        )

    return (
        unwinder("symbolic", "symbolic's text of .eh_frame", ".eh_frame"),
        unwinder("symbolic_debug_frame", "symbolic's text of .debug_frame", ".debug_frame", frozenset({"arm32"})),
        unwinder("symbolic_compact", "symbolic's text of compact unwind tables", "__TEXT,__unwind_info"),
    )


REFEREE = Referee(
    name="symbolic",
    summary="symbolic, Sentry's library, which turns unwind tables into Breakpad's STACK CFI text",
    package="pip install symbolic",
    find=find,
    unwinders=unwinders(find),
    findings=read_findings(__file__),
    others=OtherVersions(in_packages=in_packages, unwinders=unwinders),
)
