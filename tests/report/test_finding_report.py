"""A finding as a bug report: the files, what they say, and that they are those of the place."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.campaign.finding_evidence import BackedFinding, evidence_for
from testbed.campaign.findings import show
from testbed.cli import main
from testbed.cli.strategies import all_strategies
from testbed.foreign import Places, read_snapshot
from testbed.referee import REFEREES
from testbed.report.finding_report import report, write_report
from testbed.words.errors import UsageError
from unwinders import UNWINDERS

HERE = Places(sysroot=Path("/"))  # the program files are those of this machine

ALL = {finding.id: (referee, finding) for referee in REFEREES.values() for finding in referee.findings}
# A compiler's table, a library, a tool with files of its own, one of Apple's files.
KINDS = (
    "debug_frame-inlined_call-arm32-leaf+0x2c",
    "libunwind-simd_saved-x86_64-work+0x56",
    "perf-function_pointers-x86_64-twice+0xe",
    "llvm_libunwind_compact-busy_leaf-arm64-busy+0x8",
)


@pytest.fixture(scope="module")
def made() -> dict[str, BackedFinding]:
    return {}


def evidence(made: dict[str, BackedFinding], name: str) -> BackedFinding:
    """The evidence for a finding, beside few of the strategies: all of them take long."""
    if name not in made:
        known = all_strategies()
        shown = show(*ALL[name], known, PROGRAMS)
        if shown.missing:
            pytest.skip(shown.missing)
        asked = {each: UNWINDERS[each] for each in ("eh_frame", "ehabi", "fp_chain", "compact_unwind")}
        made[name] = evidence_for(shown, asked, PROGRAMS)
    return made[name]


def test_every_finding_has_an_id_of_its_own() -> None:
    assert len(ALL) == sum(len(referee.findings) for referee in REFEREES.values())
    assert all(re.fullmatch(r"[\w+-]+", name) for name in ALL)


@pytest.mark.parametrize("name", KINDS)
def test_a_report_says_what_is_true_and_why(name: str, made: dict[str, BackedFinding]) -> None:
    found = evidence(made, name)
    text = report(found)
    shown = found.shown
    assert shown.finding.title in text and shown.command in text and shown.tool in text
    assert f"`{shown.truth}`" in text and f"`{shown.said}`" in text and shown.finding.because in text
    assert "A second method" in text and found.second_witness
    assert not re.search(r"/(root|home|work|tmp)/", text), "no place of this machine"
    assert all(len(line) < 1500 for line in text.split("\n"))


@pytest.mark.parametrize("name", KINDS)
def test_control_really_came_back_to_each_true_caller(name: str, made: dict[str, BackedFinding]) -> None:
    found = evidence(made, name)
    run = found.run
    assert found.frames[-1].entered is None or found.frames[-1].entered_by
    back = [frame.came_back for frame in found.frames[1:]]
    assert all(step is not None and step > found.step for step in back)
    assert back == sorted(step for step in back if step is not None), "the innermost caller first"
    for frame in found.frames[1:]:
        assert frame.came_back is not None and int(run.trace.pc[frame.came_back]) == frame.pc


@pytest.mark.parametrize("name", KINDS)
def test_the_folder_has_the_process_at_that_instruction(
    name: str, made: dict[str, BackedFinding], tmp_path: Path
) -> None:
    found = evidence(made, name)
    files = {path.relative_to(tmp_path).as_posix() for path in write_report(found, tmp_path)}
    apple = found.run.recipe.name.startswith("macho")
    core = "snapshot.mcore" if apple else "snapshot.core"
    assert {"report.md", "program", core, "snapshot.dmp", "snapshot.json"} <= files
    assert (tmp_path / "program").read_bytes() == found.run.built.image.content
    assert (tmp_path / "source" / found.run.built.source.path.name).read_text("utf-8") == found.run.built.source.text
    dump = read_snapshot(tmp_path / core, HERE).snapshot
    assert dump.pc == found.run[found.step].pc and dump.sp == found.run[found.step].sp
    with pytest.raises(UsageError, match="not empty"):
        write_report(found, tmp_path)


def test_perf_shows_it_by_the_command_of_the_report(made: dict[str, BackedFinding], tmp_path: Path) -> None:
    found = evidence(made, "perf-function_pointers-x86_64-twice+0xe")
    write_report(found, tmp_path)
    command = found.shown.referee.by_hand
    assert command in (tmp_path / "report.md").read_text("utf-8")
    told = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert told.split()[1::2] == ["twice", "apply"], "two of four frames, as the report says"


def test_an_unknown_id_is_told_and_the_nearest_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(
        sys, "argv", ["testbed", "findings", "--report", "debug_frame-inlined_call-arm32", str(tmp_path)]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "did you mean debug_frame-inlined_call-arm32-leaf+0x2c" in " ".join(capsys.readouterr().err.split())
