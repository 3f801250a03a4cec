"""A real unwinder as the catalogue of referees holds it, and what is known against it.

A referee is software that others wrote and everybody runs. It gets the snapshots that our strategies get and is judged
by the same truth; nothing of it is in our strategies and nothing of ours in it, so that each checks the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from testbed.contract.unwinder import Unwinder
from testbed.trace import Snapshot


@dataclass(frozen=True, slots=True)
class Found:
    """A referee on this machine: what it says its version is, and the file that was found."""

    version: str
    path: str

    def __str__(self) -> str:
        return f"{self.version} ({self.path})"


@dataclass(frozen=True, slots=True)
class Finding:
    """A lie or a crash of a real tool on correct tables, and the smallest program of the corpus that shows it.

    ``unwinder`` is the referee's strategy that showed it and ``tool`` the version it was seen with, on the day
    ``since`` (YYYY-MM-DD). ``at`` is a location as ``testbed run --at`` takes it. ``because`` names
    the row, rule or heuristic at fault, and ``reference`` is where that is written.
    ``upstream`` is the address of the report or the fix, or "" where a search found none. ``of_technique`` says that it
    shows what the technique cannot know, such as code without a table: nothing that a correct tool would get right.
    """

    title: str
    unwinder: str
    tool: str
    since: str
    program: str
    arch: str
    recipe: str
    at: str
    because: str
    reference: str = ""
    upstream: str = ""
    of_technique: bool = False

    @property
    def id(self) -> str:
        """What ``testbed findings --report`` calls it: strategy, program, architecture, place."""
        return f"{self.unwinder}-{self.program}-{self.arch}-{self.at.replace('@', 'step')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Referee:
    """One real tool: how to find it, what brings it, and a strategy for each way in which it is used.

    ``find`` is None where it is not installed; it never raises and starts no process that could outlive it. The
    ``by_hand`` is a command that asks the tool without us about
    ``program`` (the file) and ``snapshot.core`` or ``snapshot.dmp`` (one of its instructions); "" for what is a
    library. ``own_file`` makes a further file for it of a snapshot, whose program is ``program`` beside it.
    """

    name: str
    summary: str
    package: str
    find: Callable[[], Found | None]
    unwinders: tuple[Unwinder, ...]
    findings: tuple[Finding, ...] = ()
    by_hand: str = ""
    own_file: tuple[str, Callable[[Snapshot], bytes]] | None = None

    def __str__(self) -> str:
        return self.name
