"""What the authors of a tool are told: the texts of all reports, and the folder of one."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.referee import REFEREES
from testbed.referee.read_reports import UpstreamReport, read_reports, try_report, without_reports
from testbed.report.catalogue_text import report_markdown, write_report
from testbed.words.errors import DataFileError, UsageError
from tests.cli.command import Testbed, tells

REPORTS = read_reports()
FINDINGS = {finding.id: finding for referee in REFEREES.values() for finding in referee.findings}
COMPILERS = {"gcc", "aarch64-linux-gnu-gcc", "arm-linux-gnueabihf-gcc", "readelf"}
DOCS = Path(__file__).parents[2] / "docs"

PLAIN = UpstreamReport(
    id="plain",
    title="cat forgets a line",
    upstream="cat",
    to="its list",
    shows_in="cat 1",
    needs=("cat",),
    wrong="One is missing.",
    command="cat lines; echo 0x7f00",
    prints="one\ntwo\n0x1",
    expected="three",
    place="`cat.c`",
    files={"lines": "one\ntwo\n"},
)


@pytest.mark.parametrize("report", REPORTS.values(), ids=lambda each: each.id)
def test_a_report_is_in_words_of_its_authors(report: UpstreamReport) -> None:
    text = report_markdown(report)
    assert not re.search(r"testbed|unicorn|keystone|(?<!/)/(root|home|work|tmp)/", text, re.IGNORECASE)
    assert set(report.needs) <= set(re.findall(r"[\w.+-]+", report.command)), "it needs what its command names"
    assert set(report.findings) <= FINDINGS.keys()
    assert report.prints.strip() in text and all(content.strip() in text for content in report.files.values())


def test_a_cause_is_told_once_and_is_of_today() -> None:
    told = [name for report in REPORTS.values() for name in report.findings]
    assert len(told) == len(set(told))
    assert not [name for name in told if FINDINGS[name].of_technique or FINDINGS[name].gone_since]
    assert without_reports().keys() <= FINDINGS.keys() - set(told)


def test_the_pages_are_those_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    from reports_page import reports_pages

    pages = reports_pages(REPORTS)
    assert {name: (DOCS / name).read_text("utf-8") for name in pages} == pages, "python docs/regenerate.py --reports"
    assert {path.name for path in (DOCS / "reports").iterdir()} == {f"{name}.md" for name in REPORTS}


def test_the_folder_has_what_the_command_reads(tmp_path: Path) -> None:
    written = write_report(replace(PLAIN, diff="--- a\n"), tmp_path / "new")
    assert [path.name for path in written] == ["report.md", "lines", "change.diff"]
    assert all(path.is_file() for path in written)
    with pytest.raises(UsageError, match="not empty"):
        write_report(PLAIN, tmp_path / "new")


@pytest.mark.parametrize(
    ("prints", "as_told"), [(PLAIN.prints, True), ("one\n  two\n0x2", True), ("one\n0x1", False), ("", False)]
)
def test_a_command_is_held_against_what_it_printed(prints: str, as_told: bool, tmp_path: Path) -> None:
    write_report(PLAIN, tmp_path)
    trial = try_report(replace(PLAIN, prints=prints), tmp_path)
    assert (trial.printed, trial.as_told) == ("one\ntwo\n0x7f00\n", as_told)


@pytest.mark.parametrize(
    "name", [each.id for each in REPORTS.values() if each.upstream == "GCC" and set(each.needs) <= COMPILERS]
)
def test_what_the_compilers_of_debian_12_print_is_told(name: str, tmp_path: Path) -> None:
    report = REPORTS[name]
    if any(_version(compiler) != "12" for compiler in report.needs if compiler.endswith("gcc")):
        pytest.skip("needs Debian 12's compilers: apt-get install gcc gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf")
    write_report(report, tmp_path)
    trial = try_report(report, tmp_path)
    assert trial.as_told, trial.printed


def _version(compiler: str) -> str:
    if shutil.which(compiler) is None:
        return ""
    return subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=True).stdout.strip()


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    assert try_report(replace(PLAIN, needs=("cat", "no-such-program")), tmp_path).missing == ("no-such-program",)


def test_a_report_that_lacks_a_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "report.toml").write_text('title = "it is wrong"\n')
    with pytest.raises(DataFileError, match="command: it is missing"):
        read_reports(tmp_path)


REPORT = ("matrix", "--known-bugs", "--report")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("llvm-mc-restore-stat", "did you mean llvm-mc-restore-state"),
        ("perf-coroutine-x86_64-step24", "it is libunwind's memory of rows"),
        ("libunwind-null_call-x86_64-on_fault+0x4", "it is known there, https://github.com/libunwind/"),
    ],
)
def test_what_has_no_report_is_told(name: str, said: str, testbed: Testbed, tmp_path: Path) -> None:
    tells(testbed, 2, [*REPORT, name, str(tmp_path)], err=[said])


def test_a_report_is_named_by_a_finding_that_it_explains(testbed: Testbed, tmp_path: Path) -> None:
    told = testbed(*REPORT, "eh_frame-adjusted_again-x86_64-late_room", str(tmp_path)).out
    assert [Path(line).name for line in told.split()] == ["report.md", "t.s", "change.diff"]
