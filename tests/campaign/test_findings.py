"""Every finding shows today, by the command that it gives, and the strategies know such sites."""

from __future__ import annotations

import dataclasses
import re
import shlex
import sys

import pytest

from docs.findings_page import findings_markdown, with_versions
from programs import PROGRAMS
from testbed.campaign.findings import in_all_versions, show
from testbed.cli import main
from testbed.cli.strategies import all_strategies
from testbed.contract.unwinder import Unwinder
from testbed.referee import REFEREES, Finding, Referee
from testbed.referee.versions import Version, of_tool, versions
from testbed.report.json_forms import TriedFindings
from testbed.store.codec import encoded
from testbed.words.errors import VersionMissing
from testbed.words.outcome import Outcome
from tests.house.sources import ROOT
from unwinders import UNWINDERS


def named(value: Referee | Finding) -> str:
    return re.sub(r"\W+", "_", value.title) if isinstance(value, Finding) else value.name


FINDINGS = [(referee, finding) for referee in REFEREES.values() for finding in referee.findings]


@pytest.mark.parametrize(("referee", "finding"), FINDINGS, ids=named)
def test_a_finding_shows(referee: Referee, finding: Finding) -> None:
    shown = show(referee, finding, all_strategies(), PROGRAMS)
    if shown.missing:
        pytest.skip(shown.missing)
    assert shown.as_recorded, f"{shown.command}: {shown.verdict} {shown.problem}"
    assert shown.said
    assert shown.truth.endswith("(root)")
    text = findings_markdown([shown])
    told = (finding.gone_since,) if shown.repaired else (shown.command, shown.said, shown.truth, shown.tool)
    assert all(part in text for part in (finding.title, *told))
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


def checked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    """The exit status of `testbed matrix --known-bugs`, and what it prints."""
    monkeypatch.setattr(sys, "argv", ["testbed", "matrix", "--known-bugs", *options])
    status = 0
    try:
        main()
    except SystemExit as done:
        status = int(done.code or 0)
    return status, capsys.readouterr().out


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
        monkeypatch.setattr("testbed.cli.matrix.REFEREES", known)
        status, out = checked(monkeypatch, capsys, "--check")
        assert status == expected
        assert f"{len(findings)} findings: 1 show" in out


def test_what_newer_versions_repaired_is_a_list_of_its_own_and_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    referee, finding = a_finding()
    version = show(referee, finding, all_strategies(), PROGRAMS).version
    said = {"seen_in": ("0.1",), "not_in": (version,)}
    gone = dataclasses.replace(finding, at="main", title="It was so once", **said)
    shown = [show(referee, each, all_strategies(), PROGRAMS) for each in (gone, finding)]
    assert [each.repaired for each in shown] == [True, False]
    mistakes, _, repaired = findings_markdown(shown).partition("# What was repaired")
    assert gone.title not in mistakes and f"**{gone.title}**: 0.1; gone since {version}" in repaired
    assert f"--at main -u {finding.unwinder}` shows it" in repaired and finding.title in mistakes
    monkeypatch.setattr("docs.findings_page.of_tool", lambda tool: [Version(tool=tool, version="0.1", holds="")])
    assert f"--at main -u {finding.unwinder}@0.1` shows it" in findings_markdown(shown)
    back = dataclasses.replace(finding, **said)  # it shows in a version of which the data say that it does not
    for each, expected, told in ((gone, 0, "0 show, 0 do not, 1 repaired"), (back, 1, "1 show, 0 do not, 0 not")):
        monkeypatch.setattr("testbed.cli.matrix.REFEREES", {"clang": dataclasses.replace(referee, findings=(each,))})
        status, out = checked(monkeypatch, capsys, "--check")
        assert (status, told in out) == (expected, True), out


def test_another_wrong_answer_is_not_the_finding_that_says_which() -> None:
    referee, finding = a_finding()
    assert show(referee, dataclasses.replace(finding, outcome="wrong_register"), all_strategies(), PROGRAMS).shows
    assert not show(referee, dataclasses.replace(finding, outcome="skipped"), all_strategies(), PROGRAMS).shows


def test_all_versions_are_asked_and_what_cannot_be_stays_as_it_was(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    referee, finding = a_finding()
    strategies = {"1.0": "debug_frame", "2.0": "prologue_analysis", "2.1": "debug_frame", "4.0": "prologue_analysis"}
    there = [Version(tool="clang", version=each, holds="") for each in ("1.0", "2.0", "2.1", "3.0", "4.0")]

    def bring(patterns: list[str], tell: object) -> tuple[Unwinder, ...]:
        name, _, version = patterns[0].partition("@")
        if version not in strategies:
            raise VersionMissing(patterns[0], "it is not to be had", "wait")
        return (
            dataclasses.replace(UNWINDERS[strategies[version]], name=patterns[0], tool=lambda: f"{name} {version}"),
        )

    for module in ("testbed.campaign.findings", "testbed.cli.matrix"):
        monkeypatch.setattr(f"{module}.of_tool", lambda tool: there)
    monkeypatch.setattr("testbed.campaign.findings.strategies_of_versions", bring)
    known = dataclasses.replace(finding, seen_in=("2.0", "3.0"))
    now, missing = in_all_versions(referee, known, PROGRAMS, print)
    assert now == dataclasses.replace(finding, seen_in=("1.0", "2.1", "3.0"), not_in=("2.0", "4.0"))
    assert missing == {"3.0": f"{finding.unwinder}@3.0: it is not to be had; wait"}
    assert now.gone_since == "4.0" and now.versions == "1.0 to 3.0; gone since 4.0"
    for each, expected in ((known, 1), (now, 0)):
        monkeypatch.setattr("testbed.cli.matrix.REFEREES", {"clang": dataclasses.replace(referee, findings=(each,))})
        status, out = checked(monkeypatch, capsys, "--check", "--all-versions")
        assert status == expected
        assert f"{finding.id}: 1.0 to 3.0; gone since 4.0\n  3.0 was not asked: " in out
        assert ("its data say otherwise: 2.0 to 3.0" in out) == bool(expected)


@pytest.mark.parametrize(
    ("seen", "gone", "said"),
    [
        ("", "1", ""),
        ("1", "", "1"),
        ("1 2", "", "1 to 2"),
        ("9.1 10.1", "8.0 9.0 10.2", "9.1 to 10.1; not in 9.0; gone since 10.2"),
        ("1 3", "2", "1 to 3"),
    ],
)
def test_versions_are_told_by_the_first_and_the_last(seen: str, gone: str, said: str) -> None:
    _, finding = a_finding()
    assert dataclasses.replace(finding, seen_in=tuple(seen.split()), not_in=tuple(gone.split())).versions == said


@pytest.mark.parametrize("tool", sorted({each.tool for each in versions()}))
def test_the_data_of_findings_name_versions_that_there_are_and_are_written_as_they_stand(tool: str) -> None:
    findings = REFEREES[tool].findings
    order = [each.version for each in of_tool(tool)]
    for finding in findings:
        assert [each for each in order if each in (*finding.seen_in, *finding.not_in)] == order, finding.title
        assert not set(finding.seen_in) & set(finding.not_in)
        assert finding.seen_in
    text = (ROOT / "testbed" / "referee" / tool / "findings.toml").read_text(encoding="utf-8")
    assert with_versions(text, findings) == text
    without = with_versions(text, [dataclasses.replace(each, seen_in=(), not_in=()) for each in findings])
    assert "seen_in" not in without and with_versions(without, findings) == text


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
