"""Debug information may name any file: only sources below the folders that the user gave are read, and no pipe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.model import TableFinding
from testbed.checks.options import CheckOptions
from testbed.checks.source_directives import standing_before
from testbed.cli.table_readers import READERS

WRONG = """ .text
 .globl f
 .type f, @function
f: .cfi_startproc
 pushq %rbx
 .cfi_def_cfa_offset 24
 .cfi_offset %rbx, -16
 movl %edi, %ebx
 popq %rbx
 .cfi_def_cfa_offset 8
 .cfi_restore %rbx
 ret
 .cfi_endproc
 .size f, . - f
"""
STANDING = {".cfi_def_cfa_offset 24": ".cfi_def_cfa_offset 24", ".cfi_offset %rbx, -16": ".cfi_offset %rbx, -16"}
LINE = WRONG.splitlines().index(" movl %edi, %ebx") + 1


def build(source: Path, file: Path) -> Path:
    """An object with lines, of a source that GCC assembled."""
    for path in (source, file):
        path.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(WRONG)
    subprocess.run(["gcc", "-c", "-g", "-o", file, source], check=True)
    return file


def only(file: Path) -> TableFinding:
    (finding,) = check_file(file, CheckOptions(runs=50, steps=200), READERS).findings
    return finding


def test_a_source_beside_its_object_says_what_stands_there(tmp_path: Path) -> None:
    repair = only(build(tmp_path / "code.S", tmp_path / "code.o")).repair
    assert repair is not None and repair.replaced == (".cfi_def_cfa_offset 24",)


def test_so_does_one_below_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = build(tmp_path / "source" / "code.S", tmp_path / "made" / "code.o")
    repair = only(file).repair
    assert repair is not None and repair.replaced == (), "the source lies in neither folder"
    monkeypatch.chdir(tmp_path)
    repair = only(file).repair
    assert repair is not None and repair.replaced == (".cfi_def_cfa_offset 24",)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    source = tmp_path / "code.S"
    build(source, tmp_path / "code.o")
    source.unlink()
    os.mkfifo(source)
    command = [sys.executable, "-m", "testbed.cli", "check", "code.o", "--fresh"]
    done = subprocess.run(command, cwd=tmp_path, timeout=300, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "1 of 1 function has a wrong row" in done.stdout, done


def test_links_lead_out_of_no_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    (outside / "code.S").write_text(WRONG)
    (inside / "out.S").symlink_to(outside / "code.S")
    (inside / "round.S").symlink_to("round.S")
    assert standing_before(str(outside / "code.S"), LINE, {}, [outside]) == STANDING
    for name in ("out.S", "round.S", "../outside/code.S", "no\0name.S", "x" * 300 + ".S"):
        assert standing_before(f"{inside}/{name}", LINE, {}, [inside]) == {}


def test_a_current_folder_that_is_gone_opens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    (tmp_path / "code.S").write_text(WRONG)
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert standing_before(str(tmp_path / "code.S"), LINE, {}, [Path()]) == {}
