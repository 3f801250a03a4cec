"""A sweep's report as text, and as one self-contained page: counts, and all suspects with a search."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from math import exp, lgamma, log, log1p

from testbed.report.page import packed, page_text, render_page
from testbed.report.phrases import count
from testbed.sweep.model import CauseCount, EntryAnswer, ReportedDoubt, SweepDifference, SweepReport
from testbed.words.printable import printable

# A sweep's report as text.

COMMAND = "  testbed check "
OF_EACH = 5  # suspects of one cause that are shown; JSON and the page have all
_MOST_ROWS = 20  # producers, packages, failures


def sweep_lines(report: SweepReport) -> Iterator[str]:
    """What was swept, what is suspect by cause, producer and package, what execution says, some of each cause."""
    if report.waiting:
        left = f"{report.waiting:,} of {count(report.files, 'file')} are not swept yet"
        yield f"interrupted: {left}; the same command goes on. Of the others:"
    passes = "some were executed" if report.executed else "nothing was executed"
    yield (
        f"{count(report.files - report.waiting, 'file')}, {report.entries:,} entries, "
        f"{count(report.instructions, 'instruction')}, {report.seconds:.1f} CPU seconds; {passes}."
    )
    yield f"  agree        {_share(report.agreed, report.entries)}"
    if report.private:
        own = "change a saved register, and no rule says so: a convention of their own"
        yield f"               {report.private:,} of them {own}"
    yield f"  suspect      {_share(report.suspect, report.entries)}"
    if report.at_call:
        yield f"               {report.at_call:,} of them at a call, too: exceptions and every backtrace go astray"
    if between := report.suspect - report.at_call:
        yield f"               {between:,} between calls only: what a profiler or debugger sees"
    yield f"  cannot tell  {_share(report.undecided, report.entries)}"
    yield from _executed(report)
    for title, counts in (("cause", report.causes), ("producer", report.producers), ("package", report.packages)):
        if counts:
            yield ""
            yield from _table(title, counts)
    for cause, every in groupby(report.suspects, key=lambda each: each.cause):
        yield ""
        yield from _of_cause(cause, list(every))
    for path, failure in report.failures[:_MOST_ROWS]:
        yield f"not swept: {failure if failure.startswith(path) else f'{printable(path)}: {failure}'}"
    yield from _more(len(report.failures) - _MOST_ROWS, "not swept")
    if report.entries:
        yield ""
        yield from sweep_answer(report)


def sweep_answer(report: SweepReport) -> Iterator[str]:
    """The last line, in one sentence; with suspects the command that goes on, with the first that is no package's."""
    entries = "1 entry" if report.entries == 1 else f"{report.entries:,} entries"
    wrong = {each.answer: each.wrong + each.wrong_on_a_forced_path for each in report.executed}
    executed = {answer: f", {number:,} of them wrong when executed" for answer, number in wrong.items()}
    at_call = f", {report.at_call:,} of them wrong at a call, too" * bool(report.at_call)
    said = f"{report.suspect:,} of {entries} {'is' if report.suspect == 1 else 'are'} suspect"
    said += executed.get(EntryAnswer.SUSPECT.value, at_call)
    unknown = f"; {report.undecided:,} cannot be told{executed.get(EntryAnswer.CANNOT_TELL.value, '')}"
    yield f"{said if report.suspect else f'No row of {entries} is suspect'}{unknown * bool(report.undecided)}."
    for first in [each for each in report.suspects if not each.package][:1]:
        name = printable(first.function) or f"{first.start:#x}"
        yield f"{COMMAND}{shlex.join((printable(first.file), '--function', name))}"


def _named(doubt: ReportedDoubt) -> str:
    """A function by its name and where its entry begins; without a name by that alone, as `testbed check` does."""
    return f"{printable(doubt.function)} [{doubt.start:#x}]" if doubt.function else f"{doubt.start:#x}"


def _executed(report: SweepReport) -> Iterator[str]:
    if not report.executed:
        return
    yield ""
    yield "  called     wrong  (forced)  note     right  (forced)  not decided  first pass"
    for each in report.executed:
        yield (
            f"{each.called:>8,}  {each.wrong:>8,}  {each.wrong_on_a_forced_path:>8,}  {each.notes:>4,}  "
            f"{each.right:>8,}  {each.right_on_a_forced_path:>8,}  {each.not_decided:>11,}  {each.answer}"
        )
    sampled = next((each for each in report.executed if each.answer == EntryAnswer.AGREES.value), None)
    if sampled is not None:
        wrong, tried = sampled.wrong + sampled.wrong_on_a_forced_path, sampled.called - sampled.not_decided
        yield (
            f"the first pass agreed with {count(tried, 'entry').replace('entrys', 'entries')} that were called, and "
            f"was wrong about {wrong:,}: at most {100 * _at_most(wrong, tried):.2g} % of all, with 95 % certainty"
        )


def _at_most(found: int, tried: int) -> float:
    """The upper end of Clopper and Pearson's interval for a share, one side, 95 %: it is the share of which so few are
    found as seldom as that.
    """
    low, high = 0.0, 1.0
    for _ in range(50):
        share = (low + high) / 2
        ways = (lgamma(tried + 1) - lgamma(k + 1) - lgamma(tried - k + 1) for k in range(found + 1))
        seldom = sum(exp(way + k * log(share) + (tried - k) * log1p(-share)) for k, way in enumerate(ways)) < 0.05
        low, high = (low, share) if seldom else (share, high)
    return high


def _of_cause(cause: str, every: Sequence[ReportedDoubt]) -> Iterator[str]:
    """Some suspects of a cause, of as many files as there are: those that were executed first."""
    yield f"{printable(cause)}: {len(every):,} in {count(len({each.file for each in every}), 'file')}"
    ordered = sorted(every, key=lambda each: each.execution in ("", "not decided"))
    chosen = list({each.file: each for each in reversed(ordered)}.values())[::-1][:OF_EACH]
    for each in chosen:
        yield f"  {printable(each.file)}: {_named(each)}: {each.words}"
        if each.execution:
            said = f": {printable(each.executed)}" if each.executed else ""
            yield f"    executed, {each.execution}{said}"
    yield from (f"  {line}" for line in _more(len(every) - len(chosen), ""))


def _more(number: int, what: str) -> Iterator[str]:
    if number > 0:
        yield f"... and {number:,} more{' ' * bool(what)}{what}: testbed sweep report DB -o PAGE.html has all"


def _share(part: int, whole: int) -> str:
    return f"{part:>11,}  {100 * part / whole if whole else 0:8.{4 if 0 < part < whole else 0}f} %"


def _table(title: str, counts: tuple[CauseCount, ...]) -> Iterator[str]:
    yield f"{'suspect':>9}  {'at a call':>9}  {'cannot tell':>11}  {title}"
    for each in counts[:_MOST_ROWS]:
        yield f"{each.suspect:>9,}  {each.at_call:>9,}  {each.undecided:>11,}  {printable(each.name)}"
    yield from _more(len(counts) - _MOST_ROWS, "")


def difference_lines(difference: SweepDifference) -> Iterator[str]:
    """What differs between two sweeps."""
    new, gone = len(difference.new), len(difference.gone)
    yield f"{count(new, 'suspect')} new, {gone:,} gone, {difference.both:,} in both"
    for name, before, now in difference.causes:
        yield f"{before:>9,} -> {now:>9,}  {printable(name)}"
    for sign, doubts in (("+", difference.new), ("-", difference.gone)):
        for each in doubts[:_MOST_ROWS]:
            yield f"{sign} {printable(each.file)}: {_named(each)}: {each.words}"
        yield from _more(len(doubts) - _MOST_ROWS, "")


def sweep_html(report: SweepReport) -> str:
    """The page as text."""
    return render_page(
        "sweep.html",
        css=page_text("page.css") + page_text("sweep.css"),
        script=page_text("page.js") + page_text("sweep.js"),
        data=packed({"suspects": list(map(_row, report.suspects))}, {}),
        head="\n".join(_head(report)),
        answer=list(sweep_answer(report)) if report.entries else [],
        suspects=count(len(report.suspects), "suspect"),
        tables=[
            (title, [(printable(each.name), each.suspect, each.at_call, each.undecided) for each in counts])
            for title, counts in (
                ("cause", report.causes),
                ("producer", report.producers),
                ("package", report.packages),
            )
            if counts
        ],
        failures=[f"{printable(path)}: {printable(failure)}" for path, failure in report.failures],
    )


def _head(report: SweepReport) -> list[str]:
    """The lines about the whole, up to the first table."""
    lines = list(sweep_lines(report))
    first = next((i for i, line in enumerate(lines) if line.lstrip().startswith("suspect  at a call")), len(lines))
    return lines[:first]


def _row(doubt: ReportedDoubt) -> list[str]:
    """What the page's script shows of a suspect: its columns, all of which are searched."""
    executed = f"{doubt.execution}: {doubt.executed}".strip(": ")
    severity = doubt.severity if doubt.severity != doubt.execution else ""
    told = (_named(doubt), doubt.cause, doubt.words, executed, severity)
    return [printable(doubt.file), *told, printable(doubt.package), printable(doubt.producer)]
