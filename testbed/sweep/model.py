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
class AskedEntry:
    """An entry of ``section`` for the code ``[start, end)``: what the static pass says of it, and what it doubts there.

    ``at`` is the instruction whose row it is about, ``came`` the one before on the way there, -1 where none is named;
    ``is_part``: its first row is no function's. It can be called: `testbed.checks.second_pass`.
    """

    section: str
    start: int
    end: int
    answer: EntryAnswer
    at: int
    came: int
    is_part: bool


@dataclass(frozen=True, slots=True)
class DoubtfulEntry(AskedEntry):
    """An entry whose rows are suspect, or of which nothing can be said.

    ``row`` is where the row of ``at`` begins; ``cause`` is the class. ``at_call``: the rows are wrong at a call, too,
    so an exception and every backtrace out of what is called goes astray; else only who unwinds from between calls
    does: a profiler, a debugger.
    """

    function: str
    cause: str
    row: int
    words: str
    at_call: bool


class ExecutedAnswer(Enum):
    """What execution says of an entry."""

    CONFIRMED = "wrong"
    CONFIRMED_FORCED = "wrong on a forced path"
    NOTED = "note"  # wrong in a way that no reader of a stack sees
    ACQUITTED = "right"
    ACQUITTED_FORCED = "right on a forced path"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True, slots=True)
class Sample:
    """Which of the entries that agree are called as well: a ``share`` of them, drawn by a seed and their content."""

    seed: int
    share: float
    checksum: str


@dataclass(frozen=True, slots=True)
class CalledEntry:
    """What execution says of an entry of which the static pass said ``answer``.

    ``severity`` is that of `testbed check`'s finding; ``words`` what was wrong, or why nothing is decided; ``executed``
    how many of its ``instructions`` were.
    """

    section: str
    start: int
    answer: EntryAnswer
    verdict: ExecutedAnswer
    severity: str
    words: str
    executed: int
    instructions: int


@dataclass(frozen=True, slots=True)
class SweptContent:
    """A file's sweep. ``checksum`` is its content's SHA-256, ``producer`` all lines of ``.comment``, each once.

    ``compiler`` is what DWARF's ``DW_AT_producer`` says, of each unit once, without its options.

    ``private`` counts entries that agree but for registers that their functions change without a rule: those have a
    convention of their own. ``failure`` says why a file could not be read; all counts are zero then.
    """

    path: Path
    checksum: str
    arch: str = ""
    producer: str = ""
    compiler: str = ""
    entries: int = 0
    instructions: int = 0
    agreed: int = 0
    private: int = 0
    seconds: float = 0.0
    doubts: tuple[DoubtfulEntry, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class CauseCount:
    """How many entries a cause, or a producer, has: suspects, those of them that are wrong at a call, too, and those of
    which nothing can be said."""

    name: str
    suspect: int
    at_call: int
    undecided: int


@dataclass(frozen=True, slots=True)
class ExecutedCount:
    """How many entries of one answer were called, and what execution said of them: each is one `ExecutedAnswer`."""

    answer: str
    called: int
    wrong: int
    wrong_on_a_forced_path: int
    notes: int
    right: int
    right_on_a_forced_path: int
    not_decided: int


@dataclass(frozen=True, slots=True)
class ReportedDoubt:
    """A suspect entry of a report, and the file that it is in; another one, if execution says it is wrong or a note.

    ``execution`` is what execution says of it, "" where it was not called; ``executed`` the words for that.
    """

    file: str
    package: str
    producer: str
    start: int
    function: str
    answer: str
    cause: str
    words: str
    execution: str
    severity: str
    executed: str


@dataclass(frozen=True, slots=True)
class SweepReport:
    """All that a sweep kept, added up. A content that lies at several paths counts once.

    ``waiting`` are the files that are known and not swept yet: the sweep was interrupted.
    """

    files: int
    waiting: int
    contents: int
    entries: int
    instructions: int
    agreed: int
    private: int
    suspect: int
    at_call: int
    undecided: int
    seconds: float
    causes: tuple[CauseCount, ...]
    producers: tuple[CauseCount, ...]
    packages: tuple[CauseCount, ...]
    executed: tuple[ExecutedCount, ...]
    suspects: tuple[ReportedDoubt, ...]
    failures: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class SweepDifference:
    """Two sweeps compared: suspects by file, function and cause that only one of them has, and those of both.

    ``causes`` are (cause, how many before, how many now), of those that differ.
    """

    gone: tuple[ReportedDoubt, ...]
    new: tuple[ReportedDoubt, ...]
    both: int
    causes: tuple[tuple[str, int, int], ...]
