"""Floating-point registers that callees preserve, in runs that are looked at in pieces."""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.run import run_program
from testbed.words.traits import Trait
from tests.truth.pieces import agree_in_pieces


@pytest.mark.parametrize("arch", ["arm64", "arm32"])
def test_which_of_them_were_changed_is_known_beyond_a_piece(arch: str) -> None:
    """Where one is given back, the steps at which it was another are long gone."""
    run = run_program(PROGRAMS["callee_saved"], ARCHES[arch], "keystone")
    assert any(Trait.VECTOR_RESTORED in run.watched.traits(step) for step in range(len(run)))
    for length in (5, 30):
        agree_in_pieces(run.watched, length)
