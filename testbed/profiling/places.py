"""The steps at which a strategy goes wrong, gathered by the function whose frame it goes wrong at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from testbed.image import describe
from testbed.image.symbols import symbol_for
from testbed.profiling.result import WatchedThread, WrongPlace
from testbed.profiling.tables import NO_ROW_SAID, ProcessTables
from testbed.profiling.whose_code import function_at
from testbed.trace.distinct_rows import distinct_rows
from testbed.truth.frame_sites import FrameSites


@dataclass(frozen=True, eq=False)
class WrongSteps:
    """Inexact steps, in columns: the frame at fault, the reason (0: unexplained), whether it is a false claim."""

    thread: WatchedThread
    sites: FrameSites
    why: NDArray[np.uint64] = field(repr=False)
    lies: NDArray[np.bool_] = field(repr=False)


def wrong_places(
    wrong: WrongSteps, tables: ProcessTables, sentences: tuple[str, ...] | None, unforeseen: Callable[[int], str]
) -> tuple[list[WrongPlace], NDArray[np.int64]]:
    """One place per frame's pc and reason: what is wrong in the tables, or the sentence that ``why`` numbers from 1.

    ``unforeseen`` says of a step that nothing explains what was foretold there. Beside them which of them each step is
    of.
    """
    trace, sites = wrong.thread.watched.trace, wrong.sites
    calling = (sites.depth > 0) & (trace.sizes[sites.own] > 0)
    table = np.stack((sites.pc, calling.astype(np.uint64), wrong.why), axis=1)
    each, of_step = distinct_rows(table)
    rows = table[each]
    order = np.argsort(of_step, kind="stable")  # steps stay in order
    starts = np.searchsorted(of_step[order], np.arange(len(rows)))
    steps, lies = np.bincount(of_step), np.bincount(of_step, wrong.lies).astype(np.int64)
    roots = set(np.flatnonzero(wrong.thread.watched.activations.parent < 0).tolist())
    found = []
    for i, (pc, is_caller, why) in enumerate(rows.tolist()):
        first = int(order[starts[i]])
        number = tables.image_at(pc - is_caller)
        loaded = trace.images[number] if number >= 0 else None
        image = loaded.image if loaded else None
        own, because = int(sites.own[first]), ""
        if why == GAVE_UP:
            because = f"a walk gives up after {MOST_FRAMES} frames"
        elif why and sentences is not None:
            because = sentences[why - 1]
        elif why:
            at = pc - (loaded.bias if loaded else 0)
            because = tables.because(number, at, why, own, calling=bool(is_caller))
        if because == NO_ROW_SAID and sites.node[first] in roots:
            because = NO_ROOT
        step = int(sites.step[first])
        link = pc - is_caller - (loaded.bias if loaded else 0)
        function, known = _named(wrong.thread, tables, number, link, int(sites.node[first]))
        found.append(
            WrongPlace(
                function,
                image.path.name if image else "no file",
                because,
                int(steps[i]),
                int(lies[i]),
                step - wrong.thread.begins + wrong.thread.first,
                wrong.thread.number,
                describe(trace.images, int(trace.pc[step])),
                image.path if image else None,
                known,
                "" if because else unforeseen(step),
            )
        )
    return found, of_step


def merged_places(places: Iterable[WrongPlace]) -> tuple[WrongPlace, ...]:
    """One place per function and reason, in the order in which they were first met."""
    groups: defaultdict[tuple[str, str, str], list[WrongPlace]] = defaultdict(list)
    for place in places:
        groups[place.library, place.function, place.because].append(place)
    return tuple(_one_of(group) for group in groups.values())


def joined_places(places: Iterable[WrongPlace]) -> tuple[WrongPlace, ...]:
    """One place per function, those with the most steps first; its reason is that of most of its steps.

    What nothing explains stays apart from what is explained.
    """
    groups: defaultdict[tuple[str, str, bool], list[WrongPlace]] = defaultdict(list)
    for place in merged_places(places):
        groups[place.library, place.function, place.explained].append(place)
    found = []
    for group in groups.values():
        most = max(group, key=lambda place: (place.steps, place.because))
        found.append(replace(_one_of(group), because=most.because))
    return tuple(sorted(found, key=lambda place: (-place.steps, place.library, place.function)))


def _one_of(group: list[WrongPlace]) -> WrongPlace:
    """Some places as one: it begins where the first of the first thread does."""
    first = min((place for place in group if place.thread == group[0].thread), key=lambda place: place.first)
    return replace(first, steps=sum(place.steps for place in group), lies=sum(place.lies for place in group))


def _named(thread: WatchedThread, tables: ProcessTables, number: int, link: int, node: int) -> tuple[str, str]:
    """What the function at a link-time pc is called, and how `testbed check` calls it; "" of code that no file has.

    Without a symbol or an entry in the file's table a function is where it was entered.
    """
    if number < 0:
        return "code", ""
    image = thread.watched.trace.images[number].image
    if (known := function_at(image, link)) is not None:
        return known[1:]
    watched = thread.watched
    entered = int(watched.trace.pc[int(watched.activations.opened[node])])
    loaded = next(each for each in watched.trace.images if each.image is image)
    start = entered - loaded.bias
    if not image.covers(start) or not start <= link < start + _FAR or symbol_for(image, start) is not None:
        start = tables.start_of(number, link)
    return f"+{start - image.base:#x}", f"{start:#x}"


MOST_FRAMES = 1024  # the strategies' own, which a test compares with this
GAVE_UP = np.uint64(1 << 63)  # as a reason: an honest stop at the last of so many
NO_ROOT = f"{NO_ROW_SAID} and so no root can be claimed"
_FAR = 0x4000  # bytes: a function without a name is not longer
