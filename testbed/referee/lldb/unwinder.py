"""LLDB: its own unwinder, at snapshots that it sees over gdb's remote protocol. One process per mode, many programs.

LLDB makes *unwind plans* of a function: from its tables, and by following what its instructions do to SP and to the
saved registers. For a call it prefers tables, for an interrupted instruction it chooses; a plan that leads nowhere is
given up for the architecture's default, a frame-pointer chain. Without tables, the instructions are left.

The program is opened again for each snapshot, as one opens a core file. LLDB keeps a function's plan, and looks its
rows up by their distance from the symbol next before pc: where a label stands in a function, a plan that was made
before the label was met gives another row than one that is made at the label, and what LLDB says of a snapshot would
depend on what it was asked before (https://github.com/llvm/llvm-project/pull/135333 is about such distances).

It shows no error where it cannot go on: the backtrace ends there, as it does at the outermost frame. So the end of what
it shows is taken for its claim that there is no caller.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Collection, Sequence
from functools import cache, partial
from pathlib import Path

from testbed.arch import Arch
from testbed.contract.unwinder import Backtrace, Unwinder
from testbed.referee.model import Find, Found, OtherVersions, Referee, called, read_findings
from testbed.referee.process.debugger import Reply, Session, asked, backtrace
from testbed.referee.process.limits import all_kept, own_packages, printed, python_with, with_every_register
from testbed.referee.process.without_tables import TABLES
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress

_INSIDE = Path(__file__).with_name("inside.py")
WHEEL = "lldb-for-pwndbg"
_NEWEST, _OLDEST = 30, 13  # of the versions that Debian's packages are named after


@cache
def find() -> Found | None:
    """The one of this environment, else the newest of the system's; its path is that of the program."""
    own = own_packages(WHEEL)
    names = ("lldb", *(f"lldb-{number}" for number in range(_NEWEST, _OLDEST, -1)))
    return (in_packages(own) if own else None) or next(filter(None, map(by_program, names)), None)


def by_program(name: str) -> Found | None:
    """One whose Python module is there."""
    path = shutil.which(name)
    return None if path is None or python_for(path) is None else _saying_its_version([path], path, "")


def in_packages(packages: str) -> Found | None:
    """One in a wheel, which has the Python module beside the program. Its ``-P`` names a folder that is not there."""
    path = str(Path(packages) / "lldb_for_pwndbg/_vendor/bin/lldb")
    return _saying_its_version([*python_with(packages), "-m", "lldb_for_pwndbg.lldb"], path, packages)


def _saying_its_version(start: Sequence[str], path: str, packages: str) -> Found | None:
    match = re.search(r"version (\d[\d.]*)", printed([*start, "--version"]))
    return Found(match[1], path, packages) if match else None


@cache
def python_for(path: str) -> tuple[str, str] | None:
    """The Python and the folder of modules that go with an LLDB; None where its module is not installed.

    The module's compiled part is a link to ``liblldb.so``, which Debian has in a package of its own: a link that leads
    nowhere is a module that cannot be imported.
    """
    folder = printed([path, "-P"]).strip()
    module = Path(folder) / "lldb"
    if not folder or not any(part.exists() for part in module.rglob("_lldb*.so")):
        return None
    version = re.search(r"/python(3(?:\.\d+)?)/", folder + "/")
    python = shutil.which(f"python{version[1] if version else 3}", path="/usr/bin:/usr/local/bin")
    return (python, folder) if python else None


def command(found: Found | None, requests: int, replies: int) -> Sequence[str]:
    """Of a wheel's LLDB this Python, without what its user's settings add; else the one that goes with a program."""
    if found is not None and found.packages:
        start, folder = [sys.executable, "-I"], found.packages
    else:
        interpreter, folder = (python_for(found.path) if found else None) or ("python3", "")
        start = [interpreter]
    return [*start, str(_INSIDE), folder, str(requests), str(replies)]


@cache
def session(found: Found | None, removed: frozenset[str], arch: Arch) -> Session:
    """The one session of an LLDB, a mode and an architecture in this process."""
    return Session(removed, partial(command, found), afresh=True)


def backtrace_of(snapshot: Snapshot, reply: Reply) -> Backtrace:
    """A reply as a value."""
    reason, text = reply["stop"]
    return backtrace(snapshot, reply["frames"], None if reason == "end" else NoProgress(text))


def unwinders(find: Find) -> tuple[Unwinder, ...]:
    """The unwinders of the LLDB that is found."""

    def unwinder(name: str, summary: str, removed: Collection[str], *needs: str) -> Unwinder:
        return Unwinder(
            name=name,
            summary=summary,
            unwind=with_every_register(partial(asked, session, backtrace_of, find, frozenset(removed)), all_kept),
            tool=called("lldb", find),
            needs=frozenset(needs),
            counted=True,
        )

    return (
        unwinder("lldb", "LLDB with all tables", ()),
        unwinder("lldb_no_tables", "LLDB's emulation of instructions", TABLES, ".text"),
    )


LLDB = Referee(
    name="lldb",
    summary="LLVM's debugger, over gdb's remote protocol",
    package="pip install 'unwind-testbed[referees]', or apt install lldb-19 python3-lldb-19 liblldb-19-dev; the wheel "
    "needs a libpython, which for Debian's own Python apt install libpython3-dev brings",
    find=find,
    unwinders=unwinders(find),
    findings=read_findings(__file__),
    others=OtherVersions(in_packages=in_packages, by_program=by_program, unwinders=unwinders),
)
