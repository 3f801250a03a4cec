"""Findings against real tools for the terminal, and reports of them that the tools' authors can use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from testbed.campaign.findings import Reproduction
from testbed.referee.read_reports import UpstreamReport
from testbed.words.errors import UsageError


def write_report(report: UpstreamReport, folder: Path) -> tuple[Path, ...]:
    """Write ``report.md`` and its files; which they are. Raises UsageError where the folder is not empty."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty: a report gets a folder of its own")
        files = {"report.md": report_markdown(report), **report.files}
        if report.diff:
            files["change.diff"] = report.diff
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror or error}") from error
    return tuple(folder / name for name in files)


def report_markdown(report: UpstreamReport) -> str:
    """The text of a report: one block to paste into a shell, what that prints, and the cause."""
    return "\n\n".join(_paragraphs(report)) + "\n"


def _paragraphs(report: UpstreamReport) -> Iterator[str]:
    yield f"# {report.title}"
    yield f"Shows in {report.shows_in.strip()}."
    yield report.wrong.strip()
    made = "".join(f"cat > {name} <<'END'\n{text.rstrip()}\nEND\n" for name, text in report.files.items())
    yield f"```sh\n{made}{report.command.strip()}\n```"
    yield f"prints\n\n```\n{report.prints.strip()}\n```"
    yield f"**Expected:** {report.expected.strip()}"
    if report.ordinary:
        yield f"**Who meets it:** {report.ordinary.strip()}"
    yield f"**Where:** {report.place.strip()}"
    if report.diff:
        yield f"**A change:**\n\n```diff\n{report.diff.rstrip()}\n```"
    for text in (report.change, report.tests, report.search):
        if text:
            yield text.strip()


def print_findings(console: Console, shown: Sequence[Reproduction]) -> None:
    """Print each finding: what the tool says, what is true, why, and the command."""
    for each in (*mistakes(shown), *of_techniques(shown), *repaired(shown)):
        limit = "  (what the technique cannot know)" if each.finding.of_technique else ""
        console.print(Text(each.finding.title, style="bold") + Text(limit))
        console.print(Text(f"  {each.command}"))
        for name, text in facts(each):
            console.print(Text(f"  {name}: {text}"))
        console.print(Text(f"  {state_of(each)}", style="" if each.shows else "bold"))
        console.print()
    showing, missing = sum(each.shows for each in shown), sum(bool(each.missing) for each in shown)
    gone = sum(not (each.shows or each.missing) and each.as_recorded for each in shown)
    console.print(
        f"{len(shown)} findings: {showing} show, {len(shown) - showing - missing - gone} do not, "
        + (f"{gone} repaired, " if gone else "")
        + f"{missing} not tried"
    )


def mistakes(shown: Sequence[Reproduction]) -> list[Reproduction]:
    """What a tool gets wrong."""
    return [each for each in shown if not each.finding.of_technique and not each.repaired]


def of_techniques(shown: Sequence[Reproduction]) -> list[Reproduction]:
    """What no tool of its technique can know."""
    return [each for each in shown if each.finding.of_technique and not each.repaired]


def repaired(shown: Sequence[Reproduction]) -> list[Reproduction]:
    """What older versions show, and newer ones do not."""
    return [each for each in shown if each.repaired]


def facts(each: Reproduction) -> Iterator[tuple[str, str]]:
    """What is told of a finding, each by its noun."""
    finding = each.finding
    if each.verdict is not None:
        yield "at", f"{each.where} ({each.instruction}), {finding.program} on {finding.arch} by {finding.recipe}"
        yield "says", each.said
        yield "true", each.truth
        difference = f": {each.verdict.difference}" if each.verdict.difference else ""
        yield "which is", f"{each.verdict.outcome.value}{difference}"
    yield "because", finding.because
    yield "upstream", finding.upstream or "no report was found"
    yield "first seen", f"{finding.since}, with {finding.tool}"
    if finding.versions:
        yield "versions", finding.versions
    yield "id", finding.id


def state_of(each: Reproduction) -> str:
    """Whether it shows today."""
    if each.missing:
        return f"not tried: {each.missing}"
    if each.problem:
        return f"DOES NOT SHOW: {each.problem}"
    if each.shows:
        return f"shows with {each.tool}"
    gone = each.as_recorded
    return f"repaired: does not show with {each.tool}" if gone else f"DOES NOT SHOW any more with {each.tool}"
