"""Every finding shows today, by the command that it gives, and the strategies know such sites."""

from __future__ import annotations

import dataclasses
import re
import shlex
import sys

import pytest

from docs.findings_page import findings_markdown
from programs import PROGRAMS
from testbed.campaign.findings import show
from testbed.cli import main
from testbed.cli.strategies import all_strategies
from testbed.referee import REFEREES, Finding, Referee
from testbed.report.json_forms import TriedFindings
from testbed.store.codec import encoded
from testbed.words.outcome import Outcome


def named(value: Referee | Finding) -> str:
    return re.sub(r"\W+", "_", value.title) if isinstance(value, Finding) else value.name


FINDINGS = [(referee, finding) for referee in REFEREES.values() for finding in referee.findings]


@pytest.mark.parametrize(("referee", "finding"), FINDINGS, ids=named)
def test_a_finding_shows(referee: Referee, finding: Finding) -> None:
    shown = show(referee, finding, all_strategies(), PROGRAMS)
    if shown.missing:
        pytest.skip(shown.missing)
    assert shown.shows, f"{shown.command}: {shown.verdict} {shown.problem}"
    assert shown.said
    assert shown.truth.endswith("(root)")
    text = findings_markdown([shown])
    assert all(part in text for part in (finding.title, shown.command, shown.said, shown.truth, shown.tool))
    assert not re.search(r"/(root|home|work|usr|tmp)/", text), "no place of this machine"


@pytest.mark.parametrize(("referee", "finding"), FINDINGS, ids=named)
def test_a_finding_is_complete(referee: Referee, finding: Finding) -> None:
    assert finding.program in PROGRAMS
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", finding.since)
    assert finding.tool
    assert finding.upstream == "" or finding.upstream.startswith("https://")


def test_there_are_at_least_eight() -> None:
    assert len(FINDINGS) >= 8


def a_finding() -> tuple[Referee, Finding]:
    """The first finding of the compiler: its strategy is ours, so it can be tried everywhere."""
    return next((referee, finding) for referee, finding in FINDINGS if referee.name == "clang")


def test_what_no_longer_shows_is_said_and_fails_the_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    referee, finding = a_finding()
    fixed = dataclasses.replace(finding, at="main")  # exact there
    shown = show(referee, fixed, all_strategies(), PROGRAMS)
    assert not shown.shows
    assert shown.verdict is not None and shown.verdict.outcome is Outcome.EXACT
    assert "--at" not in shown.command, "every step before it was asked, too"
    assert "DOES NOT SHOW" in findings_markdown([shown])
    for findings, expected in (((finding,), 0), ((finding, fixed), 1)):
        known = {"clang": dataclasses.replace(referee, findings=findings)}
        monkeypatch.setattr("testbed.cli.findings.REFEREES", known)
        monkeypatch.setattr(sys, "argv", ["testbed", "findings", "--check"])
        status = 0
        try:
            main()
        except SystemExit as done:
            status = int(done.code or 0)
        assert status == expected
        assert f"{len(findings)} findings: 1 show" in capsys.readouterr().out


def test_what_goes_wrong_on_the_way_is_in_the_value() -> None:
    referee, finding = a_finding()
    nowhere = show(referee, dataclasses.replace(finding, at="nowhere"), all_strategies(), PROGRAMS)
    assert not nowhere.shows and "no symbol 'nowhere'" in nowhere.problem
    absent = dataclasses.replace(referee, find=lambda: None, package="pip install it")
    missing = show(absent, finding, all_strategies(), PROGRAMS)
    assert missing.missing == "not installed: pip install it"
    assert encoded(TriedFindings, [missing, nowhere])[0]["missing"] == missing.missing


def test_the_command_of_a_finding_says_it_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    referee, finding = a_finding()
    shown = show(referee, finding, all_strategies(), PROGRAMS)
    monkeypatch.setattr(sys, "argv", shlex.split(shown.command))
    monkeypatch.setenv("NO_COLOR", "1")
    main()
    out = " ".join(capsys.readouterr().out.split())
    assert shown.verdict is not None
    assert shown.verdict.outcome.label in out
    assert shown.verdict.difference in out
