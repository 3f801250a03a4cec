"""Sources with right and wrong tables, and what the static pass says of each entry.

`declared/NAME.ARCH.S` is written as those of `tests/checks/declared`: ``pytest -n0 --update-golden`` writes what is
said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.checks.inputs import program_file
from testbed.sweep.model import EntryAnswer, SweptContent
from testbed.sweep.sweep_file import checksum_of, sweep_file
from tests.checks import declared_cases
from tests.checks.declared_cases import DeclaredCase, cases_of

pytest.importorskip("ziglang", reason="needs pip install ziglang")

CASES = [case for source in sorted((Path(__file__).parent / "declared").glob("*.S")) for case in cases_of(source)]
RIGHT = [
    case
    for case in declared_cases.CASES
    if "every row is right" in "".join(case.said[:1])
    and case.options.arch in ("x86_64", "arm64")
    and case.source.suffix == ".S"
    and not case.options.flags
]


def swept(case: DeclaredCase, folder: Path) -> SweptContent:
    path = folder / f"code{case.source.suffix}"
    path.write_text(case.text, encoding="utf-8")
    with program_file(path, case.options.arch, case.options.flags) as built:
        return sweep_file(built, checksum_of(built))


def told(found: SweptContent) -> Iterator[str]:
    """All that is said of a file, addresses as places in their functions."""
    assert not found.failure
    yield f"{found.agreed} of {found.entries} agree{f', {found.private} private' if found.private else ''}"
    for doubt in found.doubts:

        def named(address: re.Match[str], start: int = doubt.start, name: str = doubt.function) -> str:
            return f"{name}+{int(address[0], 16) - start:#x}"

        yield f"{doubt.answer.value}: {doubt.cause}"
        yield re.sub(r"(?<![-+])\b0x[0-9a-f]{4,}\b", named, doubt.words)


@pytest.mark.whole
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.source.stem}, {case.name}")
def test_what_is_said(case: DeclaredCase, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    said = tuple(told(swept(case, tmp_path)))
    if request.config.getoption("--update-golden") and said != case.said:
        kept = "".join(f"{line}\n" for line in case.block.splitlines() if not line.startswith("// |"))
        text = case.source.read_text(encoding="utf-8")
        assert text.count(f"// case: {case.block.rstrip()}\n") == 1
        marks = "".join(f"// | {line}\n" for line in said)
        new = text.replace(f"// case: {case.block.rstrip()}\n", f"// case: {kept}{marks}")
        case.source.write_text(new, encoding="utf-8")
        return
    assert said == case.said


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: f"{case.source.stem}, {case.name}")
def test_nobody_is_accused_whose_rows_are_right_when_executed(case: DeclaredCase, tmp_path: Path) -> None:
    doubts = swept(case, tmp_path).doubts
    assert [doubt for doubt in doubts if doubt.answer is EntryAnswer.SUSPECT] == []
