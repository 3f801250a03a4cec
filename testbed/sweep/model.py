"""What a sweep says: of an entry, of a file, of many files."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class EntryAnswer(Enum):
    """What the instructions say of the rows of an entry."""

    AGREES = "agrees"
    SUSPECT = "suspect"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class DoubtfulEntry:
    """An entry of ``section`` whose rows are suspect, or of which nothing can be said, for the code ``[start, end)``.

    ``at`` is the instruction whose row it is about, ``row`` where that row begins; ``cause`` is the class.
    """

    section: str
    start: int
    end: int
    function: str
    answer: EntryAnswer
    cause: str
    at: int
    row: int
    words: str


@dataclass(frozen=True, slots=True)
class SweptContent:
    """A file's sweep. ``checksum`` is its content's SHA-256, ``producer`` the last line of ``.comment``.

    ``private`` counts entries that agree but for registers that their functions give back changed: those have a
    convention of their own. ``failure`` says why a file could not be read; all counts are zero then.
    """

    path: Path
    checksum: str
    arch: str = ""
    producer: str = ""
    entries: int = 0
    instructions: int = 0
    agreed: int = 0
    private: int = 0
    seconds: float = 0.0
    doubts: tuple[DoubtfulEntry, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class CauseCount:
    """How many entries a cause, or a producer, has: suspects, and those of which nothing can be said."""

    name: str
    suspect: int
    undecided: int


@dataclass(frozen=True, slots=True)
class ReportedDoubt:
    """A suspect entry of a report, and the file that it is in."""

    file: str
    start: int
    function: str
    cause: str
    words: str


@dataclass(frozen=True, slots=True)
class SweepReport:
    """All that a sweep kept, added up. A content that lies at several paths counts once."""

    files: int
    contents: int
    entries: int
    instructions: int
    agreed: int
    private: int
    suspect: int
    undecided: int
    seconds: float
    causes: tuple[CauseCount, ...]
    producers: tuple[CauseCount, ...]
    suspects: tuple[ReportedDoubt, ...]
    failures: tuple[tuple[str, str], ...]
