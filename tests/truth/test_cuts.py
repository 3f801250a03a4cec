"""A run cut at random places: what a step could be read as is carried over, and said as of the whole run."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.truth import observe, path
from tests.truth.pieces import agree_in_pieces
from tests.truth.watched import labels_where
from tests.witness.rules import BY_HAND, RULES
from tests.witness.witnessed import recorded

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
