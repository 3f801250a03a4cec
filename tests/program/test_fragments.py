"""Fragments: built by every assembler, named in messages, part of every key and of every trace file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.cache import build_key
from testbed.build.recipes import RECIPES
from testbed.campaign.kept_results import judge_and_keep, kept_result
from testbed.campaign.results import Unit
from testbed.program.model import program_from_text, read_program
from testbed.runs.files import load_run, save_run
from testbed.runs.run import run_built, run_program
from testbed.words.errors import BuildError, ProgramError
from unwinders import UNWINDERS

ROOT = Path(__file__).parents[2]
ARM64 = ARCHES["arm64"]
HEADER = "// summary: a fragment\n// exit: 7\n\n"
WHOLE = """.globl _start
.type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
.include "parts/status.arm64.S"  // into x0
    mov x8, #0x5d
    svc #0
    .cfi_endproc
.size _start, . - _start
"""
ASSEMBLERS = ["keystone", "clang-asm", "gcc-asm"]


def written(folder: Path, fragment: str, text: str = HEADER + WHOLE) -> Path:
    """A program that includes a fragment, as two files."""
    (folder / "parts").mkdir(exist_ok=True, parents=True)
    (folder / "parts" / "status.arm64.S").write_text(fragment)
    path = folder / "whole.arm64.S"
    path.write_text(text)
    return path


@pytest.mark.parametrize("recipe", ASSEMBLERS)
def test_a_fragment_is_built_as_if_it_stood_there(recipe: str, tmp_path: Path) -> None:
    fragment = "    mov x0, #7\n"
    path = written(tmp_path, fragment)
    built = build(read_program(path), ARM64, RECIPES[recipe])
    run_built(built)  # raises where the exit status is another
    alone = re.sub(r"\.include.*\n", fragment, path.read_text())
    assert (
        built.path.read_bytes()
        == build(program_from_text("whole", ARM64, alone), ARM64, RECIPES[recipe]).path.read_bytes()
    )


@pytest.mark.parametrize("recipe", ASSEMBLERS)
def test_a_mistake_in_a_fragment_is_told_with_its_file_and_line(recipe: str, tmp_path: Path) -> None:
    path = written(tmp_path, "// two lines\n    movv x0, #7\n")
    with pytest.raises(BuildError, match=rf"{re.escape(str(tmp_path))}/parts/status\.arm64\.S:2:"):
        build(read_program(path), ARM64, RECIPES[recipe])


@pytest.mark.parametrize("recipe", ASSEMBLERS)
def test_a_mistake_behind_a_fragment_has_the_line_of_the_source(recipe: str, tmp_path: Path) -> None:
    path = written(tmp_path, "// two lines\n    mov x0, #7\n", HEADER + WHOLE.replace("mov x8", "movv x8"))
    with pytest.raises(BuildError, match=rf"{re.escape(str(path))}:11:"):
        build(read_program(path), ARM64, RECIPES[recipe])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('.include "parts/gone.S"', r"whole\.arm64\.S:4: \.include: .*parts/gone\.S cannot be read"),
        ('.include "../status.arm64.S"', r"whole\.arm64\.S:4: .*a file in a folder beside the source"),
        ('.include "/etc/hostname"', r"whole\.arm64\.S:4: .*a file in a folder beside the source"),
        ('.include "parts"', r"whole\.arm64\.S:4: \.include: .*parts cannot be read"),
    ],
)
def test_what_cannot_be_included_is_told_where_it_is_asked_for(line: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, "    nop\n", f"{HEADER}{line}\n")
    with pytest.raises(ProgramError, match=message):
        read_program(path)


def test_a_fragment_includes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, '    nop\n.include "parts/status.arm64.S"\n')
    with pytest.raises(ProgramError, match=r"parts/status\.arm64\.S:2: a fragment includes no other file"):
        read_program(path)


def test_a_text_without_a_folder_includes_nothing() -> None:
    program = program_from_text("whole", ARM64, HEADER + WHOLE)
    with pytest.raises(ProgramError, match=r"whole\.arm64\.S:10: .include: there is no file 'parts/status.arm64.S'"):
        build(program, ARM64, RECIPES["keystone"])


def test_a_changed_fragment_is_another_build_and_another_kept_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))
    unit, asked = Unit("whole", "arm64", "keystone"), [UNWINDERS["fp_chain"]]
    keys = set()
    for fragment in ("    mov x0, #7\n", "    mov x0, #7 // a comment\n"):  # the same bytes
        programs = {"whole": read_program(written(tmp_path, fragment))}
        keys.add(build_key(programs["whole"].sources["arm64"], ARM64, ARM64.isas[0], RECIPES["keystone"]))
        assert kept_result(unit, programs, asked) is None
        judge_and_keep(unit, programs, asked)
        assert kept_result(unit, programs, asked) is not None
    assert len(keys) == 2


def test_a_trace_file_holds_the_fragments(tmp_path: Path) -> None:
    run = run_program(read_program(written(tmp_path, "    mov x0, #7\n")), ARM64, "keystone")
    save_run(run, tmp_path / "trace")
    assert load_run(tmp_path / "trace").built.source.fragments == run.built.source.fragments != ()


def test_every_fragment_is_shared() -> None:
    """One that a single program includes would only hide a part of it."""
    folder = ROOT / "programs" / "fragments"
    sources = [source for program in PROGRAMS.values() for source in program.sources.values()]
    for path in folder.iterdir():
        users = [s.path.name for s in sources if f"fragments/{path.name}" in {f.name for f in s.fragments}]
        assert len(users) > 1, f"{path.name} is included by {users}"
