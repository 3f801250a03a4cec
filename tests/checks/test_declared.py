"""Sources with right and wrong tables, and all that a check says of each.

`declared/NAME.ARCH.S` (or `.c`) holds the code, its header the cases: how some lines are written instead (``-``,
``+``), with which options (``!``), and what is said (``|``), which ``pytest -n0 --update-golden`` writes anew.
Directives that are advised are written into the source, where the words say, and it is checked again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.checks.model import FileCheck, FunctionCheck, TableFinding
from testbed.checks.source_edits import patched
from testbed.report.check_words import answer, sentence, tried_words
from tests.checks.declared_cases import CASES, DeclaredCase, checked

pytest.importorskip("ziglang", reason="needs pip install ziglang")

_NAMELESS = re.compile(r"\b0x[0-9a-f]{4,}(?=\+| <)")  # functions that are called by their address


def told(case: DeclaredCase, folder: Path) -> Iterator[str]:
    """All that is said of one case, and of its source as is advised."""
    check = checked(case, folder, case.text)[1]
    yield answer("it", [check])
    lines = ["", *case.text.splitlines()]
    for each in check.findings:
        shown = each.consequence.shown if each.consequence else ""
        weight = f"{each.severity.value} `{lines[each.line].strip()}`, {_place(each)}"
        yield "; ".join(filter(None, (weight, _NAMELESS.sub("no name", shown), tried_words(each))))
        yield _NAMELESS.sub("no name", sentence(each))
    yield from (
        f"{_counts(piece)}, {'all' if piece.returned == piece.calls else 'some'} came back" for piece in check.functions
    )
    yield from (f"not called: {_counts(piece)}" for piece in check.parts)
    yield from (f"note: {note}" for note in check.notes)
    yield from (f"dropped {number}: {why}" for why, number in check.dropped.items())
    if any(each.repair for each in check.findings):
        yield f"as is advised: {answer('it', [checked(case, folder, repaired(case.text, check))[1]])}"


def _place(finding: TableFinding) -> str:
    """What is to change: the statement, and which line of a macro's it is."""
    at = finding.place
    if at is None:
        return "no place"
    within = f" in {at.macro}, {at.macro_line - at.line:+}" if at.macro else ""
    return f"at {at.line - finding.line:+}, {at.column}: `{at.text}`{within}"


def _counts(piece: FunctionCheck) -> str:
    counts = ((what, getattr(piece, what)) for what in ("executed", "forced", "static", "never", "without_row"))
    parts = (f"{number} {what.replace('_', ' ')}" for what, number in counts if number)
    return ", ".join((f"{re.sub('^0x.*', 'no name', piece.name)}: {piece.instructions}", *parts))


def repaired(text: str, check: FileCheck) -> str:
    """The source with all that is advised."""
    repairs = [each.repair for told in check.findings for each in told.each]
    return patched(text, [edit for repair in repairs if repair for edit in repair.edits])


@pytest.mark.whole
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.source.stem}, {case.name}")
def test_what_is_said(case: DeclaredCase, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    said = tuple(told(case, tmp_path))
    if request.config.getoption("--update-golden") and said != case.said:
        kept = "".join(f"{line}\n" for line in case.block.splitlines() if not line.startswith("// |"))
        text = case.source.read_text(encoding="utf-8")
        assert text.count(f"// case: {case.block}") == 1
        marks = "".join(f"// | {line}\n" for line in said)
        case.source.write_text(
            text.replace(f"// case: {case.block.rstrip()}\n", f"// case: {kept}{marks}"), encoding="utf-8"
        )
        return
    assert said == case.said
