"""Programs whose right stacks follow from the code alone, and which look like something else while they run.

`declared/NAME.ISA.S` declares the right stacks. With `PLAIN` set, the same source gets to the same places by ordinary
calls, returns and switches. Each is watched readably, natively and in pieces, and by the second witness.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from testbed.campaign.prove import prove
from testbed.runs.by_name import named_run
from testbed.runs.run import Run
from testbed.truth import observe, path
from tests.truth.pieces import agree_in_pieces
from tests.truth.watched import agree, labels_where
from tests.witness.rules import BY_HAND, RULES
from tests.witness.witnessed import recorded

SOURCES = sorted((Path(__file__).parent / "declared").glob("*.S"))
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
def test_the_right_stack_is_told(source: Path) -> None:
    run = run_of(source)
    assert ends_as_declared(run)
    assert run.disagreements == ()


@BY_NAME
def test_the_same_done_plainly_is_told_right(source: Path, tmp_path: Path) -> None:
    plain = tmp_path / source.name
    text = source.read_text(encoding="utf-8")
    assert text.count(".set PLAIN, 0\n") == 1
    plain.write_text(text.replace(".set PLAIN, 0\n", ".set PLAIN, 1\n"), encoding="utf-8")
    run = run_of(plain)
    assert ends_as_declared(run)
    assert run.disagreements == ()
    assert not prove(run.watched).dissents


@BY_NAME
def test_it_is_told_the_same_natively_and_in_pieces(source: Path) -> None:
    run = run_of(source)
    if run.trace.sizes.all():  # no signal arrives
        agree(run.trace)
        for length in (4, 5, 9, 30):
            agree_in_pieces(run.watched, length)


@BY_NAME
def test_both_witnesses_tell_the_same(source: Path) -> None:
    proof = prove(run_of(source).watched)
    assert proof.dissents == ()
    assert not proof.unfollowed


@BY_NAME
def test_both_tell_the_same_without_symbols(source: Path) -> None:
    """Neither needs to know where a function begins."""
    run = run_of(source)
    bare = tuple(replace(loaded, image=replace(loaded.image, symbols=())) for loaded in run.trace.images)
    truth = observe(replace(run.trace, images=bare))
    assert truth.node.tolist() == run.watched.node.tolist()
    proof = prove(truth)
    assert proof.dissents == ()
    assert not proof.unfollowed


# A run cut at random places: what a step could be read as is carried over, and said as of the whole run.


CASES = [pytest.param(isa, body, id=f"{rule}-{isa}") for rule, bodies in RULES.items() for isa, body in bodies.items()]


@pytest.mark.parametrize(("isa", "body"), CASES)
def test_windows_cut_at_random_places_say_what_the_whole_run_says(
    isa: str, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where records have to be settled soon: then more is undecided, and nothing else is said."""
    trace = recorded(isa, body + "\n")
    whole = observe(trace)
    for seed in range(3):
        known = agree_in_pieces(whole, 7, seed=seed)
        assert known.windows > 1
    monkeypatch.setattr(path, "BOUND", 2)
    hurried = observe(trace)
    assert np.array_equal(hurried.node, whole.node) and not (whole.undecided & ~hurried.undecided).any()
    agree_in_pieces(hurried, 7, seed=3)


@pytest.mark.parametrize("isa", ["x86_64", "arm64"])  # on others that jump has the effect of a call
def test_a_promise_that_is_kept_too_late_is_undecided(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = recorded(isa, BY_HAND[isa] + "\n")
    for bound, late in ((2, set[str]()), (1, {"f", "in_f"})):
        monkeypatch.setattr(path, "BOUND", bound)
        truth = observe(trace)
        assert labels_where(truth, truth.undecided) == late
