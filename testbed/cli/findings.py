"""``testbed findings``: what real tools do wrong, tried again."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from programs import PROGRAMS
from testbed.campaign.findings import show
from testbed.cli.strategies import all_strategies
from testbed.cli.terminal import console_for_reports, status
from testbed.contract.unwinder import Unwinder
from testbed.referee import REFEREES, Finding, Referee
from testbed.words.catalogue import matching
from testbed.words.errors import UsageError
from testbed.words.nearest import nearest


@click.command("findings")
@click.argument("referees", nargs=-1, metavar="[REFEREE]...")
@click.option("--check", is_flag=True, help="Exit with 1 where a finding no longer shows.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print them as JSON (schema: testbed/report/schema/findings.json)."
)
@click.option(
    "--report",
    nargs=2,
    metavar="ID DIR",
    help="Write one finding as a bug report: source, program file, dumps, what is said, what is true and why.",
)
def command(referees: tuple[str, ...], check: bool, as_json: bool, report: tuple[str, str] | None) -> None:
    """Try every finding against real tools again: what each says, what is true, why, and the command that shows it.

    REFEREE is a name from `testbed list referees` (default: all).
    What is not installed is not tried, which is said.
    """
    from testbed.report.finding_report import print_findings
    from testbed.report.json_forms import TriedFindings
    from testbed.store.codec import encoded

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
    if check and any(not each.shows and not each.missing for each in shown):
        sys.exit(1)


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
        raise UsageError(f"{name} does not show any more with {shown.tool}: there is nothing to report")
    return write_report(evidence_for(shown, known, PROGRAMS), folder)
