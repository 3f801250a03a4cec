"""What the system raises is one message; what is a mistake of ours keeps its traceback."""

from __future__ import annotations

import pytest
from unicorn import UcError

from testbed.words.edges import edge, is_edge


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file or directory", "/nowhere"), "/nowhere: No such file or directory"),
        (OSError("no reason"), "no reason"),
        (UcError(6), "UcError: .*TESTBED_TRACEBACK=1"),
        (RecursionError("x"), "nested too deeply"),
        (MemoryError(), "not enough memory"),
        (ValueError("one\ntwo"), "ValueError: one; TESTBED_TRACEBACK=1 shows where"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"), "UnicodeDecodeError: "),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_the_system_raises_is_one_message(error: Exception, said: str) -> None:
    import re

    assert is_edge(error)
    assert re.search(said, edge(error))
    assert "\n" not in edge(error)


@pytest.mark.parametrize("error", [KeyError("x"), AttributeError("x"), TypeError("x"), AssertionError("x")])
def test_a_mistake_of_ours_is_no_edge(error: Exception) -> None:
    assert not is_edge(error)
