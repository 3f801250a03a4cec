"""FINDINGS.md: what real tools were seen to do wrong, each tried again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from testbed.campaign.findings import Reproduction, command_of
from testbed.referee import Finding
from testbed.referee.versions import of_tool
from testbed.report.catalogue_text import facts, mistakes, of_techniques, repaired, state_of

_HEAD = """# Findings

What real unwinders, and the tools that write tables, were seen to do wrong in this testbed: each with the smallest
program of the corpus that shows it, and the one command that does. Written by `docs/regenerate.py` from
`testbed matrix --known-bugs`, which tries all of them again; nothing here was typed by hand. With `--check` it fails
where one no longer shows. What their authors are told is in
[docs/reports.md](docs/reports.md).

What a tool says stands beside the truth: `[name]` is a true caller that it lacks, `≠name` a frame that never was, `×`
how often one repeats.

Behind them stand two lists of their own: what shows the limit of a technique, such as code without a table, and what
was repaired since. *versions* says in which versions of the tool it shows, of those that were asked; where nothing is
said of them, one was.
"""
_OF_TECHNIQUES = """# What a technique cannot know

Wrong answers, too, and by tools that people use; but what these tools look at does not say what is true. They are no
mistakes to report.
"""
_REPAIRED = """# What was repaired

What older versions show, and newer ones do not: each with the versions that show it, and the command that asks the last
of them.
"""


def findings_markdown(shown: Sequence[Reproduction]) -> str:
    """FINDINGS.md."""
    parts = [_HEAD, *_by_tool(mistakes(shown))]
    if limits := of_techniques(shown):
        parts += [_OF_TECHNIQUES, *_by_tool(limits)]
    if gone := repaired(shown):
        parts += [_REPAIRED, *(f"- {_gone(each)}" for each in gone), ""]
    return "\n".join(parts)


def _gone(each: Reproduction) -> str:
    finding = each.finding
    last = finding.seen_in[-1]
    asked = f"@{last}" if any(last == version.version for version in of_tool(each.referee.name)) else ""
    command = command_of(replace(finding, unwinder=finding.unwinder + asked))
    return f"**{finding.title}**: {finding.versions}. `{command}` shows it; {finding.because}. ({finding.id})"


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


def with_versions(text: str, findings: Sequence[Finding]) -> str:
    """A ``findings.toml`` with the versions of its findings, which stand in the same order, behind each one's place."""
    head, *blocks = re.sub(r"^(seen_in|not_in) = .*\n", "", text, flags=re.MULTILINE).split("[[finding]]\n")
    return "[[finding]]\n".join([head, *map(_with_its_versions, blocks, findings)])


def _with_its_versions(block: str, finding: Finding) -> str:
    said = (("seen_in", finding.seen_in), ("not_in", finding.not_in))
    lines = "".join(f"{key} = {json.dumps(versions)}\n" for key, versions in said if versions)
    return re.sub(r"^at = .*\n", lambda at: at[0] + lines, block, count=1, flags=re.MULTILINE)
