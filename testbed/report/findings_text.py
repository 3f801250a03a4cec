"""Findings against real tools, for the terminal and as FINDINGS.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from testbed.campaign.findings import Reproduction

_HEAD = """# Findings

What real unwinders, and the tools that write tables, were seen to do wrong in this testbed: each with the smallest
program of the corpus that shows it, and the one command that does. Written by `docs/regenerate.py` from `testbed
findings`, which tries all of them again; nothing here was typed by hand. `testbed findings --check` fails where one
no longer shows. `testbed findings --report ID DIR` writes one as a bug report, with its files.

What a tool says stands beside the truth: `[name]` is a true caller that it lacks, `≠name` a frame that never was, `×`
how often one repeats.

Behind them stands a list of its own: what shows the limit of a technique, such as code without a table.
"""
_OF_TECHNIQUES = """# What a technique cannot know

Wrong answers, too, and by tools that people use; but what these tools look at does not say what is true. They are no
mistakes to report.
"""


def print_findings(console: Console, shown: Sequence[Reproduction]) -> None:
    """Print each finding: what the tool says, what is true, why, and the command."""
    for each in (*_mistakes(shown), *_of_techniques(shown)):
        limit = "  (what the technique cannot know)" if each.finding.of_technique else ""
        console.print(Text(each.finding.title, style="bold") + Text(limit))
        console.print(Text(f"  {each.command}"))
        for name, text in _facts(each):
            console.print(Text(f"  {name}: {text}"))
        console.print(Text(f"  {_state(each)}", style="" if each.shows else "bold"))
        console.print()
    showing, missing = sum(each.shows for each in shown), sum(bool(each.missing) for each in shown)
    console.print(
        f"{len(shown)} findings: {showing} show, {len(shown) - showing - missing} do not, {missing} not tried"
    )


def findings_markdown(shown: Sequence[Reproduction]) -> str:
    """FINDINGS.md."""
    parts = [_HEAD, *_by_tool(_mistakes(shown))]
    if limits := _of_techniques(shown):
        parts += [_OF_TECHNIQUES, *_by_tool(limits)]
    return "\n".join(parts)


def _mistakes(shown: Sequence[Reproduction]) -> list[Reproduction]:
    return [each for each in shown if not each.finding.of_technique]


def _of_techniques(shown: Sequence[Reproduction]) -> list[Reproduction]:
    return [each for each in shown if each.finding.of_technique]


def _by_tool(shown: Sequence[Reproduction]) -> Iterator[str]:
    for tool in dict.fromkeys(each.referee.name for each in shown):
        mine = [each for each in shown if each.referee.name == tool]
        yield f"## {tool}\n\n*{mine[0].referee.summary}*\n"
        yield from ("\n".join(_section(each)) for each in mine)


def findings_data(shown: Sequence[Reproduction]) -> list[dict[str, Any]]:
    """The findings as plain data."""
    return [
        {
            "id": each.finding.id,
            "title": each.finding.title,
            "referee": each.referee.name,
            "unwinder": each.finding.unwinder,
            "program": each.finding.program,
            "arch": each.finding.arch,
            "recipe": each.finding.recipe,
            "at": each.finding.at,
            "command": each.command,
            "tool": each.tool,
            "said": each.said,
            "truth": each.truth,
            "outcome": each.verdict.outcome.value if each.verdict else None,
            "difference": each.verdict.difference if each.verdict else "",
            "because": each.finding.limit.because,
            "upstream": each.finding.upstream,
            "seen_with": each.finding.tool,
            "since": each.finding.since,
            "of_technique": each.finding.of_technique,
            "shows": each.shows,
            "missing": each.missing,
            "problem": each.problem,
        }
        for each in shown
    ]


def _section(each: Reproduction) -> Iterator[str]:
    yield f"### {each.finding.title}\n"
    yield f"```\n{each.command}\n```\n"
    for name, text in _facts(each):
        quoted = f"`{text}`" if name in ("says", "true") else text
        yield f"- {name}: {quoted}"
    yield f"- {_state(each)}\n"


def _facts(each: Reproduction) -> Iterator[tuple[str, str]]:
    finding = each.finding
    if each.verdict is not None:
        yield "at", f"{each.where} ({each.instruction}), {finding.program} on {finding.arch} by {finding.recipe}"
        yield "says", each.said
        yield "true", each.truth
        difference = f": {each.verdict.difference}" if each.verdict.difference else ""
        yield "which is", f"{each.verdict.outcome.value}{difference}"
    yield "because", finding.limit.because
    yield "upstream", finding.upstream or "no report was found"
    yield "first seen", f"{finding.since}, with {finding.tool}"
    yield "id", finding.id


def _state(each: Reproduction) -> str:
    if each.missing:
        return f"not tried: {each.missing}"
    if each.problem:
        return f"DOES NOT SHOW: {each.problem}"
    return f"shows with {each.tool}" if each.shows else f"DOES NOT SHOW any more with {each.tool}"
