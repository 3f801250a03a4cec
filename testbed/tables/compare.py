"""Unwind formats beside each other: at one pc, every format that has a row must mean one CFA and one return address.

Rows are compared as they stand. The same place can be said in two ways, ``rsp+16`` and ``rbp+16``; whether they mean
the same is asked of the program: at the executed instructions the unwinders are asked for the CFA and the caller,
and the truth is put beside them. Code that never ran, or that cannot run here, stays undecided.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

from testbed.contract.frames import Backtrace
from testbed.contract.rows import RowTable, Rule, SameValue, Undefined, UnwindRow
from testbed.contract.unwinder import Unwinder
from testbed.image import Image
from testbed.runs.judging import judge
from testbed.runs.run import Run

MAX_VISITS = 16  # how often one instruction is asked about: a loop repeats itself


class Agreement(Enum):
    """How the formats that have a row at a pc compare; the value is the sentence that reports show."""

    SAME = "the same rules"
    EQUAL = "other rules for the same CFA and return address, wherever this code ran"
    UNDECIDED = "other rules, and this code never ran: nothing says whether they mean the same"
    DIFFERENT = "another CFA or return address"


@dataclass(frozen=True, slots=True)
class FormatAnswer:
    """What one format says at a step: the CFA and the caller, or why there is none. ``because`` is why that is not
    true, with evidence; "" where it is, None where that is not foretold.
    """

    cfa: int | None
    caller: int | None
    stopped: str
    because: str | None

    @property
    def is_root(self) -> bool:
        return self.caller is None and not self.stopped


@dataclass(frozen=True, slots=True)
class Site:
    """A step at which the formats' answers differ, and the truth there (no caller: the root)."""

    step: int
    answers: Mapping[str, FormatAnswer]
    true_cfa: int | None
    true_caller: int | None
    caller_goes_on: int | None = None  # see `testbed.truth.Activation`

    @property
    def wrong(self) -> tuple[str, ...]:
        """The formats that claim something false here. Of the outermost frame's CFA nothing is known."""
        return tuple(name for name, answer in self.answers.items() if not answer.stopped and self._is_false(answer))

    @property
    def unexplained(self) -> tuple[str, ...]:
        """Those of them that no assumption foretells."""
        return tuple(name for name in self.wrong if self.answers[name].because is None)

    def _is_false(self, answer: FormatAnswer) -> bool:
        other_cfa = None not in (answer.cfa, self.true_cfa) and answer.cfa != self.true_cfa
        return other_cfa or answer.caller not in (self.true_caller, self.caller_goes_on or self.true_caller)


@dataclass(frozen=True, slots=True)
class RowSpan:
    """The link-time pcs ``[start, end)``: each format's row there, or None where it has nothing to say.

    ``function`` is the name of the symbol that covers them, or "".
    """

    start: int
    end: int
    function: str
    rows: Mapping[str, UnwindRow | None]
    agreement: Agreement
    site: Site | None = None

    @property
    def silent(self) -> tuple[str, ...]:
        return tuple(name for name, row in self.rows.items() if row is None)

    @property
    def is_settled(self) -> bool:
        """True where all formats speak and nothing has to be explained."""
        return not self.silent and self.agreement in (Agreement.SAME, Agreement.EQUAL)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every pc of an image at which some format has a row, in spans, by address."""

    image: Image
    names: tuple[str, ...]
    spans: tuple[RowSpan, ...]
    ran: bool

    def bytes_of(self, agreement: Agreement) -> int:
        """How many bytes of code the formats that speak compare in this way."""
        return sum(span.end - span.start for span in self.spans if span.agreement is agreement)

    @property
    def unexplained(self) -> tuple[RowSpan, ...]:
        """The spans where a format is wrong, and not as its assumption foretells."""
        return tuple(span for span in self.spans if span.site is not None and span.site.unexplained)

    def silent_bytes(self, name: str) -> int:
        """How many bytes of code some other format has a row for and this one has none."""
        return sum(span.end - span.start for span in self.spans if name in span.silent)


def compare_formats(image: Image, unwinders: Sequence[Unwinder], run: Run | None = None) -> Comparison:
    """Compare the tables of several unwinders on one image; with a run of it, also what they mean.

    An unwinder without ``rows`` is left out. Raises UnwindError where a table cannot be read.
    """
    chosen = [unwinder for unwinder in unwinders if unwinder.rows is not None]
    tables = {unwinder.name: unwinder.rows(image) for unwinder in chosen if unwinder.rows is not None}
    visits = _visits(run) if run is not None else []
    spans = (
        _decided(span, chosen, run, visits) if span.agreement is Agreement.UNDECIDED and run is not None else span
        for span in _spans(image, tables)
    )
    return Comparison(image, tuple(tables), tuple(_merged(spans)), run is not None)


def _spans(image: Image, tables: Mapping[str, RowTable]) -> Iterator[RowSpan]:
    """The code cut wherever some format changes what it says."""
    bounds = sorted({at for table in tables.values() for row in table for at in (row.start, row.end)})
    for start, end in pairwise(bounds):
        rows = {name: table.at(start) for name, table in tables.items()}
        spoken = [_meaning(row, image) for row in rows.values() if row is not None]
        if spoken:
            function = image.function_at(start)
            same = all(meaning == spoken[0] for meaning in spoken)
            agreement = Agreement.SAME if same else Agreement.UNDECIDED
            yield RowSpan(start, end, function.name if function else "", rows, agreement)


def _meaning(row: UnwindRow, image: Image) -> tuple[Rule | None, Rule | None]:
    """The CFA and where the return address is, as a row says it. The outermost frame needs no CFA."""
    default = SameValue() if row.return_address == image.arch.link else None
    rule = row.registers.get(row.return_address, default)
    return (None, rule) if isinstance(rule, Undefined) else (row.cfa, rule)


def _merged(spans: Iterator[RowSpan]) -> Iterator[RowSpan]:
    """Neighbours that say the same of one function as one span."""
    last: RowSpan | None = None
    for span in spans:
        if last is not None and last.end == span.start and _alike(last, span):
            last = replace(last, end=span.end)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def _alike(left: RowSpan, right: RowSpan) -> bool:
    if (left.function, left.agreement, left.site) != (right.function, right.agreement, right.site):
        return False
    return all(_rules(left.rows[name]) == _rules(right.rows[name]) for name in left.rows)


def _rules(row: UnwindRow | None) -> tuple[Rule | None, Rule | None] | None:
    return None if row is None else (row.cfa, row.registers.get(row.return_address))


def _visits(run: Run) -> list[tuple[int, list[int]]]:
    """The link-time pcs that the program executed, ascending, each with its first steps."""
    found: dict[int, list[int]] = {}
    bias = run.trace.images[0].bias
    for step, pc in enumerate(run.trace.pc.tolist()):
        steps = found.setdefault(pc - bias, [])
        if len(steps) < MAX_VISITS:
            steps.append(step)
    return sorted(found.items())


def _decided(span: RowSpan, unwinders: Sequence[Unwinder], run: Run, visits: list[tuple[int, list[int]]]) -> RowSpan:
    """The span with what its executed instructions say: they differ, or are equal everywhere they ran."""
    asked = [unwinder for unwinder in unwinders if span.rows[unwinder.name] is not None]
    ran = False
    # A broken table can claim a span as large as the address space: what ran is always less.
    first, last = (bisect_left(visits, at, key=lambda visit: visit[0]) for at in (span.start, span.end))
    for _, steps in visits[first:last]:
        for step in steps:
            if run.watched.transition[step]:
                continue
            site = _site(run, step, asked)
            if not _equal(site.answers.values()):
                return replace(span, agreement=Agreement.DIFFERENT, site=site)
            ran = True
    return replace(span, agreement=Agreement.EQUAL) if ran else span


def _site(run: Run, step: int, unwinders: Sequence[Unwinder]) -> Site:
    snapshot = run.trace.snapshot(step)
    answers = {}
    for unwinder in unwinders:
        said = unwinder.unwind(snapshot)
        verdict = judge(run, snapshot, said, unwinder)
        answers[unwinder.name] = _answer(said, None if verdict.unexplained else run.why(verdict, step))
    true = run.truth(step).frames
    caller = true[1] if len(true) > 1 else None
    if caller is None:
        return Site(step, answers, true[0].cfa, None)
    return Site(step, answers, true[0].cfa, caller.pc, caller.goes_on)


def _answer(said: Backtrace, because: str | None) -> FormatAnswer:
    first = said.frames[0]
    if len(said.frames) > 1:
        return FormatAnswer(first.cfa, said.frames[1].pc, "", because)
    return FormatAnswer(first.cfa, None, "" if said.stopped is None else str(said.stopped), because)


def _equal(answers: Iterable[FormatAnswer]) -> bool:
    """True where all that is claimed is one thing: at the root a CFA is not needed, and a stop claims nothing."""
    claimed = [answer for answer in answers if not answer.stopped]
    callers = {answer.caller for answer in claimed}
    cfas = {answer.cfa for answer in claimed if answer.cfa is not None and not answer.is_root}
    return len(callers) <= 1 and len(cfas) <= 1
