"""A sweep's report as one self-contained page: counts, and all suspects with a search."""

from __future__ import annotations

from testbed.report.page import packed, page_text, render_page
from testbed.report.phrases import count
from testbed.report.sweep_text import sweep_lines
from testbed.sweep.model import ReportedDoubt, SweepReport
from testbed.words.printable import printable


def sweep_html(report: SweepReport) -> str:
    """The page as text."""
    return render_page(
        "sweep.html",
        css=page_text("page.css") + page_text("sweep.css"),
        script=page_text("page.js") + page_text("sweep.js"),
        data=packed({"suspects": list(map(_row, report.suspects))}, {}),
        head="\n".join(_head(report)),
        suspects=count(len(report.suspects), "suspect"),
        tables=[
            (title, [(printable(each.name), each.suspect, each.undecided) for each in counts])
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
    first = next((i for i, line in enumerate(lines) if line.lstrip().startswith("suspect  cannot tell")), len(lines))
    return lines[:first]


def _row(doubt: ReportedDoubt) -> list[str]:
    """What the page's script shows of a suspect: its columns, all of which are searched."""
    executed = f"{doubt.execution}: {doubt.executed}".strip(": ")
    named = printable(doubt.function) or "no name"
    told = (f"{named} [{doubt.start:#x}]", doubt.cause, doubt.words, executed, doubt.severity)
    return [printable(doubt.file), *told, printable(doubt.package), printable(doubt.producer)]
