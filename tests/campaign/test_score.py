"""Scores: counts by phase, the file of what is known, ranks."""

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docs.findings_page import findings_markdown, with_versions
from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Unit, units
from testbed.campaign.findings import Reproduction, in_all_versions, show
from testbed.campaign.score_card import (
    FILE,
    KnownScores,
    KnownUnwinder,
    ScoredUnit,
    all_the_same,
    as_kept,
    known_scores,
    sample_units,
    score_unit,
    traps_of,
    write_known,
)
from testbed.campaign.version_history import VersionHistory, versioned
from testbed.cli.unwinders import all_unwinders
from testbed.contract.unwinder import Backtrace, Unwinder
from testbed.referee import REFEREES, Finding, Referee, present
from testbed.referee.versions import Version, of_tool, versions
from testbed.report.json_forms import TriedFindings
from testbed.report.score_text import history_page
from testbed.store.codec import encoded
from testbed.trace import Snapshot
from testbed.truth.phases import PHASES, Phase
from testbed.words.errors import UnwindError, UsageError, VersionMissing
from testbed.words.outcome import Outcome
from testbed.words.traits import TRAPS
from tests.campaign.scored import LEAF, card_of, counts
from tests.cli.command import Said, Testbed, tells
from tests.corpus import installed
from tests.house.sources import ROOT
from tests.report.terminal import shown
from unwinders import UNWINDERS

BARE = Unit("recursion", "x86_64", "clang-O2-bare")


def test_counts_by_phase_are_those_of_the_matrix() -> None:
    scored = score_unit(LEAF, PROGRAMS, [UNWINDERS["fp_chain"], UNWINDERS["eh_frame"]])
    assert sum(scored.sites) == 25
    table = scored.counts["eh_frame"]
    assert [table.within(phase).exact for phase in PHASES] == list(scored.sites)
    chain = scored.counts["fp_chain"]
    assert chain.exact == 16  # as tests/golden has it
    assert chain.within(Phase.PROLOGUE).lying and chain.within(Phase.EPILOGUE).lying
    assert chain.within(Phase.BODY).judged and not chain.within(Phase.BODY).lying
    assert scored.lies["fp_chain"].outcome is Outcome.ENDED_EARLY
    assert "eh_frame" not in scored.lies and "eh_frame" not in scored.stops


def test_stops_behind_the_last_caller_are_counted_apart() -> None:
    def unwind(at: Snapshot) -> Backtrace:
        said = UNWINDERS["fp_chain"].unwind(at)
        return replace(said, stopped=said.stopped or UnwindError("who knows"))

    silent = Unwinder(name="silent", summary="never claims the root", unwind=unwind)
    counts = score_unit(LEAF, PROGRAMS, [UNWINDERS["fp_chain"], silent]).counts
    assert counts["silent"].whole == counts["fp_chain"].exact > 0 and not counts["silent"].exact
    assert counts["silent"].stopped > counts["silent"].whole


def test_an_unwinder_without_its_section_stops_everywhere() -> None:
    scored = score_unit(BARE, PROGRAMS, [UNWINDERS["sframe"]])
    assert scored.counts["sframe"] == all_the_same(Outcome.REFUSED, scored.sites)


def test_what_goes_wrong_with_a_unit_is_its_result() -> None:
    def crashes(snapshot: Snapshot) -> Backtrace:
        raise ZeroDivisionError

    broken = replace(UNWINDERS["eh_frame"], unwind=crashes, unwind_trace=None)
    assert "ZeroDivisionError" in score_unit(LEAF, PROGRAMS, [broken]).failed
    with pytest.raises(KeyError):
        score_unit(Unit("nothing", "x86_64", "keystone"), {}, []).counts["eh_frame"]


def test_the_known_scores_are_what_is_judged_today() -> None:
    """A sample of units; all of them: ``testbed score --everything -u '*' --write-known ...``."""
    known = known_scores()
    chosen = [LEAF, Unit("signal", "arm64", "keystone"), Unit("plt", "arm32", "keystone")]
    chosen += [Unit("struct_return", "arm64", "gcc-O2"), Unit("cant_unwind", "arm32", "keystone")]
    for unit in installed(chosen):
        there = [u for u in UNWINDERS.values() if u.arches is None or unit.arch in u.arches]
        scored = score_unit(unit, PROGRAMS, there)
        assert scored.sites == known.sites[unit], unit
        for name, found in scored.counts.items():
            kept = known.of(name, unit, scored.sites)
            assert kept and as_kept(kept) == as_kept(found), f"{name} on {unit}: see docs/your-unwinder.md"


def test_no_unit_of_the_sample_has_changed_since_it_was_judged() -> None:
    """Of one that has, nobody's score is shown any more."""
    known = known_scores()
    changed = {unit for unit in installed(known.sample) if score_unit(unit, PROGRAMS, []).sites != known.sites[unit]}
    assert not changed, "see docs/your-unwinder.md"


def test_the_known_tools_score_as_they_did() -> None:
    known, tools = known_scores(), present(["libunwind", "libdw"])
    if not tools:
        pytest.skip("needs libunwind8 or libdw1: apt-get install libunwind8 libdw1")
    scored = score_unit(LEAF, PROGRAMS, list(tools.values()))
    for name, tool in tools.items():
        if known.known[name].tool == (tool.tool() if tool.tool else ""):
            kept = known.of(name, LEAF, scored.sites)
            assert kept and as_kept(kept) == as_kept(scored.counts[name])


def test_every_unwinder_was_asked_about_the_sample() -> None:
    """Of other units what is missing is left out of a card, which says so."""
    known = known_scores()
    assert set(UNWINDERS) <= set(known.known)
    for unit in known.sample:
        everybody = {k.name for k in known.known.values() if unit.arch in k.arches}
        assert everybody == set(known.counts[unit]), unit


def test_the_sample_has_every_trap_of_every_architecture() -> None:
    for arch in ARCHES.values():
        built = [p for p in PROGRAMS.values() if units([p], [arch], RECIPES.values())]
        shown = set().union(*(traps_of(PROGRAMS[unit.program]) for unit in sample_units(PROGRAMS, [arch])))
        assert shown == set().union(*(traps_of(program) for program in built))
    assert set(TRAPS) == set().union(*(traps_of(p) for p in PROGRAMS.values()))


def test_known_scores_are_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    chain, table = UNWINDERS["fp_chain"], UNWINDERS["eh_frame"]
    write_known([score_unit(LEAF, PROGRAMS, [chain])], [chain], path, None, [LEAF])
    first = known_scores(path)
    known_scores.cache_clear()
    crashing = all_the_same(Outcome.EXACT, (0, 1, 1, 1, 1)) + all_the_same(Outcome.STOPPED, (0, 1, 2, 2, 3))
    crashing += all_the_same(Outcome.CRASHED, (1, 0, 0, 0, 1)) + all_the_same(Outcome.WRONG, (0, 0, 0, 1, 0))
    assert as_kept(crashing) == "0 1 1 1 1/1 1 2 2 4/1 0 0 0 1"
    other = ScoredUnit(BARE, (1, 2, 3, 4, 5), {"eh_frame": crashing})
    write_known([score_unit(LEAF, PROGRAMS, [table]), other], [table], path, first)
    both = known_scores(path)
    assert both.counts[LEAF]["fp_chain"] == first.counts[LEAF]["fp_chain"]
    assert both.counts[LEAF]["eh_frame"] == all_the_same(Outcome.EXACT, both.sites[LEAF])
    assert both.counts[BARE]["eh_frame"] == crashing
    assert both.known["eh_frame"].arches == ("x86_64", "arm64")
    assert both.sample == (LEAF,)
    assert FILE.read_text(encoding="utf-8").startswith('{\n "format": "testbed known scores"')
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    known_scores.cache_clear()
    with pytest.raises(UsageError, match="no testbed known scores of version 1"):
        known_scores(path)


def test_ranks_are_by_exact_minus_lies_and_equals_share_a_place() -> None:
    """Who is known and says nothing at all is not listed."""
    card = card_of(
        {"shy": counts(2, 18), "liar": counts(11, 0), "best": counts(20, 0), "mute": counts(0, 20)}, mine=counts(15, 5)
    )
    ranking = card.ranking("x86_64")
    assert [(placed.name, placed.place, placed.share.points) for placed in ranking] == [
        ("best", 1, 100.0),
        ("mine", 2, 75.0),
        ("shy", 3, 10.0),  # as many points as the liar, and it does not lie
        ("liar", 4, 10.0),
    ]
    assert {placed.of for placed in ranking} == {4}
    twins = card_of({"a": counts(10, 10), "b": counts(10, 10)}, mine=counts(5, 15)).ranking("x86_64")
    assert [placed.place for placed in twins] == [1, 1, 3]


def test_a_card_has_phases_and_traps() -> None:
    card = card_of({"best": counts(20, 0)}, mine=counts(4, 10))
    entry, call = card.place("mine", "x86_64", phase=Phase.ENTRY), card.place("mine", "x86_64", phase=Phase.CALL)
    assert (entry.share.exact, entry.place, entry.share.judged) == (2, 1, 2)
    assert (call.share.lying, call.place) == (4, 2)
    assert card.shown_traps() == [1, 14]
    assert card.place("mine", "x86_64", trap=2) is None
    miss = card.first_miss("mine", 1)
    assert miss is not None and (miss.unit, miss.miss.step) == (LEAF, 3)
    assert card.overall("mine").exact == 4


def test_only_those_who_were_asked_at_all_sites_are_compared() -> None:
    card = card_of({"best": counts(20, 0)}, mine=counts(4, 10))
    absent = {"absent": KnownUnwinder("absent", "", "", ("x86_64",))}
    known = KnownScores(card.known.known | absent, card.known.sites, card.known.counts)
    assert [p.name for p in replace(card, known=known).ranking("x86_64")] == ["best", "mine"]
    changed = replace(card, known=replace(known, sites={LEAF: (1, 1, 1, 1, 1)}))
    assert (changed.judged, changed.changed) == ((), (LEAF,))


# Versions of a real unwinder side by side: what is counted, and which changes between neighbours are told.


UNIT = Unit("leaf_call", "x86_64", "clang-asm")
# Versions of a made-up tool: one that follows the frame pointer, one that reads the table, and that again.
VERSIONS = [
    replace(UNWINDERS[name], name=f"toy@{version}")
    for version, name in (("1", "fp_chain"), ("2", "eh_frame"), ("3", "eh_frame"), ("4", "fp_chain"))
]


@pytest.fixture(scope="module")
def history() -> VersionHistory:
    absent = versioned(Unit("leaf_call", "x86_64", "no-such"), PROGRAMS, VERSIONS, most=8)
    return VersionHistory(tuple(each.name for each in VERSIONS), (versioned(UNIT, PROGRAMS, VERSIONS, most=8), absent))


def test_neighbours_are_compared_site_by_site(history: VersionHistory) -> None:
    assert history.counts("toy@2", "x86_64") == {Outcome.EXACT: 8}
    wrong = 8 - history.counts("toy@1", "x86_64")[Outcome.EXACT]
    assert wrong > 0 and not history.counts("toy@1", "arm64")
    (_, _, first), (_, _, second), (older, newer, third) = history.changes()
    assert [len(each) for each in (first, second, third)] == [wrong, 0, wrong]
    assert all(each.repaired and not each.broke for each in first)
    assert all(each.broke and not each.repaired for each in third) and (older, newer) == ("toy@3", "toy@4")
    assert [each.step for each in first] == [each.step for each in third]


def test_the_first_of_each_kind_is_shown_with_the_command_that_asks_both(history: VersionHistory) -> None:
    text = shown(history_page(history, width=160), 160)
    change = history.changes()[0][2][0]
    assert f"toy@1 to toy@2: {len(history.changes()[0][2])} sites changed" in text
    assert "toy@2 to toy@3: no site changed" in text
    assert (
        f"first repaired: leaf_call on x86_64 by clang-asm, {change.where}: {change.before.value}, then exact" in text
    )
    assert f"testbed run leaf_call -a x86_64 -r clang-asm --at @{change.step} -u toy@1 -u toy@2" in text
    assert f"first broken: leaf_call on x86_64 by clang-asm, {change.where}: exact, then {change.before.value}" in text
    assert "1 unit left out: " in text


# Every finding shows today, by the command that it gives, and the unwinders know such sites.


def named(value: Referee | Finding) -> str:
    return re.sub(r"\W+", "_", value.title) if isinstance(value, Finding) else value.name


FINDINGS = [(referee, finding) for referee in REFEREES.values() for finding in referee.findings]


@pytest.mark.parametrize(("referee", "finding"), FINDINGS, ids=named)
def test_a_finding_shows(referee: Referee, finding: Finding) -> None:
    assert finding.tool and re.fullmatch(r"\d{4}-\d\d-\d\d", finding.since)
    assert finding.program in PROGRAMS and (not finding.upstream or finding.upstream.startswith("https://"))
    shown = show(referee, finding, all_unwinders(), PROGRAMS)
    if shown.missing:
        pytest.skip(shown.missing)
    assert shown.as_recorded, f"{shown.command}: {shown.verdict} {shown.problem}"
    assert shown.said and shown.truth.endswith("(root)")
    text = findings_markdown([shown])
    told = (finding.gone_since,) if shown.repaired else (shown.command, shown.said, shown.truth, shown.tool)
    assert all(part in text for part in (finding.title, *told))
    assert not re.search(r"/(root|home|work|usr|tmp)/", text), "no place of this machine"


COMPILER = REFEREES["clang"]
FINDING = COMPILER.findings[0]  # its unwinder is ours, so it can be tried everywhere


def tried(referee: Referee = COMPILER, **changed: Any) -> Reproduction:
    """What a finding of the compiler shows when something of it is otherwise."""
    return show(referee, replace(FINDING, **changed), all_unwinders(), PROGRAMS)


Checked = Callable[..., Said]


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch, testbed: Testbed) -> Checked:
    """What `testbed matrix --known-bugs --check` says where those are the findings."""

    def run(*options: str, findings: tuple[Finding, ...]) -> Said:
        monkeypatch.setattr("testbed.cli.matrix.REFEREES", {"clang": replace(COMPILER, findings=findings)})
        return testbed("matrix", "--known-bugs", "--check", *options)

    return run


def test_what_no_longer_shows_is_said_and_fails_the_check(checked: Checked) -> None:
    shown = tried(at="main")  # exact there
    assert not shown.shows
    assert shown.verdict is not None and shown.verdict.outcome is Outcome.EXACT
    assert "--at" not in shown.command, "every step before it was asked, too"
    assert "DOES NOT SHOW" in findings_markdown([shown])
    for findings, expected in (((FINDING,), 0), ((FINDING, replace(FINDING, at="main")), 1)):
        status, out, _ = checked(findings=findings)
        assert (status, f"{len(findings)} findings: 1 show" in out) == (expected, True), out


def test_what_newer_versions_repaired_is_a_list_of_its_own_and_no_failure(
    monkeypatch: pytest.MonkeyPatch, checked: Checked
) -> None:
    version = tried().version
    said: dict[str, Any] = {"seen_in": ("0.1",), "not_in": (version,)}
    gone = {"at": "main", "title": "It was so once", **said}
    shown = [tried(**gone), tried()]
    assert [each.repaired for each in shown] == [True, False]
    mistakes, _, repaired = findings_markdown(shown).partition("# What was repaired")
    assert gone["title"] not in mistakes and f"**{gone['title']}**: 0.1; gone since {version}" in repaired
    assert f"--at main -u {FINDING.unwinder}` shows it" in repaired and FINDING.title in mistakes
    monkeypatch.setattr("docs.findings_page.of_tool", lambda tool: [Version(tool=tool, version="0.1", holds="")])
    assert f"--at main -u {FINDING.unwinder}@0.1` shows it" in findings_markdown(shown)
    # The second one shows in a version of which the data say that it does not.
    for changed, expected, told in ((gone, 0, "0 show, 0 do not, 1 repaired"), (said, 1, "1 show, 0 do not, 0 not")):
        status, out, _ = checked(findings=(replace(FINDING, **changed),))
        assert (status, told in out) == (expected, True), out


def test_another_wrong_answer_is_not_the_finding_that_says_which() -> None:
    assert tried(outcome="wrong_register").shows and not tried(outcome="skipped").shows


def test_all_versions_are_asked_and_what_cannot_be_stays_as_it_was(
    monkeypatch: pytest.MonkeyPatch, checked: Checked
) -> None:
    unwinders = {"1.0": "debug_frame", "2.0": "prologue_analysis", "2.1": "debug_frame", "4.0": "prologue_analysis"}
    there = [Version(tool="clang", version=each, holds="") for each in ("1.0", "2.0", "2.1", "3.0", "4.0")]

    def bring(patterns: list[str], tell: object) -> tuple[Unwinder, ...]:
        name, _, version = patterns[0].partition("@")
        if version not in unwinders:
            raise VersionMissing(patterns[0], "it is not to be had", "wait")
        return (replace(UNWINDERS[unwinders[version]], name=patterns[0], tool=lambda: f"{name} {version}"),)

    for module in ("testbed.campaign.findings", "testbed.cli.matrix"):
        monkeypatch.setattr(f"{module}.of_tool", lambda tool: there)
    monkeypatch.setattr("testbed.campaign.findings.unwinders_of_versions", bring)
    known = replace(FINDING, seen_in=("2.0", "3.0"))
    now, missing = in_all_versions(COMPILER, known, PROGRAMS, print)
    assert now == replace(FINDING, seen_in=("1.0", "2.1", "3.0"), not_in=("2.0", "4.0"))
    assert missing == {"3.0": f"{FINDING.unwinder}@3.0: it is not to be had; wait"}
    assert now.gone_since == "4.0" and now.versions == "1.0 to 3.0; gone since 4.0"
    for each, expected in ((known, 1), (now, 0)):
        status, out, _ = checked("--all-versions", findings=(each,))
        assert status == expected
        assert f"{FINDING.id}: 1.0 to 3.0; gone since 4.0\n  3.0 was not asked: " in out
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
    assert replace(FINDING, seen_in=tuple(seen.split()), not_in=tuple(gone.split())).versions == said


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
    without = with_versions(text, [replace(each, seen_in=(), not_in=()) for each in findings])
    assert "seen_in" not in without and with_versions(without, findings) == text


def test_what_goes_wrong_on_the_way_is_in_the_value() -> None:
    nowhere = tried(at="nowhere")
    assert not nowhere.shows and "no symbol 'nowhere'" in nowhere.problem
    missing = tried(replace(COMPILER, find=lambda: None, package="pip install it"))
    assert missing.missing == "not installed: pip install it"
    assert encoded(TriedFindings, [missing, nowhere])[0]["missing"] == missing.missing


def test_the_command_of_a_finding_says_it_too(testbed: Testbed) -> None:
    shown = tried()
    tells(testbed, 0, shlex.split(shown.command)[1:], [shown.verdict.outcome.label, shown.verdict.difference])
