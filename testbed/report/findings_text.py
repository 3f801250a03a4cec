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
no longer shows.
"""


def print_findings(console: Console, shown: Sequence[Reproduction]) -> None:
    """Print each finding: what the tool says, what is true, why, and the command."""
    for each in shown:
        console.print(Text(each.finding.title, style="bold"))
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
    parts = [_HEAD]
    tools = list(dict.fromkeys(each.referee.name for each in shown))
    for tool in tools:
        mine = [each for each in shown if each.referee.name == tool]
        parts.append(f"## {tool}\n\n*{mine[0].referee.summary}*\n")
        parts += ["\n".join(_section(each)) for each in mine]
    return "\n".join(parts)


def findings_data(shown: Sequence[Reproduction]) -> list[dict[str, Any]]:
    """The findings as plain data."""
    return [
        {
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


def _state(each: Reproduction) -> str:
    if each.missing:
        return f"not tried: {each.missing}"
    if each.problem:
        return f"DOES NOT SHOW: {each.problem}"
    return f"shows with {each.tool}" if each.shows else f"DOES NOT SHOW any more with {each.tool}"
