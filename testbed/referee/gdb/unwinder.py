"""gdb: its own unwinders, at snapshots that it sees over its remote protocol. One process per mode, many programs.

gdb takes the first of its unwinders that knows a pc: the DWARF one, ARM's by EHABI, one that knows signal trampolines
by their code, and last the architecture's analyser of prologues. Which files it gets decides which of them come out.

Settings, and why: the OS ABI is Linux, which decides how signal frames are known and which these files do not say;
`backtrace past-main`, because a snapshot's stack does not end at main. All else is as gdb comes.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from testbed.arch import Arch
from testbed.contract.unwinder import Backtrace, Unwinder
from testbed.referee.model import Find, Found, OtherVersions, Referee, called, read_findings
from testbed.referee.process.debugger import SIGNAL, Reply, Session, asked, backtrace
from testbed.referee.process.limits import own_packages, printed, python_with
from testbed.referee.process.without_tables import TABLES
from testbed.trace import Snapshot
from testbed.words.errors import (
    NoProgress,
    NoUnwindInfo,
    UnreadableMemory,
    UnwindError,
)
from testbed.words.table_formats import TABLE_FORMATS

PROGRAM, WHEEL = "gdb-multiarch", "gdb-for-pwndbg"

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
    """The gdb that is asked: this environment's, else the system's."""
    own = own_packages(WHEEL)
    return (in_packages(own) if own else None) or by_program(PROGRAM)


def by_program(name: str) -> Found | None:
    """The gdb of this name on PATH; None where there is none."""
    path = shutil.which(name)
    return _saying_its_version(path, "") if path else None


def in_packages(packages: str) -> Found | None:
    """The gdb in a folder of packages; None where there is none."""
    return _saying_its_version(str(Path(packages) / "gdb_for_pwndbg/_vendor/bin/gdb"), packages)


def _saying_its_version(path: str, packages: str) -> Found | None:
    said = version_said(printed([*_start(path, packages), "--version"]))
    return Found(said, path, packages) if said else None


def version_said(text: str) -> str:
    """The version in what ``gdb --version`` prints, without what a distribution adds; "" where it is not gdb's text."""
    match = re.match(r"GNU gdb (?:\([^)\n]*\) |[^\d\n(]*)(\d+(?:\.\d+)*)", text)
    return match[1] if match else ""


def _start(path: str, packages: str) -> Sequence[str]:
    """The beginning of a command. A wheel's module starts its program with the Python that this one is."""
    return [*python_with(packages), "-m", "gdb_for_pwndbg.gdb"] if packages else [path]


def command(found: Found | None, requests: int, replies: int) -> Sequence[str]:
    """The command line that starts gdb with two pipes: requests in, replies out."""
    settings = [part for setting in _SETTINGS for part in ("-iex", setting)]
    pipes = f"python testbed_pipes = {requests}, {replies}"
    start = _start(found.path, found.packages) if found else [PROGRAM]
    return [*start, "-nx", "-q", "-batch", *settings, "-ex", pipes, "-x", str(_INSIDE)]


@cache
def session(found: Found | None, removed: frozenset[str], arch: Arch) -> Session:
    """The one session of a gdb and a mode in this process; it does not take a program of another architecture later."""
    return Session(removed, partial(command, found))


def backtrace_of(snapshot: Snapshot, reply: Reply) -> Backtrace:
    """A reply as a value. A last frame with pc 0 is gdb's mark of the outermost one, and is none itself."""
    said = reply["frames"]
    stopped = _stop_of(snapshot.arch, *reply["stop"])
    if len(said) > 1 and said[-1]["pc"] == 0 and said[-2]["kind"] != SIGNAL:
        said, stopped = said[:-1], None
    return backtrace(snapshot, said, stopped)


def _stop_of(arch: Arch, reason: str, text: str) -> UnwindError | None:
    """gdb's reason for having no more frames; None where it means that there are none."""
    if reason in _ENDS:
        return None
    if address := re.search(r"at address 0x([0-9a-f]+)", text):
        return UnreadableMemory(int(address[1], 16), arch.word)
    return _STOPS.get(reason, NoUnwindInfo)(text)


def unwinders(find: Find) -> tuple[Unwinder, ...]:
    """The unwinders of the gdb that is found."""

    def unwinder(name: str, summary: str, removed: Collection[str], needs: set[str]) -> Unwinder:
        return Unwinder(
            name=name,
            summary=summary,
            unwind=partial(asked, session, backtrace_of, find, frozenset(removed)),
            tool=called("gdb", find),
            needs=frozenset(needs),
            counted=True,
        )

    return (
        unwinder("gdb", "gdb with all tables", (), {".text"}),
        unwinder(
            "gdb_exidx", "gdb with EHABI tables only", TABLES - TABLE_FORMATS["ehabi"].sections, {".text", ".ARM.exidx"}
        ),
        unwinder("gdb_no_tables", "gdb's analysers of prologues", TABLES, {".text"}),
    )


GDB = Referee(
    name="gdb",
    summary="the GNU debugger, over its remote protocol",
    package="pip install 'unwind-testbed[referees]', or apt install gdb-multiarch; the wheel needs a libpython, which "
    "for Debian's own Python apt install libpython3-dev brings",
    find=find,
    unwinders=unwinders(find),
    findings=read_findings(__file__),
    others=OtherVersions(in_packages=in_packages, by_program=by_program, unwinders=unwinders),
)
