"""The rows of some tools on the page of real processes are made anew, and no others."""

from __future__ import annotations

import pytest

from testbed.report.referees_text import PAGE, section_of
from tests.process.referees import with_rows


def section() -> str:
    return section_of(PAGE.read_text(encoding="utf-8"))


def test_the_rows_of_a_tool_are_replaced_in_both_tables() -> None:
    newer = section().replace("| `symbolic` |", "| `symbolic` | newer").replace("| `gdb` |", "| `gdb` | newer")
    found = with_rows(section(), newer, ["symbolic"])
    assert found == section().replace("| `symbolic` |", "| `symbolic` | newer") != section()


def test_a_tool_may_have_more_reasons_or_fewer() -> None:
    lines = section().split("\n")
    last = max(i for i, line in enumerate(lines) if line.startswith("| `symbolic` |"))
    more = "\n".join([*lines[: last + 1], "| `symbolic` | one more |", *lines[last + 1 :]])
    assert with_rows(section(), more, ["symbolic"]) == more
    assert with_rows(more, section(), ["symbolic"]) == section()
    assert with_rows(section(), more, ["gdb"]) == section()


def test_rows_of_other_runs_are_not_mixed_in() -> None:
    with pytest.raises(SystemExit, match="other runs"):
        with_rows(section(), section().replace(" runs of ", " other runs of "), ["symbolic"])
