"""The formats for programs in which a check can be told, by the name that is typed. Each loads what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from testbed.checks.model import FileCheck, Severity
from testbed.checks.own_sources import sources_of
from testbed.report.check_report import CheckReport, ReportedFinding
from testbed.report.check_words import (
    beside,
    consequence_words,
    evidence_words,
    instruction,
    near,
    no_patch_words,
    region,
    repair_words,
    wrong_things,
)
from testbed.report.phrases import count
from testbed.store.codec import json_of, json_text
from testbed.words.catalogue import value_of
from testbed.words.printable import printable, printable_lines

# A check as GitHub's workflow commands: an annotation in the pull request for each finding.
#
#     ::error file=NAME,line=N,endLine=N,col=N,endColumn=N,title=TITLE::MESSAGE
#
# The place is that of the directive to change, or of the instruction behind which one is missing, seen from the
# repository, from its first to its last column.
#
# A per cent sign, a carriage return and a line feed are written %25, %0D, %0A; in the properties before the second
# ``::`` a colon and a comma too, %3A and %2C (GitHub Actions, workflow commands). GitHub shows ten annotations of a
# level and step; the job's log has all of them, and the answer as its last line.

_MOST_THINGS = 3
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def github_lines(report: CheckReport) -> Iterator[str]:
    """The lines to print: a command for each new finding and each broken input, then what is known, then the answer.

    Notes that no line of a source can show are counted: ten annotations are all that GitHub shows.
    """
    for file in report.files:
        new = [reported for reported in file.findings if not reported.known]
        counted = [each for each in new if each.finding.severity is Severity.NOTE and not each.finding.source]
        yield from (_annotation(file.check, reported, report.base) for reported in new if reported not in counted)
        if counted:
            said = f"{count(len(counted), 'note')} on code of no source line: testbed check --notes lists them"
            yield _command("notice", said, file=near(str(file.check.path), report.base))
    for broken in report.broken:
        title = f"{printable(broken.function)} could not be checked".strip()
        yield _command("error", broken.reason, file=near(str(broken.path), report.base), title=title)
    if report.known:
        yield _command("notice", f"{count(report.known, 'finding')} known from the baseline")
    for gone in report.gone:
        yield _command("notice", f"no longer found, and still in {report.baseline}: {gone}")
    yield printable(report.answer)


def _annotation(check: FileCheck, reported: ReportedFinding, base: Path) -> str:
    """The title says what comes of it, the message in three lines what is wrong, what to change, how it is known.

    What is long is wrong about many registers by one cause: the first ones are told.
    """
    finding = reported.finding
    things = wrong_things(finding)
    more = f"; and {len(things) - _MOST_THINGS} more" if len(things) > _MOST_THINGS else ""
    there = f", {at}" if finding.source and (at := beside(finding, base)) else ""
    wrong = f"{instruction(finding)}{there}: {'; '.join(things[:_MOST_THINGS])}{more}"
    lines = (
        f"{check.path.name}: {wrong}" if finding.source else wrong,
        repair_words(finding, base) or no_patch_words(finding),
        f"{finding.kind.value} in {finding.table}; {evidence_words(finding)}",
    )
    file, line, column, behind, _ = (
        region(finding, sources_of(check.path)) if finding.source else (str(check.path), 0, 0, 0, "")
    )
    return _command(
        _LEVELS[finding.severity],
        "\n".join(filter(None, lines)),
        file=near(file, base),
        line=str(line or ""),
        endLine=str(line if behind else ""),
        col=str(column or ""),
        endColumn=str(behind - 1 if behind else ""),
        title=consequence_words(finding) or finding.kind.value,
    )


def _command(level: str, message: str, **properties: str) -> str:
    said = ",".join(
        f"{name}={_data(value).replace(':', '%3A').replace(',', '%2C')}" for name, value in properties.items() if value
    )
    return f"::{level}{' ' * bool(said)}{said}::{_data(message)}"


def _data(text: str) -> str:
    return printable_lines(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


# What makes a form is loaded when it is asked for.
FORMATS: Mapping[str, Callable[[CheckReport], str]] = {
    "json": lambda report: json_of(value_of("testbed.report.check_json", "CheckForm"), report),
    "sarif": lambda report: json_text(value_of("testbed.report.check_sarif", "sarif_data")(report)),
    "github": lambda report: "".join(f"{line}\n" for line in github_lines(report)),
    "junit": lambda report: str(value_of("testbed.report.junit", "check_junit")(report)),
    "html": lambda report: str(value_of("testbed.report.check_html", "check_html")(report)),
}
# What a file holds by the end of its name, where no format is asked for.
FORMAT_OF_END: Mapping[str, str] = {".json": "json", ".sarif": "sarif", ".xml": "junit", ".html": "html"}
