"""A run cut at random places: what a step could be read as is carried over, and said as of the whole run."""

from __future__ import annotations

import pytest

from testbed.truth import observe
from tests.truth.pieces import agree_in_pieces
from tests.witness.rules import RULES
from tests.witness.witnessed import recorded

CASES = [pytest.param(isa, body, id=f"{rule}-{isa}") for rule, bodies in RULES.items() for isa, body in bodies.items()]


@pytest.mark.parametrize(("isa", "body"), CASES)
def test_windows_cut_at_random_places_say_what_the_whole_run_says(isa: str, body: str) -> None:
    whole = observe(recorded(isa, body + "\n"))
    for seed in range(3):
        known = agree_in_pieces(whole, 7, seed=seed)
        assert known.windows > 1
