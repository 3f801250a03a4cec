"""A baseline: what it knows fails nothing, what is new does, what is gone is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.checks.model import FileCheck
from testbed.checks.options import CheckOptions
from testbed.report.check_baseline import KnownFinding, baseline_text, gone_from, read_baseline, told_beside
from testbed.words.errors import UsageError
from tests.report.checked import CHECK, CLEAN, NO_ROW, RESTORED, WRONG

ALL = CheckOptions()


def baseline(folder: Path, *checks: FileCheck) -> tuple[KnownFinding, ...]:
    path = folder / "base.json"
    path.write_text(baseline_text(checks), encoding="utf-8")
    return read_baseline(path)


def known_in(known: Sequence[KnownFinding], checks: Sequence[FileCheck]) -> tuple[tuple[bool, ...], ...]:
    """For each check, whether each of its findings is known, in their order."""
    told = told_beside(known, checks)
    return tuple(
        tuple(next(r.known for r in file.findings if r.finding is finding) for finding in file.check.findings)
        for file in told
    )


def test_what_was_written_is_known(tmp_path: Path) -> None:
    known = baseline(tmp_path, CHECK, CLEAN)
    assert known_in(known, (CHECK, CLEAN)) == ((True,) * 6, ())
    assert gone_from(known, (CHECK, CLEAN), ALL) == ()


def test_a_finding_is_known_wherever_its_file_lies_and_its_code_has_moved(tmp_path: Path) -> None:
    known = baseline(tmp_path, replace(CHECK, findings=(WRONG,)))
    moved = replace(CHECK, path=Path("/elsewhere/libz.so.1"), findings=(replace(WRONG, pc=0x9004, line=300),))
    assert known_in(known, (moved,)) == ((True,),)
    for other in (replace(moved, path=Path("liby.so")), replace(moved, arch=CLEAN.arch)):
        assert known_in(known, (other,)) == ((False,),)
    grown = replace(WRONG, where=f"{WRONG.function}+0x80")
    assert known_in(known, (replace(CHECK, findings=(grown,)),)) == ((True,),), "code was put before it in its function"
    for else_ in (replace(WRONG, function="other"), replace(WRONG, instruction="pop rbx")):
        assert known_in(known, (replace(CHECK, findings=(else_,)),)) == ((False,),)


def test_of_two_alike_one_is_new(tmp_path: Path) -> None:
    known = baseline(tmp_path, replace(CHECK, findings=(WRONG,)))
    twice = replace(CHECK, findings=(WRONG, replace(WRONG, pc=0x5004)))
    assert known_in(known, (twice,)) == ((True, False),)
    known = baseline(tmp_path, twice)
    assert len(gone_from(known, (replace(CHECK, findings=(WRONG,)),), ALL)) == 1


def test_what_is_gone_is_named_where_it_was_looked_for(tmp_path: Path) -> None:
    known = baseline(tmp_path, replace(CHECK, findings=(WRONG, RESTORED, NO_ROW)))
    after = replace(CHECK, findings=(RESTORED,))
    gone = gone_from(known, (after,), ALL)
    assert [sentence.split(" (")[0] for sentence in gone] == ["libz.so.1: crc32_z+0x4", "libz.so.1: inflate+0x0"]
    assert len(gone_from(known, (after,), CheckOptions(functions=("inf*",)))) == 1
    chosen = CheckOptions(tables=("debug_frame",))
    assert gone_from(known, (replace(after, tables=(".debug_frame",)),), chosen) == ()
    assert len(gone_from(known, (replace(after, tables=(".debug_frame",)),), ALL)) == 3 - 1
    assert gone_from(known, (CLEAN,), ALL) == ()


def test_a_baseline_has_one_order(tmp_path: Path) -> None:
    turned = replace(CHECK, findings=tuple(reversed(CHECK.findings)))
    assert baseline_text((CHECK, CLEAN)) == baseline_text((CLEAN, turned))


def test_a_name_that_is_no_text_is_known_again(tmp_path: Path) -> None:
    odd = replace(CHECK, findings=(replace(WRONG, where="f\udcff"),))
    assert known_in(baseline(tmp_path, odd), (odd,)) == ((True,),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is no baseline"),
        ("[]", "is no baseline"),
        ('{"schema": 2, "findings": [{"file": "a"}]}', "is no baseline"),
        ('{"schema": 1}', "of another version"),
        (None, "cannot be read: No such file"),
    ],
)
def test_what_is_no_baseline_is_said(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "base.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=message):
        read_baseline(path)
