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

from testbed.checks.inputs import program_file
from testbed.checks.model import FileCheck, FunctionCheck, TableFinding
from testbed.image import Image, read_image
from testbed.image.debug import debug_info
from testbed.report.check_words import answer, sentence, tried_words
from tests.checks.declared_cases import CASES, DeclaredCase, checked

pytest.importorskip("ziglang", reason="needs pip install ziglang")

_NAMELESS = re.compile(r"\b0x[0-9a-f]{4,}(?=\+| <)")  # functions that are called by their address


def told(case: DeclaredCase, folder: Path) -> Iterator[str]:
    """All that is said of one case, and of its source as is advised."""
    path, check = checked(case, folder, case.text)
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
    if ".size" in case.text and any(each.repair for each in check.findings):  # it says where functions end
        with program_file(path, case.options.arch, case.options.flags) as built:
            image = read_image(built)
        yield f"as is advised: {answer('it', [checked(case, folder, repaired(case.text, check, image))[1]])}"


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


def repaired(text: str, check: FileCheck, image: Image) -> str:
    """The source with all that is advised."""
    lines = text.splitlines()
    edits = [edit for told in check.findings for each in told.each for edit in _edits(each, lines, image)]
    for at, gone, new in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        lines[at : at + gone] = new
    return "\n".join(lines) + "\n"


def _edits(finding: TableFinding, lines: list[str], image: Image) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """The lines at which the source changes: how many go there, and what comes."""
    repair, at = finding.repair, finding.line - 1
    if repair is None:
        return
    kind, _, where = (repair.replaced_at if repair.replaced else repair.place).partition(" ")
    if where.startswith("`"):
        at = _said_at(where.strip("`"), lines, at)[-1] + (kind == "behind")
    elif where not in ("", "it"):
        at = _line_of(where, lines, image)
    yield from _written(repair.directives, repair.replaced, lines, at)
    if repair.remembered:
        at = _line_of(repair.remembered.rpartition(" ")[2], lines, image)
        while repair.remembered.startswith("the directives") and lines[at - 1].strip().startswith(".cfi"):
            at -= 1
        yield at, 0, (".cfi_remember_state",)
    for later in repair.later:
        yield from _written(later.directives, later.replaced, lines, _line_of(later.where, lines, image))


def _written(
    new: tuple[str, ...], old: tuple[str, ...], lines: list[str], at: int
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """New directives before a line, or for old ones that stand there."""
    gone = sorted({(place, each) for each in old for place in _said_at(each, lines, at)})
    for place, each in gone:
        said = "; ".join(new) if (place, each) == gone[0] else ""
        label = "".join(re.findall(r"^\s*\w+:", lines[place]))
        yield place, 1, (lines[place].replace(each, said) if each in lines[place] else f"{label} {said}",)
    if not gone:
        yield at, 0, new


def _said_at(directive: str, lines: list[str], at: int) -> list[int]:
    """The last line before another one that says something; where none does, those with the same directive."""
    found = [k for k, line in enumerate(lines[:at]) if re.search(re.escape(directive) + r"(?!\w)", line)]
    return found[-1:] or [k for k, line in enumerate(lines[:at]) if line.strip().startswith(directive.split()[0])]


def _line_of(where: str, lines: list[str], image: Image) -> int:
    """Where code like ``f+0x4`` stands in the source, or the end of a function."""
    if where.startswith("the end of "):
        return next(k for k, line in enumerate(lines) if re.match(rf"\s*\.size\s+{where.split()[-1]}\b", line))
    name, _, offset = where.partition("+")
    symbol = image.symbol_named(name)
    line = debug_info(image).line_at((symbol.address if symbol else int(name, 16)) + int(offset or "0", 16))
    assert line is not None
    return line.line - 1


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
