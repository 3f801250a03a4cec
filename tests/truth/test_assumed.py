"""What a first look at a window took for granted: it holds where the end of the run says the same of its functions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.workload import TARGETS, workload
from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.image import LoadedImage
from testbed.runs.long import watch_long
from testbed.runs.run import run_program
from testbed.truth.windows.assumed import Assumed
from testbed.truth.windows.hindsight import Known
from unwinders import UNWINDERS

RUN = run_program(PROGRAMS["leaf_call"], ARCHES["arm64"], "keystone")
IMAGES: tuple[LoadedImage, ...] = RUN.trace.images


def at(*places: str) -> NDArray[np.uint64]:
    """Addresses of ``function+offset``, in order."""
    found = []
    for place in places:
        name, _, offset = place.partition("+")
        symbol = IMAGES[0].image.symbol_named(name)
        assert symbol is not None
        found.append(symbol.address + IMAGES[0].bias + int(offset or "0", 0))
    return np.array(sorted(found), np.uint64)


CASES = {
    "framed: another pc of a function that had one": ("framed", ["main+8"], ["main+8", "main+12"], True),
    "framed: the first one of a function": ("framed", ["leaf+8"], ["leaf+8", "main+8"], False),
    "framed: at its first instruction": ("framed", ["main+8"], ["main", "main+8"], False),
    "framed: in a function that is not here": ("framed", ["main+8"], ["main+8", "leaf+8"], True),
    "saving: a later one": ("saving", ["main"], ["main", "main+4"], False),
    "saving: an earlier one": ("saving", ["main+4"], ["main", "main+4"], True),
    "moving: an earlier one": ("moving", ["main+4"], ["main", "main+4"], False),
    "moving: a later one": ("moving", ["main"], ["main", "main+4"], True),
    "setting: one more": ("setting", ["main"], ["main", "main+8"], False),
    "setting: in another function": ("setting", ["main"], ["main", "leaf"], True),
    "storing: in another function": ("storing", ["main+8"], ["main+8", "leaf+8"], True),
    "storing: one more": ("storing", ["main+8"], ["main+8", "main+12"], True),
    "storing: the first one": ("storing", ["leaf+8"], ["main+8", "leaf+8"], False),
    "taking: a later one": ("taking", ["main+8"], ["main+8", "main+12"], True),
    "taking: an earlier one": ("taking", ["main+12"], ["main+8", "main+12"], False),
    "returns: anywhere": ("returns", ["main+8"], ["main+8", "leaf+8"], False),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_found_later_matters_where_it_is_asked_for(case: tuple[str, list[str], list[str], bool]) -> None:
    name, before, after, same = case
    assumed, known = Assumed(0, 10, IMAGES), Known()
    said = assumed.ask(name, at(*before), at("main+4", "main+16"))
    setattr(known, name, at(*after))
    assert np.array_equal(said, at(*before)) and assumed.holds(known, {}) == same
    setattr(known, name, at(*before))
    assert assumed.holds(known, {})


def test_where_a_function_has_frames_matters_at_labels_only() -> None:
    """Else it matters that it has any: the columns are the same, asked for by two names."""
    for name, same in (("framed", True), ("framed_at", False)):
        assumed, known = Assumed(0, 10, IMAGES), Known()
        assumed.ask(name, at("main+8"), at("main+4"))
        known.framed = at("main+8", "main+12")
        assert assumed.holds(known, {}) == same
        known.framed = at("main+8", "leaf+8")
        assert assumed.holds(known, {})


def test_what_was_executed_is_compared_by_function() -> None:
    for later, same in (("main+8", False), ("leaf+8", True)):
        assumed, known = Assumed(0, 10, IMAGES), Known()
        before, after = at("main+4"), at("main+4", later)
        assumed.ask("executed", np.stack((before, before * 0 + 4), axis=1), at("main"))
        known.executed = np.stack((after, after * 0 + 4), axis=1)
        assert assumed.holds(known, {}) == same


def test_of_frames_the_largest_of_a_function_matters() -> None:
    for later, size, same in (("main+8", 16, True), ("main+8", 32, False), ("leaf+8", 32, True)):
        assumed, known = Assumed(0, 10, IMAGES), Known()
        before, after = at("main+4"), at("main+4", later)
        assumed.ask("frame_sizes", np.stack((before, before * 0 + 16), axis=1), at("main"))
        sizes = np.where(after == at("main+4"), 16, size).astype(np.uint64)
        known.frame_sizes = np.stack((after, sizes), axis=1)
        assert assumed.holds(known, {}) == same


def test_most_pieces_of_a_long_run_are_judged_once() -> None:
    """The last instructions of ``main`` are executed at the end, and ``main`` is on every stack."""
    built = workload(TARGETS[0], 4)
    every = [each for each in UNWINDERS.values() if each.soon_judged and each.applies_to(built.image)]
    run = watch_long(built, budget=1_000_000, chunk=1000, judging=every)
    assert len(run.firsts) > 10 and len(every) > 3
    for each in every:
        assert len(run.tallies(each)) > 0.6 * len(run.firsts), each.name
