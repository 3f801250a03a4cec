"""What tells a return from a jump to the function right behind the call: what the jump does with other registers."""

from __future__ import annotations

import pytest

from testbed.arch import ARCHES
from testbed.machine import record
from testbed.machine.load import PAGE
from testbed.machine.once_more import goes_to
from testbed.trace import Exited
from testbed.truth import observe
from testbed.truth.hindsight import Learned
from testbed.truth.straight import AddressFrom, address_from
from tests.machine.snippets import image_of
from tests.truth.pieces import learned
from tests.truth.straight_jumps import (
    DIRECT_RETURN,
    ENDLESS,
    ENDS,
    FAR_JUMP,
    ISAS,
    LONGJMP_BEHIND,
    NO_FUNCTION,
    RECURSION,
    RETURNS,
    RETURNS_THROUGH_ANOTHER,
    STORES,
    THROUGH,
    THROWS,
    TWO_STEPS,
    jumps_on,
    leaves,
    written,
)
from tests.truth.watched import agree, steps_at, watch


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


@pytest.mark.parametrize("isa", ISAS)
def test_a_branch_that_does_not_reach_is_a_call_instruction_and_no_call(isa: str) -> None:
    """As GCC writes it for ARMv6-M; another branch then goes to what stands behind it."""
    truth = watch(isa, written(isa, FAR_JUMP), "far = work, main, _start", "helper = helper, work, main, _start")
    assert learned(truth).no_calls


@pytest.mark.parametrize("isa", ISAS)
def test_a_function_may_return_by_a_branch_if_its_caller_goes_on(isa: str) -> None:
    truth = watch(isa, written(isa, DIRECT_RETURN), "helper = helper, work, main, _start", "back = work, main, _start")
    assert learned(truth) == Learned()


@pytest.mark.parametrize("isa", ISAS)
def test_so_it_may_where_a_symbol_says_that_a_function_begins_behind_the_call(isa: str) -> None:
    body = written(isa, DIRECT_RETURN.replace("back:", "fn back"))
    truth = watch(isa, body, "helper = helper, work, main, _start", "back = back, main, _start")
    assert learned(truth) == Learned()


@pytest.mark.parametrize("isa", ISAS)
def test_a_call_in_two_instructions_may_be_returned_from_by_a_branch(isa: str) -> None:
    truth = watch(isa, written(isa, TWO_STEPS), "helper = helper, work, main, _start", "back = back, main, _start")
    assert learned(truth).handed


@pytest.mark.parametrize("isa", ISAS)
def test_who_calls_from_the_same_place_once_more_has_gone_on(isa: str) -> None:
    frames = ("helper = helper, work, main, _start", "back = back, main, _start", "finish = finish, back, main, _start")
    truth = watch(isa, written(isa, ENDLESS), *frames)
    assert not learned(truth).no_returns


@pytest.mark.parametrize("isa", ISAS)
def test_where_no_function_begins_and_nothing_is_stored_the_caller_goes_on(isa: str) -> None:
    frames = ("helper = helper, work, main, _start", "back = work, main, _start", "finish = finish, work, main, _start")
    watch(isa, written(isa, NO_FUNCTION), *frames)


@pytest.mark.parametrize("isa", ISAS)
def test_a_return_through_another_register_is_one_whoever_stored_the_address(isa: str) -> None:
    """As Thumb code of old does: ``pop {r3}; bx r3``. The callee lies right behind its caller, which never returns."""
    frames = ("helper = helper, callee, work, main, _start", "back = work, main, _start")
    truth = watch(isa, written(isa, RETURNS_THROUGH_ANOTHER), *frames, "finish = finish, work, main, _start")
    assert learned(truth) == Learned()


@pytest.mark.parametrize("isa", ISAS)
def test_the_function_behind_may_call_its_own_caller(isa: str) -> None:
    body = written(isa, RECURSION).replace("cbnz x19, again", "cbz x19, last\n    bl work\nlast:")
    body = body.replace("bne again", "beq last\n    bl work\nlast:")
    watch(
        isa,
        body,
        "behind_body#1 = behind, work, main, _start",
        "behind_body#3 = behind, work, behind, work, behind, work, main, _start",
        "finish = finish, behind, work, behind, work, behind, work, main, _start",
    )


@pytest.mark.parametrize("isa", ISAS)
def test_the_function_behind_may_throw(isa: str) -> None:
    watch(
        isa,
        written(isa, THROWS),
        "behind_body = behind, work, main, _start",
        "throw = throw, behind, work, main, _start",
        "landed = main, _start",
    )


@pytest.mark.parametrize("isa", ISAS)
def test_a_run_that_is_cut_behind_the_jump_tells_it_too(isa: str) -> None:
    whole = record(image_of(isa, jumps_on(isa, leaves(isa)["direct"], STORES[isa])))
    cut = record(whole.images[0].image, budget=len(whole) - 5)
    assert not isinstance(cut.end, Exited)
    agree(cut)
    truth = observe(cut)
    at = steps_at(truth, "behind_body")[0]
    assert str(truth.stack(at)) == str(observe(whole).stack(at))
    assert len(truth.stack(at)) == 4


def test_where_an_instruction_goes_with_other_registers() -> None:
    """Branches, returns and jumps through registers, each executed once more with other registers."""
    for arch, isa, code, registers, target in (
        ("arm64", 0, "00040014", {}, 0x11000),  # b #0x1000
        ("arm64", 0, "c0035fd6", {"x30": 0x11000}, 0x11000),  # ret
        ("arm64", 0, "00021fd6", {"x16": 0x11000}, 0x11000),  # br x16
        ("arm32", 0, "fe0300ea", {}, 0x11000),  # b #0x1000
        ("arm32", 0, "04f08ee2", {"lr": 0x10FFC}, 0x11000),  # add pc, lr, #4
        ("arm32", 1, "7047", {"lr": 0x11001}, 0x11000),  # bx lr
        ("arm32", 1, "1847", {"r3": 0x11001}, 0x11000),  # bx r3
    ):
        found = ARCHES[arch]
        values = [0] * len(found.registers)
        values[found.index[found.flags]] = 0x10 | isa << 5 if arch == "arm32" else 0
        values[found.index[found.pc]] = 0x10000
        for name, value in registers.items():
            values[found.index[name]] = value
        page = bytes.fromhex(code).ljust(PAGE, b"\0")
        assert goes_to(found, page, 0x10000, 0x10000, values) == target, (arch, code)
        for name in registers:
            values[found.index[name]] += 0x100000
            assert goes_to(found, page, 0x10000, 0x10000, values) == target + 0x100000, (arch, code)
    load = bytes.fromhex("00f090e5").ljust(PAGE, b"\0")  # ldr pc, [r0]
    assert goes_to(ARCHES["arm32"], load, 0x10000, 0x10000, [0x10] * len(ARCHES["arm32"].registers)) is None


@pytest.mark.parametrize("target", [0x11000, 0x111000])
@pytest.mark.parametrize(
    ("arch", "isa", "code", "register", "way"),
    [
        ("arm64", 0, "c0035fd6", "x30", AddressFrom.BACK),  # ret
        ("arm64", 0, "00021fd6", "x16", AddressFrom.ANOTHER),  # br x16
        ("arm32", 0, "1eff2fe1", "lr", AddressFrom.BACK),  # bx lr
        ("arm32", 1, "1847", "r3", AddressFrom.ANOTHER),  # bx r3
    ],
)
def test_what_an_instruction_has_its_address_from(
    arch: str, isa: int, code: str, register: str, way: AddressFrom, target: int
) -> None:
    found = ARCHES[arch]
    values = [0] * len(found.registers)
    values[found.index[found.flags]] = 0x10 | isa << 5 if arch == "arm32" else 0
    values[found.index[found.pc]], values[found.index[register]] = 0x10000, target | isa
    page = 0x10000, bytes.fromhex(code).ljust(PAGE, b"\0")
    assert address_from(found, page, values, target) is way


@pytest.mark.parametrize(("arch", "code"), [("arm64", "00040014"), ("arm32", "fe0300ea")])
def test_a_branch_has_its_address_from_nowhere(arch: str, code: str) -> None:
    found = ARCHES[arch]
    values = [0x10] * len(found.registers)
    values[found.index[found.pc]] = 0x10000
    page = 0x10000, bytes.fromhex(code).ljust(PAGE, b"\0")
    assert address_from(found, page, values, 0x11000) is AddressFrom.DIRECT


@pytest.mark.parametrize("isa", ISAS)
def test_a_leaf_may_jump_to_right_behind_its_callers_call(isa: str) -> None:
    """As GCC's ``__builtin_longjmp`` does, in a leaf that does not keep its link register, to a receiver there."""
    frames = ("mid = mid, work, main, _start", "thrower = thrower, mid, work, main, _start")
    watch(isa, written(isa, LONGJMP_BEHIND), *frames, "receiver = work, main, _start")


@pytest.mark.parametrize(
    ("arch", "isa", "code", "target", "value"),
    [
        ("arm64", 0, "000800b5", 0x10100, 1 << 20),  # cbnz x0, #0x100
        ("arm64", 0, "000800b5", 0x10100, 1 << 21),
        ("arm64", 0, "0008a037", 0x10100, 1 << 20),  # tbnz x0, #20, #0x100
        ("arm64", 0, "0008a036", 0x10100, 1 << 21),  # tbz x0, #20, #0x100
        ("arm32", 1, "10b9", 0x10008, 1 << 20),  # cbnz r0, #8
    ],
)
def test_a_branch_that_is_taken_under_a_condition_has_its_address_from_nowhere(
    arch: str, isa: int, code: str, target: int, value: int
) -> None:
    found = ARCHES[arch]
    values = [0] * len(found.registers)
    values[found.index[found.flags]] = 0x10 | isa << 5 if arch == "arm32" else 0
    values[found.index[found.pc]], values[found.index["x0" if arch == "arm64" else "r0"]] = 0x10000, value
    page = 0x10000, bytes.fromhex(code).ljust(PAGE, b"\0")
    assert address_from(found, page, values, target) is AddressFrom.DIRECT
