"""A baseline: what it knows fails nothing, what is new does, what is gone is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.checks.model import FileCheck, TableFinding
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


def of(*findings: TableFinding, **more: Any) -> FileCheck:
    return replace(CHECK, findings=findings, **more)


MOVED = of(replace(WRONG, pc=0x9004, line=300), path=Path("/elsewhere/libz.so.1"))
TWICE = of(WRONG, replace(WRONG, pc=0x5004))
ODD = of(replace(WRONG, where="f\udcff"))
DEBUG = of(RESTORED, tables=(".debug_frame",))


@pytest.mark.parametrize(
    ("before", "now", "known"),
    [
        ((CHECK, CLEAN), (CHECK, CLEAN), ((True,) * 6, ())),
        ((of(WRONG),), (MOVED,), ((True,),)),
        ((of(WRONG),), (replace(MOVED, path=Path("liby.so")),), ((False,),)),
        ((of(WRONG),), (replace(MOVED, arch=CLEAN.arch),), ((False,),)),
        ((of(WRONG),), (of(replace(WRONG, where=f"{WRONG.function}+0x80")),), ((True,),)),  # code was put before it
        ((of(WRONG),), (of(replace(WRONG, function="other")),), ((False,),)),
        ((of(WRONG),), (of(replace(WRONG, instruction="pop rbx")),), ((False,),)),
        ((of(WRONG),), (TWICE,), ((True, False),)),  # of two that are alike one is new
        ((ODD,), (ODD,), ((True,),)),
    ],
)
def test_a_finding_is_known_wherever_its_file_lies_and_its_code_has_moved(
    tmp_path: Path, before: tuple[FileCheck, ...], now: tuple[FileCheck, ...], known: tuple[tuple[bool, ...], ...]
) -> None:
    assert known_in(baseline(tmp_path, *before), now) == known


@pytest.mark.parametrize(
    ("before", "now", "options", "gone"),
    [
        ((CHECK, CLEAN), (CHECK, CLEAN), ALL, []),
        ((TWICE,), (of(WRONG),), ALL, ["crc32_z+0x4"]),
        ((of(WRONG, RESTORED, NO_ROW),), (of(RESTORED),), ALL, ["crc32_z+0x4", "inflate+0x0"]),
        ((of(WRONG, RESTORED, NO_ROW),), (of(RESTORED),), CheckOptions(functions=("inf*",)), ["inflate+0x0"]),
        ((of(WRONG, RESTORED, NO_ROW),), (DEBUG,), CheckOptions(tables=("debug_frame",)), []),
        ((of(WRONG, RESTORED, NO_ROW),), (DEBUG,), ALL, ["crc32_z+0x4", "inflate+0x0"]),
        ((of(WRONG, RESTORED, NO_ROW),), (CLEAN,), ALL, []),
    ],
)
def test_what_is_gone_is_named_where_it_was_looked_for(
    tmp_path: Path,
    before: tuple[FileCheck, ...],
    now: tuple[FileCheck, ...],
    options: CheckOptions,
    gone: list[str],
) -> None:
    said = gone_from(baseline(tmp_path, *before), now, options)
    assert [sentence.split(" (")[0] for sentence in said] == [f"libz.so.1: {where}" for where in gone]


def test_a_baseline_has_one_order(tmp_path: Path) -> None:
    turned = replace(CHECK, findings=tuple(reversed(CHECK.findings)))
    assert baseline_text((CHECK, CLEAN)) == baseline_text((CLEAN, turned))


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
