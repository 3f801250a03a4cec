"""Limits written as a table of text."""

from __future__ import annotations

import pytest

from testbed.contract.limits import limit_on, limits_of
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

REASONS = {mechanism: ("because", "where") for mechanism in ("PROLOGUE+UNLINKED", "FP_REUSED<1", "FP_REUSED+CHANGED>1")}


def test_a_line_says_the_frame_one_further_in_or_out() -> None:
    table = """
    PROLOGUE+UNLINKED    x86_64  ended_early skipped
    FP_REUSED<1          arm64   wrong
    FP_REUSED+CHANGED>1  arm32   ended_early
    """
    here, inner, outer = limits_of(table, REASONS)
    assert [limit.inner for limit in (here, inner, outer)] == [0, 1, -1]
    assert (here.trait, here.also) == (Trait.PROLOGUE, {Trait.UNLINKED})
    assert here.outcomes == {Outcome.ENDED_EARLY, Outcome.SKIPPED}
    assert (outer.trait, outer.also, outer.arches) == (Trait.FP_REUSED, {Trait.CHANGED}, {"arm32"})
    for mechanism, arch in zip(REASONS, ("x86_64", "arm64", "arm32"), strict=True):
        assert limit_on((here, inner, outer), mechanism, arch).mechanism == mechanism


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("PROLOGUE+UNLINKED vax wrong", ValueError),
        ("PROLOGUE+UNLINKED x86_64", ValueError),
        ("PROLOGUE+UNLINKED x86_64 mistaken", ValueError),
        ("PROLOG x86_64 wrong", KeyError),
        ("FP_REUSED>1 x86_64 wrong", KeyError),  # without a reason
    ],
)
def test_a_line_that_breaks_the_form_is_an_error(line: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        limits_of(line, REASONS)
