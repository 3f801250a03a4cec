"""``testbed findings``: what real tools do wrong, tried again."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from programs import PROGRAMS
from testbed.campaign.findings import in_all_versions, show
from testbed.cli.strategies import all_strategies
from testbed.cli.terminal import console_for_reports
from testbed.referee import REFEREES, Referee
from testbed.referee.read_reports import read_reports, try_report, without_reports
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
    help="Write the report of one cause for the tool's authors, with its files. ID is its own, or that of a finding.",
)
@click.option("--try", "tried", is_flag=True, help="Run the command of --report, and exit with 1 if it prints another.")
def command(
    referees: tuple[str, ...],
    check: bool,
    all_versions: bool,
    as_json: bool,
    report: tuple[str, str] | None,
    tried: bool,
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
    if tried and report is None:
        raise UsageError("--try runs the command of a report: say --report ID DIR, too")
    if report is not None:
        _report(*report, tried)
        return
    known = all_strategies()
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


def _report(name: str, folder: str, tried: bool) -> None:
    from testbed.report.finding_report import write_report

    known = read_reports()
    by_finding = {finding: report for report in known.values() for finding in report.findings}
    found = known.get(name) or by_finding.get(name)
    if found is None:
        for finding in (each for referee in REFEREES.values() for each in referee.findings if each.id == name):
            known_there = f"it is known there, {finding.upstream}" if finding.upstream else ""
            why = known_there or without_reports().get(name, "none is written yet")
            raise UsageError(f"there is no report of {name}: {why}")
        raise UsageError(f"no report {name!r}; {nearest(name, {**known, **by_finding})}; docs/reports.md lists them")
    for path in write_report(found, Path(folder)):
        click.echo(path)
    if tried:
        trial = try_report(found, Path(folder))
        if trial.missing:
            raise UsageError(f"{found.id} cannot be tried here: {', '.join(trial.missing)} is not on the path")
        click.echo(trial.printed, nl=False)
        click.echo("as the report says" if trial.as_told else "NOT what the report says", err=True)
        sys.exit(not trial.as_told)
