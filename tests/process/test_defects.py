"""The catalogue of defects that programs show: some of them here, all by `python -m tests.process.defects`."""

from __future__ import annotations

from functools import cache

import pytest

from testbed.profiling.judge import watch_process
from testbed.profiling.result import WatchedProcess
from tests.process.builds import ran
from tests.process.defects import DEFECTS, LibraryDefect, found_in

CHEAP = [each for each in DEFECTS if each.program == "hello"]


@cache
def watched(program: str, target: str, link: str) -> WatchedProcess:
    return watch_process(ran(program, target, link))


@pytest.mark.parametrize("defect", CHEAP, ids=lambda each: f"{each.whose}-{each.target}-{each.link}")
def test_a_defect_is_found_again_by_running(defect: LibraryDefect) -> None:
    places = found_in(defect, watched(defect.program, defect.target, defect.link))
    assert places and all(place.steps > 0 for place in places)


def test_no_two_entries_are_one_defect_and_at_least_ten_are_no_design() -> None:
    assert len({(each.title, each.target) for each in DEFECTS}) == len(DEFECTS)
    assert sum(not each.by_design for each in DEFECTS) >= 10
