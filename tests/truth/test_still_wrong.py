"""Programs whose call stacks are known to be told wrong: each test is expected to fail, and says so when it does not.

`still_wrong/NAME.ISA.S` declares the right stacks, which follow from the code alone. With `PLAIN` set, the same source
gets to the same places by ordinary calls, returns and switches: there the declared stacks are the watched ones.
Who corrects the truth for one of them moves it to `shapes/` or to the corpus.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from testbed.runs.by_name import named_run
from testbed.runs.run import Run

SOURCES = sorted((Path(__file__).parent / "still_wrong").glob("*.S"))
BY_NAME = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name.removesuffix(".S"))


@cache
def run_of(source: Path) -> Run:
    return named_run({}, str(source), None, None, seed=1, budget=10_000, fresh=False)


def ends_as_declared(run: Run) -> bool:
    """It ran to its exit, with its status, and was at every declared place."""
    header = run.built.source.header
    places = [f"{each.location}#{each.visit or 1}" for each in header.frames]
    return run.failure == "" and places != [] and all(run.step_at(place) > 0 for place in places)


@BY_NAME
def test_the_program_does_what_it_says(source: Path) -> None:
    assert ends_as_declared(run_of(source))


@BY_NAME
def test_the_same_done_plainly_is_told_right(source: Path, tmp_path: Path) -> None:
    plain = tmp_path / source.name
    text = source.read_text(encoding="utf-8")
    assert text.count(".set PLAIN, 0\n") == 1
    plain.write_text(text.replace(".set PLAIN, 0\n", ".set PLAIN, 1\n"), encoding="utf-8")
    run = run_of(plain)
    assert ends_as_declared(run)
    assert run.disagreements == ()


class ToldWrong(AssertionError):
    """A declared stack is not the watched one. No other failure is expected below."""


def expected_to_fail(source: Path) -> pytest.MarkDecorator:
    shape = source.read_text(encoding="utf-8").splitlines()[0].removeprefix("// summary: ")
    return pytest.mark.xfail(strict=True, raises=ToldWrong, reason=f"told wrong: {shape}")


@pytest.mark.parametrize(
    "source", [pytest.param(each, marks=expected_to_fail(each), id=each.name.removesuffix(".S")) for each in SOURCES]
)
def test_the_right_stack_is_told(source: Path) -> None:
    if found := run_of(source).disagreements:
        raise ToldWrong("\n".join(found))
