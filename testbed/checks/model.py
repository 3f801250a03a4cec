"""What a check of a file says, as data: findings with their evidence, and how much of each function was tried.

Every address is a link-time one of the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from testbed.arch import Arch
from testbed.conventions.chosen import TakenConvention


class HowKnown(Enum):
    """How it is known what is true at an instruction, the strongest first; the value is what reports print."""

    EXECUTED = "executed"
    FORCED = "executed on a forced path"
    STATIC = "static"


class FindingKind(Enum):
    """What is wrong at an instruction; the value is a stable name for machines (SARIF's rule)."""

    WRONG_ROW = "wrong-row"  # a row says something false
    NO_ROW = "no-row"  # code of a function that is called, and the table says nothing of it
    START_WITHOUT_ROW = "start-without-row"  # the same of code that nobody calls: where a program or a thread begins
    OTHER_ENTRY = "other-entry"  # rows that suppose more on the stack than a call leaves, and code that takes it off
    CANNOT_UNWIND = "cannot-unwind"  # a called function of which the table says on purpose that nobody can unwind it
    NO_EPILOGUE_ROWS = "no-epilogue-rows"  # a compiler that is known for it wrote rows for prologues only
    FORMATS_DIFFER = "formats-differ"  # two tables of the file contradict each other where nothing else tells who errs
    UNREADABLE = "unreadable"  # a table has something there that cannot be read
    HALF_CFA = "half-cfa"  # a table sets half of a CFA that has no other half, which means nothing


class Severity(Enum):
    """How much a finding weighs, by what it does to the stack that a reader shows; the heaviest first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


# Of findings that tell of no consequence, and the usual one of the others.
SEVERITIES: Mapping[FindingKind, Severity] = {
    FindingKind.WRONG_ROW: Severity.ERROR,
    FindingKind.NO_ROW: Severity.ERROR,
    FindingKind.START_WITHOUT_ROW: Severity.NOTE,
    FindingKind.OTHER_ENTRY: Severity.NOTE,
    FindingKind.CANNOT_UNWIND: Severity.NOTE,
    FindingKind.NO_EPILOGUE_ROWS: Severity.NOTE,
    FindingKind.FORMATS_DIFFER: Severity.ERROR,
    FindingKind.UNREADABLE: Severity.ERROR,
    FindingKind.HALF_CFA: Severity.NOTE,
}


@dataclass(frozen=True, slots=True)
class WrongThing:
    """One thing that a row says wrongly. ``what``: "CFA", a register, the return address's "signature", or "row"."""

    what: str
    says: str  # "CFA = rsp+0x0", "rbx is still in rbx"
    true: str  # "the true CFA is rsp+0x10 here", "the caller's rbx is at CFA-0x10"


@dataclass(frozen=True, slots=True)
class Consequence:
    """What a reader shows of the stack because a row is wrong, and how heavy that is, computed from two made callers.

    *Error*: a caller is lost, invented or repeated. *Warning*: the callers are right, and a register in them is shown
    wrong. *Note*: nobody sees it. ``what`` says it in words; ``shown`` and ``true`` are the stacks, innermost first,
    at ``where``. ``gone`` are registers of which the frame has no copy any more, if these alone are wrong.
    """

    severity: Severity
    what: str
    shown: str
    true: str
    where: str = ""
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Where a statement stands in a source, line and column from 1, and its text with single spaces.

    A use of ``macro`` stands there if that is not "": the statement is at line ``macro_line`` of ``macro_file``, which
    has ``macro_text``. ``parameters`` are the use's arguments, each with what stands for it in the macro.
    """

    file: str
    line: int
    column: int
    text: str
    macro: str = ""
    macro_file: str = ""
    macro_line: int = 0
    macro_text: str = ""
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SourceEdit:
    """A change of a source: ``old`` stands at a line and column, from 1, and ``new`` is to; either may end lines.

    ``at`` is the statement that changes, or before which the new ones stand, or ``behind`` which. ``inside`` is the
    same in the macro that the statement comes from. ``uses`` are the lines of a macro's uses, if it was tried at all.
    """

    file: str
    line: int
    column: int
    old: str
    new: str
    at: SourcePlace | None = field(default=None, compare=False)
    behind: bool = field(default=False, compare=False)
    inside: SourceEdit | None = field(default=None, compare=False)
    uses: tuple[int, ...] = field(default=(), compare=False)

    @property
    def is_macros_own(self) -> bool:
        """Does it change a macro, rather than the use that its statement comes from?"""
        at = self.at
        return at is not None and (self.file, self.line - self.behind) == (at.macro_file, at.macro_line)


@dataclass(frozen=True, slots=True)
class LaterDirectives:
    """Directives that belong before another instruction, further down: ``where`` is ``function+0x4``."""

    where: str
    directives: tuple[str, ...]


BEFORE_IT = "before it"  # the finding's instruction


@dataclass(frozen=True, slots=True)
class Repair:
    """Directives that were added to the table in memory, and what a second check of the whole function said of it.

    ``directives`` belong to ``place``, in words, or stand for those ``replaced`` of its frame. ``remembered`` is where
    `.cfi_remember_state` belongs if one of them is `.cfi_restore_state`, else "". ``later`` ends what they say, where
    the old state holds again. ``repaired`` instructions were wrong and are right with it; none that was right is wrong.
    ``edits`` say the same in an assembly source, as its author writes, what is wrong first; where there are none,
    ``no_patch`` says why.
    """

    directives: tuple[str, ...]
    remembered: str
    repaired: int
    later: tuple[LaterDirectives, ...] = ()
    replaced: tuple[str, ...] = ()
    place: str = BEFORE_IT
    edits: tuple[SourceEdit, ...] = ()
    no_patch: str = ""
    why: str = ""  # it is said in this form


@dataclass(frozen=True, slots=True)
class TableFinding:
    """One cause in one table: the first instruction at which it shows, and at how many it does.

    ``where`` is ``function+0x4``; ``source`` is ``file:line`` where that is known, else "". ``repair`` None: no
    directive was found that makes the function right. What is told once of several functions is the first one's, with
    ``instructions`` and what is ``repaired`` of all (`testbed.checks.alike`).
    """

    kind: FindingKind
    table: str  # a section: ".eh_frame"
    function: str
    pc: int
    where: str
    instruction: str
    things: tuple[WrongThing, ...]
    evidence: HowKnown
    instructions: int  # how many are wrong by this cause
    repair: Repair | None = None
    source: str = ""
    line: int = 0
    bare: bool = False  # no instruction of its function has a row
    consequence: Consequence | None = None  # None: no stack is unwound by it
    place: SourcePlace | None = None  # of the directive to change, or of the instruction behind which one is missing
    written: str = ""  # the instruction as its source has it
    no_repair: str = ""  # why there is none; "": as of all such findings
    alike: tuple[TableFinding, ...] = ()  # those that it stands for, the first among them

    @property
    def each(self) -> tuple[TableFinding, ...]:
        """The findings of single functions that it stands for: itself, or those that are told once."""
        return self.alike or (self,)

    @property
    def functions(self) -> int:
        """How many functions it is told of."""
        return len({(each.function, each.pc * each.bare) for each in self.each})

    @property
    def is_of_functions(self) -> bool:
        """Is it told of several functions by their names, as how the file was built?"""
        return bool(self.alike) and not (self.repair and any(edit.uses for edit in self.repair.edits))

    @property
    def needs_annotating(self) -> bool:
        """Has its code no rows, and does its correction give right ones to a part of it only?"""
        is_part = self.repair is not None and self.repair.repaired < self.instructions
        return is_part and self.kind is FindingKind.NO_ROW

    @property
    def severity(self) -> Severity:
        return self.consequence.severity if self.consequence else SEVERITIES[self.kind]

    @property
    def fingerprint(self) -> str:
        """What a baseline knows a finding by: it stays the same when code grows, be it before it in its function.

        So it holds no address, no offset in the function, and no number of the instruction's; of a function without a
        name nothing. Alike findings of one function are told apart by how many they are. One that stands for several
        is not known by them: a baseline has each of theirs.
        """
        if self.alike:
            return "|".join((self.kind.value, self.table, "several functions"))
        function = "" if _NUMBER.fullmatch(self.function) else self.function
        said = (f"{thing.what}: {thing.says} / {_VISITS.sub('', thing.true)}" for thing in self.things)
        things = _DECIMAL.sub(lambda number: hex(int(number[0])), ";".join(said).replace("%", ""))
        instruction = _NUMBER.sub("n", self.instruction)
        return "|".join((self.kind.value, self.table, function, instruction, things))


_NUMBER = re.compile(r"\b(?:0x[0-9a-f]+|\d+)\b")
_DECIMAL = re.compile(r"(?<=[-+])\d+\b")  # however the source spells them
_VISITS = re.compile(r" at all \d+ visits")


@dataclass(frozen=True, slots=True)
class FunctionCheck:
    """How much of one function was tried. ``executed + forced + static + never = instructions``.

    ``without_row`` counts instructions that no checked table has a row for, ``lacked`` those that the emulator lacks,
    which were passed over and change no register that a row tells of; both are counted in the others too.
    ``calls`` are the runs that began here, ``returned`` those that came back. ``note`` says why nothing could be tried.
    """

    name: str
    start: int
    end: int
    instructions: int
    executed: int = 0  # on a natural path
    forced: int = 0  # only on forced paths
    static: int = 0  # never executed; the static pass held their rows against the code
    without_row: int = 0
    calls: int = 0
    returned: int = 0
    note: str = ""
    lacked: int = 0

    @property
    def ran(self) -> int:
        return self.executed + self.forced

    @property
    def never(self) -> int:
        return self.instructions - self.ran - self.static


AT_CALLS_ONLY = " (at calls)"  # behind the name of a table that promises nothing elsewhere


@dataclass(frozen=True, slots=True)
class FileCheck:
    """All that was found in one file. ``compared`` are (instruction, visit) pairs held against a row.

    ``dropped`` counts forced paths that no real run can take, by the reason: none of their steps counts for anything.
    ``failures`` are the functions over which the testbed itself made a mistake, and which. ``parts`` is the code that
    is not called: what functions jump to with their frame, and what nothing here leads to.
    """

    path: Path
    arch: Arch
    tables: tuple[str, ...]
    functions: tuple[FunctionCheck, ...] = field(repr=False)
    findings: tuple[TableFinding, ...] = field(repr=False)
    seed: int
    runs: int
    steps: int
    compared: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    untried: int = 0  # ways that no run took, on which a row is wrong by the instructions
    kept: bool = False  # read back from an earlier check of the same content
    parts: tuple[FunctionCheck, ...] = field(default=(), repr=False)
    conventions: tuple[TakenConvention, ...] = ()  # by which some functions were judged, if not by the platform's
    unknown: int = 0  # bytes of code of no function that anything tells

    @property
    def pieces(self) -> tuple[FunctionCheck, ...]:
        """All code: functions, and what is not called."""
        return (*self.functions, *self.parts)

    def total(self, part: str) -> int:
        """The sum of a count over all code: ``total("executed")``."""
        return sum(getattr(piece, part) for piece in self.pieces)
