"""``testbed findings``: what real tools do wrong, tried again."""

from __future__ import annotations

import json
import sys

import click

from programs import PROGRAMS
from testbed.campaign.findings import show
from testbed.cli.choice import matching
from testbed.cli.strategies import all_strategies
from testbed.cli.terminal import console_for_reports
from testbed.referee import REFEREES


@click.command("findings")
@click.argument("referees", nargs=-1, metavar="[REFEREE]...")
@click.option("--check", is_flag=True, help="Exit with 1 where a finding no longer shows.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def command(referees: tuple[str, ...], check: bool, as_json: bool) -> None:
    """Try every finding against real tools again: what each says, what is true, why, and the command that shows it.

    REFEREE is a name from `testbed list referees` (default: all).
    What is not installed is not tried, which is said.
    """
    from testbed.report.findings_text import findings_data, print_findings

    known = all_strategies()
    chosen = matching(REFEREES, referees, "referee")
    shown = [show(referee, finding, known, PROGRAMS) for referee in chosen for finding in referee.findings]
    if as_json:
        json.dump(findings_data(shown), sys.stdout, indent=1, ensure_ascii=False)
        sys.stdout.write("\n")
    else:
        print_findings(console_for_reports(), shown)
    if check and any(not each.shows and not each.missing for each in shown):
        sys.exit(1)
