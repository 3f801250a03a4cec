"""The places at which an unwinder goes wrong in a process: the function of the frame at fault, and why.

Why is the clause of the assumption that fails there. Of a row that gives a wrong CFA, return address or register it is
said what the row says, and what is true at the first such step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from testbed.contract.assumption import ADDRESS, ASCENDS, CFA, END, NO_RETURN, REGISTER, THERE, TableRow
from testbed.contract.unwinder import Unwinder
from testbed.image import describe, image_covering
from testbed.image.symbols import symbol_for
from testbed.naming.symbolize import with_places
from testbed.profiling.result import WatchedThread, WrongPlace, WrongReason, function_at, part_at
from testbed.rereading import Plus, SecondRow, SecondRule, Word, reread
from testbed.trace.distinct_rows import distinct_rows
from testbed.truth import Truth
from testbed.truth.frame_sites import FrameSites, frame_site
from testbed.verdicts.assumptions import Failed, FoundCaller, failed_at
from testbed.verdicts.assumptions.words import because, expected
from testbed.verdicts.trace import verdict_at
from testbed.verdicts.verdict import ACCORDS, Accord
from testbed.words.table_formats import AT_CALLS


@dataclass(frozen=True, eq=False)
class WrongSteps:
    """Inexact steps, in columns: the frame at fault, how the answer stands to the assumption and which clause fails, as
    in `testbed.verdicts.trace.Verdicts`; whether it is a false claim.

    ``whole``: it is a stop behind the last true caller.
    """

    thread: WatchedThread
    sites: FrameSites
    accord: NDArray[np.uint8] = field(repr=False)
    clause: NDArray[np.uint8] = field(repr=False)
    lies: NDArray[np.bool_] = field(repr=False)
    whole: NDArray[np.bool_] = field(repr=False)


class WrongPlaces:
    """Where an unwinder goes wrong: a place for each pc of a frame and clause, named where it is first met."""

    def __init__(self, unwinder: Unwinder) -> None:
        self.unwinder = unwinder
        self._numbers: dict[tuple[int, ...], int] = {}
        self._places: list[WrongPlace] = []  # without counts
        self._counted = np.zeros((0, 3), np.int64)  # of each its steps, lies, and those at which every caller is found

    @property
    def found(self) -> list[WrongPlace]:
        each = zip(self._places, self._counted.tolist(), strict=True)
        return [replace(place, steps=steps, lies=lies, whole=whole) for place, (steps, lies, whole) in each]

    def add(self, wrong: WrongSteps) -> None:
        """Count more of them."""
        sites, sizes = wrong.sites, wrong.thread.watched.trace.sizes
        calling = (sites.depth > 0) & (sizes[sites.own] > 0)
        table = np.stack([each.astype(np.uint64) for each in (sites.pc, calling, wrong.accord, wrong.clause)], axis=1)
        firsts, of_step = distinct_rows(table)
        keys = map(tuple, table[firsts].tolist())
        number = np.array([self._numbers.setdefault(key, len(self._numbers)) for key in keys])
        new = np.flatnonzero(number >= len(self._places))
        self._places += self._named(wrong, firsts[new])
        self._counted = np.concatenate((self._counted, np.zeros((len(new), 3), np.int64)))
        counts = [np.bincount(of_step, each) for each in (None, wrong.lies, wrong.whole)]
        self._counted[number] += np.stack(counts, axis=1).astype(np.int64)

    def _named(self, wrong: WrongSteps, firsts: NDArray[np.int64]) -> Iterator[WrongPlace]:
        """The places of some steps, without counts."""
        thread, sites = wrong.thread, wrong.sites.some(firsts)
        watched, trace, unwinder = thread.watched, thread.watched.trace, self.unwinder
        reasons = _reasons(watched, unwinder, sites, wrong.accord[firsts], wrong.clause[firsts])
        steps, pcs, depths = sites.step.tolist(), sites.pc.tolist(), sites.depth.tolist()
        for i, (step, pc, depth) in enumerate(zip(steps, pcs, depths, strict=True)):
            pc -= depth > 0 and bool(trace.sizes[sites.own[i]])
            loaded = image_covering(trace.images, pc)
            image = loaded.image if loaded else None
            unforetold = ACCORDS[wrong.accord[firsts[i]]].unforetold
            said = "" if reasons[i] else _said(watched, unwinder, step)
            function, known = _named(thread, pc, int(sites.node[i]))
            yield WrongPlace(
                function,
                image.path.name if image else "no file",
                reasons[i] or said * (not unforetold),
                0,
                0,
                step - thread.begins + thread.first,
                thread.number,
                describe(trace.images, int(trace.pc[step])),
                image.path if image else None,
                known,
                part_at(trace.images, pc),
                unforeseen=said * unforetold,
            )


def _reasons(
    watched: Truth, unwinder: Unwinder, sites: FrameSites, accord: NDArray[np.uint8], clause: NDArray[np.uint8]
) -> list[str]:
    """Why an unwinder goes wrong at each of some frames; "" where no assumption does, and where none is stated."""
    assumption = unwinder.assumption
    clauses = (None, *assumption.clauses) if assumption else (None,)
    stands, fails = [ACCORDS[each] for each in accord.tolist()], [clauses[each] for each in clause.tolist()]
    silent = [how.unexplained or how is Accord.HONEST for how in stands]
    each = zip(silent, stands, fails, strict=True)
    said = ["" if is_silent else by.wrong if by else how.value for is_silent, how, by in each]
    if not isinstance(assumption, TableRow):
        return said
    for i, by in enumerate(fails):
        pc = int(sites.pc[i])
        if by is THERE and said[i] and image_covering(watched.trace.images, pc - (sites.depth[i] > 0)) is None:
            said[i] = "no file has this code, so no table"
        elif by is THERE and said[i] and watched.activations.parent[sites.node[i]] < 0:
            said[i] += " and so no root can be claimed"
    by_row = [i for i, by in enumerate(fails) if by in _OF_ROWS and said[i]]
    steps = sites.step[by_row].tolist()
    for i, step, failed in zip(by_row, steps, failed_at(watched, steps, assumption), strict=True):
        assert failed is not None
        between = unwinder.name in AT_CALLS and not sites.depth[i]
        said[i] = f"{'the row is for calls only: ' * between}{_row_words(watched, assumption, step, failed)}"
    return said


_OF_ROWS = (NO_RETURN, ASCENDS, END, ADDRESS, CFA, REGISTER)  # what of a row is wrong is said


def _row_words(watched: Truth, assumption: TableRow, step: int, failed: Failed) -> str:
    """The gravest thing that a row says wrongly, and what is true where its frame stands: at its call, of a caller."""
    trace, arch, activations = watched.trace, watched.trace.arch, watched.activations
    site = frame_site(trace, activations, watched.node, step, failed.frame)
    at = site.pc - (site.depth > 0 and trace.sizes[site.own] > 0)
    loaded = image_covering(trace.images, at)
    row = reread(loaded.image, assumption.format, at - loaded.bias) if loaded else None
    if not isinstance(row, SecondRow):
        return failed.clause.wrong
    registers = dict(zip(arch.index, trace.registers[site.own].tolist(), strict=True))
    cfa, what, kept_in, rule = int(activations.cfa[site.node]), "the return address", arch.link, row.return_address
    if failed.clause is REGISTER:
        what = kept_in = str(failed.evidence["register"])
        rule = row.registers.get(what, Plus(what))
    is_said = _rule_words(rule, kept_in)
    if failed.clause is END:
        return f"{what} is {is_said}, and nobody called"
    said_cfa = failed.foretold.cfa if isinstance(failed.foretold, FoundCaller) else None
    if isinstance(row.cfa, Plus) and row.cfa.base in registers:
        said_cfa = registers[row.cfa.base] + row.cfa.offset & arch.word_mask
    if said_cfa not in (None, cfa):
        return f"CFA is {row.cfa}, true {arch.sp}{cfa - registers[arch.sp]:+#x}"
    true = failed.evidence.get("true")
    if failed.clause not in (ADDRESS, REGISTER) or not isinstance(true, int):
        return failed.clause.wrong
    size = arch.by_name[what].bits // 8 if what in registers else arch.word
    mask = (1 << 8 * size) - 1 if what in registers else arch.code_mask & ~arch.signature
    places = np.arange(registers[arch.sp], cfa, arch.word).astype(np.uint64)
    values, mapped = trace.words.at(np.full(len(places), site.own), places, size)
    kept = places[mapped & (values & np.uint64(mask) == np.uint64(true & mask))].tolist()
    slots = [f"at CFA{place - cfa:+#x}" for place in kept]
    if is_said in slots:
        return f"{what} is {is_said}, written over since the call"
    if kept_in is not None and registers[kept_in] & mask == true & mask:
        slots = [f"still in {kept_in}"]
    return f"{what} is {is_said}, true {slots[-1] if slots else 'nowhere in the frame'}"


def _rule_words(rule: SecondRule, kept_in: str | None) -> str:
    """Where a rule says that a register is: ``at CFA-0x8``. Without a rule it is still where it is ``kept_in``."""
    if rule == Plus(kept_in or ""):
        return f"still in {kept_in}"
    return f"at {rule.at}" if isinstance(rule, Word) else str(rule)


def _said(watched: Truth, unwinder: Unwinder, step: int) -> str:
    """What is wrong with an answer, or its own reason to stop; and what an assumption foretold, if one is stated."""
    images = watched.trace.images
    verdict = verdict_at(watched, unwinder.unwind(watched.trace.snapshot(step)), unwinder, step)
    why = because(verdict.failed, images, watched, step) if verdict.failed else ""
    foretold = f"; {expected(verdict.failed, images, why)}" if verdict.accord.unforetold else ""
    return f"{with_places(images, verdict.difference)}{foretold}"


def joined_places(places: Iterable[WrongPlace]) -> tuple[WrongPlace, ...]:
    """One place per function, those with the most steps first, with all its reasons.

    What nothing explains stays apart from what is explained.
    """
    groups: defaultdict[tuple[str, str, bool], list[WrongPlace]] = defaultdict(list)
    for place in _by_reason(places):
        groups[place.library, place.function, place.explained].append(place)
    found = []
    for group in groups.values():
        most, *others = sorted(group, key=lambda place: (-place.not_right, -place.steps, place.because))
        also = tuple(WrongReason(place.because, place.not_right) for place in others if place.not_right)
        found.append(replace(_summed(most, group), also=also))
    return tuple(sorted(found, key=lambda place: (-place.steps, place.library, place.function)))


def _by_reason(places: Iterable[WrongPlace]) -> list[WrongPlace]:
    """One place per function and reason: it begins where the first one of the first thread does."""
    groups: defaultdict[tuple[str, str, str], list[WrongPlace]] = defaultdict(list)
    for place in places:
        groups[place.library, place.function, place.because].append(place)
    found = []
    for group in groups.values():
        first = min((place for place in group if place.thread == group[0].thread), key=lambda place: place.first)
        found.append(_summed(first, group))
    return found


def _summed(one: WrongPlace, group: Iterable[WrongPlace]) -> WrongPlace:
    """One of some places, with the counts of all."""
    steps, lies, whole = map(sum, zip(*((each.steps, each.lies, each.whole) for each in group), strict=True))
    return replace(one, steps=steps, lies=lies, whole=whole)


def _named(thread: WatchedThread, pc: int, node: int) -> tuple[str, str]:
    """What the function of a frame is called, and how `testbed check` calls it; "" of code that no file has.

    Without a symbol or an entry in the file's table a function is where it was entered, if that is near. ``pc`` is
    inside the instruction at which the frame stands.
    """
    trace, activations = thread.watched.trace, thread.watched.activations
    loaded = image_covering(trace.images, pc)
    if loaded is None:
        return "code", ""
    image, link = loaded.image, pc - loaded.bias
    if (known := function_at(image, link)) is not None:
        return known[1:]
    start = int(trace.pc[int(activations.opened[node])]) - loaded.bias
    if not image.covers(start) or not start <= link < start + _FAR or symbol_for(image, start) is not None:
        return "code of no function", ""
    return f"+{start - image.base:#x}", f"{start:#x}"


_FAR = 0x4000  # bytes: a function without a name is not longer
