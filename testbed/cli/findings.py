"""``testbed findings``: what real tools do wrong, tried again."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from programs import PROGRAMS
from testbed.campaign.findings import in_all_versions, show
from testbed.cli.strategies import all_strategies
from testbed.cli.terminal import console_for_reports, status
from testbed.contract.unwinder import Unwinder
from testbed.referee import REFEREES, Finding, Referee
from testbed.referee.versions import of_tool
from testbed.words.catalogue import matching
from testbed.words.errors import UsageError
from testbed.words.nearest import nearest


@click.command("findings")
@click.argument("referees", nargs=-1, metavar="[REFEREE]...")
@click.option(
    "--check",
    is_flag=True,
    help="Exit with 1 where a finding does not show, or shows, in a version of which its data say otherwise.",
)
@click.option(
    "--all-versions",
    is_flag=True,
    help="Ask every version there is: in which a finding shows, first and last. What is not here yet is brought.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print them as JSON (schema: testbed/report/schema/findings.json)."
)
@click.option(
    "--report",
    nargs=2,
    metavar="ID DIR",
    help="Write one finding as a bug report: source, program file, dumps, what is said, what is true and why.",
)
def command(
    referees: tuple[str, ...], check: bool, all_versions: bool, as_json: bool, report: tuple[str, str] | None
) -> None:
    """Try every finding against real tools again: what each says, what is true, why, and the command that shows it.

    REFEREE is a name from `testbed list referees` (default: all).
    What is not installed is not tried, which is said.
    """
    from testbed.report.finding_report import print_findings
    from testbed.report.json_forms import TriedFindings
    from testbed.store.codec import encoded

    if all_versions:
        if report is not None or as_json:
            raise UsageError("--all-versions prints versions alone: it goes with --check only")
        if not _ranges(matching(REFEREES, referees, "referee")) and check:
            sys.exit(1)
        return
    known = all_strategies()
    if report is not None:
        _report(*report, known)
        return
    chosen = matching(REFEREES, referees, "referee")
    shown = [show(referee, finding, known, PROGRAMS) for referee in chosen for finding in referee.findings]
    if as_json:
        json.dump(encoded(TriedFindings, shown), sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        print_findings(console_for_reports(), shown)
    if check and not all(each.as_recorded for each in shown):
        sys.exit(1)


def _ranges(referees: Sequence[Referee]) -> bool:
    """Print the versions in which each finding shows; False where its data say otherwise."""
    as_recorded = True
    of_many = [each for each in referees if of_tool(each.name)]
    for referee, finding in ((each, finding) for each in of_many for finding in each.findings):
        now, missing = in_all_versions(referee, finding, PROGRAMS, partial(click.echo, err=True))
        click.echo(f"{finding.id}: {now.versions or 'shows in none of them'}")
        for version, why in missing.items():
            click.echo(f"  {version} was not asked: {why}")
        if now != finding:
            click.echo(f"  its data say otherwise: {finding.versions or 'nothing'}")
            as_recorded = False
    return as_recorded


def _report(name: str, folder: str, known: Mapping[str, Unwinder]) -> None:
    found = {finding.id: (referee, finding) for referee in REFEREES.values() for finding in referee.findings}
    if name not in found:
        raise UsageError(f"no finding {name!r}; {nearest(name, found)}; `testbed findings` prints each finding's id")
    with status(f"trying {name} again, and writing what is evidence of it"):
        paths = _written_report(found[name], known, Path(folder))
    for path in paths:
        click.echo(path)


def _written_report(found: tuple[Referee, Finding], known: Mapping[str, Unwinder], folder: Path) -> Sequence[Path]:
    from testbed.campaign.finding_evidence import evidence_for
    from testbed.report.finding_report import write_report

    name = found[1].id
    shown = show(*found, known, PROGRAMS)
    if shown.missing or shown.problem:
        raise UsageError(f"{name} cannot be shown here: {shown.missing or shown.problem}")
    if not shown.shows:
        since = f", gone since {found[1].gone_since}" if found[1].gone_since else ""
        raise UsageError(f"{name} does not show any more with {shown.tool}{since}: there is nothing to report")
    return write_report(evidence_for(shown, known, PROGRAMS), folder)
