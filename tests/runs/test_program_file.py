"""Program files from elsewhere, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import testbed
from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.runs.judging import judge_all
from testbed.runs.program_file import FileFacts, run_file
from testbed.words.errors import UsageError
from unwinders import UNWINDERS


def built(program: str, arch: str, recipe: str) -> Path:
    return build(PROGRAMS[program], ARCHES[arch], RECIPES[recipe]).path


def exact(path: Path, facts: FileFacts, strategy: str) -> int:
    """How many sites are exact."""
    return sum(verdict.exact for verdict in judge_all(run_file(path, facts=facts), UNWINDERS[strategy]))


@pytest.mark.parametrize(
    ("program", "recipe", "layout"),
    [("recursion", "gcc-O2-fp", "r11-gcc"), ("recursion", "clang-thumb-O2-aapcs", "r11-clang")],
)
def test_a_file_can_be_told_the_layout_of_its_frame_records(program: str, recipe: str, layout: str) -> None:
    path = built(program, "arm32", recipe)
    before = exact(path, FileFacts(), "fp_chain")
    assert exact(path, FileFacts((layout,)), "fp_chain") > 2 * before


def test_no_such_layout_is_named() -> None:
    with pytest.raises(UsageError, match="r11-clang"):
        run_file(built("leaf_call", "arm32", "keystone"), facts=FileFacts(frame_records=("r11-clan",)))


def test_the_front_door_takes_a_source_and_a_file(tmp_path: Path) -> None:
    source = tmp_path / "mine.c"
    source.write_text("// summary: seven\n// exit: 7\n\nint main(void) { return 7; }\n")
    for path in (source, str(source)):
        run = testbed.run(path, arch="arm64", recipe="clang-O2")
        assert (run.program.name, str(run.arch), run.failure) == ("mine", "arm64", "")
    again = testbed.run(run.built.path)
    assert (again.arch, len(again)) == (run.arch, len(run))
    with pytest.raises(UsageError, match="already built"):
        testbed.run(run.built.path, recipe="clang-O2")
    with pytest.raises(UsageError, match="did you mean leaf_call"):
        testbed.run("leaf_cal")
