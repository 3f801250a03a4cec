"""What tells a return from a jump to the function right behind the call: what the jump does with other registers."""

from __future__ import annotations

import pytest

from tests.truth.straight_jumps import ENDS, ISAS, RETURNS, STORES, THROUGH, jumps_on, leaves
from tests.truth.watched import watch


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("leaf", leaves("arm64"))
@pytest.mark.parametrize("behind", [STORES, ENDS], ids=["stores", "ends"])
def test_a_jump_to_the_function_right_behind_the_call_is_no_return(isa: str, leaf: str, behind: dict[str, str]) -> None:
    watch(
        isa,
        jumps_on(isa, leaves(isa)[leaf], behind[isa]),
        "leaf = leaf, work, main, _start",
        "behind = behind, work, main, _start",
        "behind_body = behind, work, main, _start",
    )


@pytest.mark.parametrize("isa", ISAS)
def test_nor_is_one_through_a_register_if_the_function_keeps_its_return_address(isa: str) -> None:
    watch(isa, jumps_on(isa, THROUGH[isa], STORES[isa]), "behind_body = behind, work, main, _start")


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("behind", [STORES, ENDS], ids=["stores", "ends"])
def test_a_return_to_there_is_one_though_the_caller_never_returns(isa: str, behind: dict[str, str]) -> None:
    watch(
        isa,
        jumps_on(isa, RETURNS[isa], behind[isa]),
        "leaf = leaf, work, main, _start",
        "behind = behind, main, _start",
    )
