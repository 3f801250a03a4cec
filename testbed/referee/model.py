"""A real unwinder as the catalogue of referees holds it, and what is known against it.

A referee is software that others wrote and everybody runs. It gets the snapshots that our unwinders get and is judged
by the same truth; nothing of it is in our unwinders and nothing of ours in it, so that each checks the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from testbed.contract.unwinder import Unwinder
from testbed.words.data_file import WORDS, read_toml, tables_in


@dataclass(frozen=True, slots=True)
class Found:
    """A referee on this machine: what it says its version is, and the file that was found.

    ``packages`` is the folder of Python packages that it lies in, for one that came as a wheel.
    """

    version: str
    path: str
    packages: str = ""

    def __str__(self) -> str:
        return f"{self.version} ({self.path})"


Find = Callable[[], Found | None]


def called(name: str, find: Find) -> Callable[[], str]:
    """What a person calls the tool of this name that is found: its name and version."""

    def tool() -> str:
        found = find()
        return f"{name} {found.version}" if found else f"{name} is not installed"

    return tool


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherVersions:
    """How versions of a tool are asked beside the one at hand.

    ``in_packages`` and ``by_program`` find one in a folder of packages, and by the name of a program; None where it is
    not there, or does not start. ``unwinders`` are the unwinders of what a function finds.
    """

    in_packages: Callable[[str], Found | None]
    unwinders: Callable[[Find], tuple[Unwinder, ...]]
    by_program: Callable[[str], Found | None] | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A lie or a crash of a real tool on correct tables, and the smallest program of the corpus that shows it.

    ``unwinder`` is the referee's unwinder that showed it and ``tool`` the version it was seen with, on the day
    ``since`` (YYYY-MM-DD). ``at`` is a location as ``testbed run --at`` takes it. ``because`` names
    the row, rule or heuristic at fault, and ``reference`` is where that is written.
    ``upstream`` is the address of the report or the fix, or "" where a search found none. ``of_technique`` says that it
    shows what the technique cannot know, such as code without a table: nothing that a correct tool would get right.
    ``outcome`` is the one outcome that shows it, where another wrong answer at that place would be another mistake.
    ``seen_in`` and ``not_in`` are the versions of the tool that were asked, from the oldest on: those that show it, and
    those that do not.
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
    outcome: str = ""
    seen_in: tuple[str, ...] = ()
    not_in: tuple[str, ...] = ()

    @property
    def gone_since(self) -> str:
        """The first version after the last one that shows it; "" where none is known that does not."""
        last = max(map(_ordered, self.seen_in), default=[])
        return next((version for version in self.not_in if _ordered(version) > last), "")

    @property
    def versions(self) -> str:
        """In which of the versions that were asked it shows, as a sentence; "" where that is not known."""
        if not self.seen_in:
            return ""
        order = sorted((*self.seen_in, *self.not_in), key=_ordered)
        since = "" if self.seen_in[0] == order[0] else f"; not in {order[order.index(self.seen_in[0]) - 1]}"
        gone = f"; gone since {self.gone_since}" if self.gone_since else ""
        last = f" to {self.seen_in[-1]}" if len(self.seen_in) > 1 else ""
        return f"{self.seen_in[0]}{last}{since}{gone}"

    @property
    def id(self) -> str:
        """What ``testbed matrix --known-bugs --report`` calls it: unwinder, program, architecture, place."""
        return f"{self.unwinder}-{self.program}-{self.arch}-{self.at.replace('@', 'step')}"


def _ordered(version: str) -> list[int]:
    """A version as numbers, which have an order."""
    return [int(number) for number in re.findall(r"\d+", version)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Referee:
    """One real tool: how to find it, what brings it, and an unwinder for each way in which it is used.

    ``find`` is None where it is not installed; it never raises and starts no process that could outlive it.
    ``others`` is how its other versions are asked (`testbed.referee.versions`).
    """

    name: str
    summary: str
    package: str
    find: Find
    unwinders: tuple[Unwinder, ...]
    findings: tuple[Finding, ...] = ()
    others: OtherVersions | None = None

    def __str__(self) -> str:
        return self.name


# What was seen of a real tool, read from the ``findings.toml`` in its folder: a `Finding` for each ``[[finding]]``.

_NEEDED = frozenset({"title", "unwinder", "tool", "since", "program", "arch", "recipe", "at", "because"})
_KEYS: dict[str, type | str] = {
    **dict.fromkeys(_NEEDED | {"reference", "upstream", "outcome"}, str),
    **dict.fromkeys(("seen_in", "not_in"), WORDS),
    "of_technique": bool,
}


def read_findings(asked: str) -> tuple[Finding, ...]:
    """The findings beside a tool's module. Raises DataFileError."""
    path = Path(asked).with_name("findings.toml")
    return tuple(Finding(**table.keys) for table in tables_in(path, read_toml(path), "finding", _KEYS, _NEEDED))
