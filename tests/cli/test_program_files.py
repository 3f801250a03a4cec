"""What is said of a program file on the command line, because no header does."""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from tests.cli.command import Testbed


def built(program: str) -> str:
    return str(build(PROGRAMS[program], ARCHES["x86_64"], RECIPES["keystone"]).path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--frame-record", "r11-gc"), "is no frame record of x86_64"),
    ],
)
def test_what_cannot_be_said_is_an_error(options: tuple[str, ...], said: str, testbed: Testbed) -> None:
    answer = testbed("run", built("leaf_call"), *options)
    assert answer.status == 2
    assert said in answer.err


def test_a_source_says_it_in_its_header(testbed: Testbed) -> None:
    answer = testbed("run", "leaf_call", "--frame-record", "r11-gcc")
    assert answer.status == 2
    assert "the header of leaf_call says its own" in answer.err
