"""docs/reports.md and docs/reports/: what is told to the authors of real tools, from the data of the reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from testbed.referee import REFEREES
from testbed.referee.read_reports import UpstreamReport, without_reports
from testbed.report.catalogue_text import report_markdown

_HEAD = """# Reports

One text for each cause, in the words and with the tools of those who can mend it; nothing in it needs this testbed.
Each command was run in an empty folder, and printed what the report says; where it needs a library or a source tree,
its first lines name the variable; that was on Debian 12, and of those whose words had depended on it on Debian sid, too
(2026-11-28: GCC 16.2, gdb 18.1, glibc 2.43, LLVM libunwind 21.1.8). `testbed matrix --known-bugs --report ID DIR`
writes one with its files, and with `--try` runs its command. Written by `docs/regenerate.py --reports`.

None was sent yet. Before one is sent: run it with the newest version, if it names an older one; search the tracker
again, for those of Sourceware, Android and GCC could not be searched whole; and look at the place that it names in GCC,
gdb, GNU ld or LLDB, whose sources were not at hand for most of them. *tried*: the change was made in the upstream's
source, or in the one object that it is about, and with it the command printed what is expected.
"""


def reports_pages(reports: Mapping[str, UpstreamReport]) -> dict[str, str]:
    """Each page by its path below docs/."""
    texts = {f"reports/{each.id}.md": report_markdown(each) for each in reports.values()}
    return {"reports.md": "\n".join(_index(reports)), **texts}


def _index(reports: Mapping[str, UpstreamReport]) -> Iterator[str]:
    yield _HEAD
    for upstream, group in groupby(reports.values(), key=lambda each: each.upstream):
        mine = list(group)
        yield f"## {upstream}\n\n{mine[0].to}\n\n| report | shows in | change |\n|---|---|---|"
        for each in mine:
            state = "not built" if each.change == "Not built." else "tried" if each.change else "none"
            yield f"| [{each.title}](reports/{each.id}.md) | {' '.join(each.shows_in.split())} | {state} |"
        yield ""
    told = {name for each in reports.values() for name in each.findings}
    missing = [
        each
        for referee in REFEREES.values()
        for each in referee.findings
        if not (each.of_technique or each.gone_since or each.upstream or each.id in told)
    ]
    why = without_reports()
    yield "## Findings without a report\n\nNo report of them is known, and none is here.\n"
    yield from (f"- {each.title} ({each.id}): {why.get(each.id, 'none is written yet')}." for each in missing)
    yield ""
