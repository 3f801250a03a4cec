"""A sweep's report as text."""

from __future__ import annotations

from collections.abc import Iterator

from testbed.report.phrases import count
from testbed.sweep.model import CauseCount, SweepReport
from testbed.words.printable import printable

MOST_SHOWN = 40  # suspects; JSON has all


def sweep_lines(report: SweepReport, *, shown: int = MOST_SHOWN) -> Iterator[str]:
    """What was swept, what is suspect by cause and producer, the suspects."""
    yield (
        f"{count(report.files, 'file')}, {report.entries:,} entries, "
        f"{count(report.instructions, 'instruction')}, {report.seconds:.1f} CPU seconds; nothing was executed."
    )
    yield f"  agree        {_share(report.agreed, report.entries)}"
    if report.private:
        yield f"               {report.private:,} of them give a saved register back changed: a convention of their own"
    yield f"  suspect      {_share(report.suspect, report.entries)}"
    yield f"  cannot tell  {_share(report.undecided, report.entries)}"
    for title, counts in (("cause", report.causes), ("producer", report.producers)):
        if counts:
            yield ""
            yield from _table(title, counts)
    if report.suspects:
        yield ""
    for doubt in report.suspects[:shown]:
        yield f"{printable(doubt.file)}: {printable(doubt.function) or 'no name'} [{doubt.start:#x}]: {doubt.words}"
    if len(report.suspects) > shown:
        yield f"... and {len(report.suspects) - shown:,} more: --json has all"
    for path, failure in report.failures:
        yield f"not swept: {failure if failure.startswith(path) else f'{printable(path)}: {failure}'}"


def _share(part: int, whole: int) -> str:
    return f"{part:>11,}  {100 * part / whole if whole else 0:8.4f} %"


def _table(title: str, counts: tuple[CauseCount, ...]) -> Iterator[str]:
    yield f"{'suspect':>9}  {'cannot tell':>11}  {title}"
    for each in counts:
        yield f"{each.suspect:>9,}  {each.undecided:>11,}  {printable(each.name)}"
