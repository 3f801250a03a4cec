"""FINDINGS.md: what real tools were seen to do wrong, each tried again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from testbed.campaign.findings import Reproduction
from testbed.report.finding_report import facts, mistakes, of_techniques, state_of

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


def findings_markdown(shown: Sequence[Reproduction]) -> str:
    """FINDINGS.md."""
    parts = [_HEAD, *_by_tool(mistakes(shown))]
    if limits := of_techniques(shown):
        parts += [_OF_TECHNIQUES, *_by_tool(limits)]
    return "\n".join(parts)


def _by_tool(shown: Sequence[Reproduction]) -> Iterator[str]:
    for tool in dict.fromkeys(each.referee.name for each in shown):
        mine = [each for each in shown if each.referee.name == tool]
        yield f"## {tool}\n\n*{mine[0].referee.summary}*\n"
        yield from ("\n".join(_section(each)) for each in mine)


def _section(each: Reproduction) -> Iterator[str]:
    yield f"### {each.finding.title}\n"
    yield f"```\n{each.command}\n```\n"
    for name, text in facts(each):
        quoted = f"`{text}`" if name in ("says", "true") else text
        yield f"- {name}: {quoted}"
    yield f"- {state_of(each)}\n"
