"""Arguments of the user's own calls: numbers, and data that each begin at a multiple of sixteen bytes."""

from __future__ import annotations

import pytest

from testbed.arch import ARCHES
from testbed.micro.plans import Argument, users_plans
from testbed.words.errors import UsageError


def test_each_piece_of_data_begins_at_a_multiple_of_sixteen_bytes() -> None:
    (first, second), data = users_plans(['f(buf:20, "of sixteen bytes", -1)', 'g("a", buf:0, buf:1)'], ARCHES["arm64"])
    assert first.arguments == (Argument(0, "data"), Argument(32, "data"), Argument(-1))
    assert second.arguments == (Argument(64, "data"), Argument(80, "data"), Argument(80, "data"))
    assert data == bytes(32) + b"of sixteen bytes" + bytes(16) + b"a" + bytes(31)


@pytest.mark.parametrize(
    "call", ["f", "f(", "f(what?)", "f(buf:x)", "f(buf:0x1000001)", 'f("a)', "f(1,2,3,4,5,6,7,8,9)"]
)
def test_what_is_no_call_is_said(call: str) -> None:
    with pytest.raises(UsageError, match="--call"):
        users_plans([call], ARCHES["x86_64"])
