"""What the documents show is what the commands print, and what they name exists."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.regenerate import PARTS, with_blocks
from programs import PROGRAMS
from testbed.campaign.fuzz import KNOWN_DEFECTS
from testbed.referee import REFEREES
from unwinders import UNWINDERS

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parents[2]
_PAGES = [path for folder in ("docs", "docs/results", "docs/reports") for path in sorted((ROOT / folder).glob("*.md"))]
DOCUMENTS = (
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "programs/README.md"),
    *(path.relative_to(ROOT).as_posix() for path in _PAGES if ".intro" not in path.name),
)


@pytest.mark.parametrize(("document", "blocks"), [("README.md", 2), ("docs/looking.md", 1), ("docs/techniques.md", 2)])
def test_a_document_shows_what_the_commands_print_today(document: str, blocks: int) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    assert text.count("<!-- end -->") == blocks
    assert with_blocks(text) == text, f"{document} is out of date: python docs/regenerate.py --blocks"


def test_the_readme_is_read_to_its_end() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_every_unwinder_is_listed() -> None:
    text = (ROOT / "docs" / "techniques.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in UNWINDERS)


def test_each_mistake_that_compilers_are_known_for_is_a_finding_with_a_program() -> None:
    shown = {finding.program for name in ("clang", "gcc") for finding in REFEREES[name].findings}
    assert {known.program for known in KNOWN_DEFECTS} <= shown & PROGRAMS.keys()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_a_document_names_exist(document: str) -> None:
    path = ROOT / document
    links = re.findall(r"\]\((?!http)([^)#]+)\)", path.read_text(encoding="utf-8"))
    for link in links:
        assert (path.parent / link).exists(), f"{document} links to {link}"
    named = re.findall(r"`((?:testbed|unwinders|programs|tests|docs)/[\w./]+)`", path.read_text(encoding="utf-8"))
    for name in named:
        assert (ROOT / name).exists() or (path.parent / name).exists(), f"{document} names {name}"


def test_the_snippet_of_a_document_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "your-code.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.S)
    exec(compile(code[1], "your-code.md", "exec"), {})
    assert capsys.readouterr().out.strip().endswith("exact")


def test_every_program_can_be_named_on_the_command_line() -> None:
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in PROGRAMS)


def test_the_findings_are_all_written_down() -> None:
    text = (ROOT / "FINDINGS.md").read_text(encoding="utf-8")
    known = [finding for referee in REFEREES.values() for finding in referee.findings]
    text, _, gone = text.partition("\n# What was repaired\n")
    repaired = [finding for finding in known if f"**{finding.title}**" in gone]
    assert all(finding.gone_since for finding in repaired) and gone.count("\n- **") == len(repaired)
    titles = [finding.title for finding in known if finding not in repaired]
    assert [title for title in titles if f"### {title}\n" not in text] == [], "python docs/regenerate.py --findings"
    assert text.count("\n### ") == len(titles), "a finding is gone from the catalogue: regenerate"
    assert "DOES NOT SHOW" not in text
    mistakes, _, limits = text.partition("\n# What a technique cannot know\n")
    moved = {finding.title for finding in known if finding.of_technique and finding not in repaired}
    assert {title for title in titles if f"### {title}\n" in limits} == moved
    assert "no table covers this code" not in mistakes


def test_the_script_of_the_documents_says_what_it_takes_and_refuses_the_rest() -> None:
    """A word that it does not know must not make it write everything, which takes minutes."""
    before = {path: path.stat().st_mtime_ns for path in (ROOT / "docs").glob("*.*")}
    script_file = [sys.executable, str(ROOT / "docs" / "regenerate.py")]
    told = subprocess.run([*script_file, "--help"], capture_output=True, text=True, check=True)
    assert all(f"--{name} " in told.stdout for name in PARTS)
    for mistake in (["--bogus"], ["everything"], ["--armhf", "x"]):
        refused = subprocess.run([*script_file, *mistake], capture_output=True, text=True, check=False)
        assert (refused.returncode, "Error" in refused.stderr) == (2, True), mistake
    assert {path: path.stat().st_mtime_ns for path in (ROOT / "docs").glob("*.*")} == before
