"""Which instructions only exceptions lead to, as the witness of the analysis reads a file's tables of handlers."""

from __future__ import annotations

from bisect import bisect_left

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from tests.unwinders.analysis.compared_functions import BEHIND, EQUAL, FALSE_FRAME, LANDING, NO_ROW_BEGINS, Compared
from tests.unwinders.analysis.judged_causes import OTHERS, cause_of
from tests.unwinders.analysis.landing_pads import landing_code, landing_pads
from unwinders.analysis.function_bounds import functions_of
from unwinders.analysis.function_code import FunctionCode
from unwinders.analysis.operations import Call


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_cleanups_and_handlers_are_where_exceptions_land(arch: str) -> None:
    """Two functions have handlers; what they call there is the cleanup, and what goes on with throwing."""
    built = build(PROGRAMS["cxx_cleanups"], ARCHES[arch], RECIPES["eh-Os"])
    image, called = built.image, {}
    pads = landing_pads(built.path, image)
    for function in functions_of(image).all:
        code = FunctionCode(image, function)
        landing, _ = landing_code(code, pads)
        assert function.entry not in landing
        if landing:
            start, end = function.parts[0]
            assert {*pads[bisect_left(pads, start) : bisect_left(pads, end)]} <= landing
            calls = [code.at(pc) for pc in sorted(landing)]
            targets = [each.control.target for each in calls if each and isinstance(each.control, Call)]
            symbols = [image.function_at(target) for target in targets if target is not None]
            called[function.name] = [symbol.name for symbol in symbols if symbol]
    assert called == {"work": ["closed", "_Unwind_Resume"], "caught": ["closed"]}
    assert landing_pads(built.path, build(PROGRAMS["recursion"], ARCHES[arch], RECIPES["clang-O2"]).image) == ()


def test_only_what_exceptions_lead_to_is_judged_as_such() -> None:
    found = Compared()
    for where in ("", LANDING, BEHIND):
        found.note("_ZN1C1fEv", 0x1000, "a register is elsewhere", where)
        found.note("_ZN1C1fEv", 0x1004, EQUAL, where)
    assert (found.total, found.landing.total(), found.landing[EQUAL]) == (6, 2, 1)
    causes = {how: cause_of(function, how) for function, how in found.different}
    assert causes.pop("a register is elsewhere") is OTHERS
    assert {each.name for each in causes.values()} == {"where exceptions land"} and len(causes) == 2


def test_a_difference_has_a_cause_only_where_its_mechanism_acts() -> None:
    """Of any function: where SP moves without a row; by name: what that function does, and nothing else of it."""
    assert cause_of("getwd", NO_ROW_BEGINS).name == "a frame given back in steps"
    assert cause_of("getwd", FALSE_FRAME) is OTHERS
    assert cause_of("strcmp", FALSE_FRAME).name == "a row that is not taken back"
    assert cause_of("strcmp", "a register is elsewhere") is OTHERS
