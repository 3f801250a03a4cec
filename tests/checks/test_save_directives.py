"""The `.save`, `.vsave`, `.pad` and `.setfp` of a frame, and frames that none describe."""

from __future__ import annotations

import pytest

from testbed.arch import ARM32
from testbed.checks.frame_states import CFA_OFFSET, CFA_REGISTER
from testbed.checks.save_directives import frame_directives
from testbed.contract.rows import AtCfa, AtRegister, Rule


@pytest.mark.parametrize(
    "rules",
    [
        {"r4": AtCfa(-8), "r5": AtCfa(-8)},
        {"r4": AtCfa(-32)},
        {"r4": AtRegister("sp", 4)},
        {"pc": AtCfa(-4)},
    ],
)
def test_what_no_directives_say_is_refused(rules: dict[str, Rule]) -> None:
    with pytest.raises(ValueError, match=r"no directive|lies where|below SP"):
        frame_directives({CFA_REGISTER: "sp", CFA_OFFSET: 16, **rules}, ARM32)


def test_registers_that_no_one_push_saves_are_two_directives() -> None:
    rules = {"lr": AtCfa(-8), "r4": AtCfa(-4), "d9": AtCfa(-24), "d8": AtCfa(-16)}
    state = {CFA_REGISTER: "sp", CFA_OFFSET: 24, **rules}
    assert frame_directives(state, ARM32) == (".save {r4}", ".save {lr}", ".vsave {d8}", ".vsave {d9}")
