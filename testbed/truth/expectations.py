"""Declared truth against watched truth: a program says what its frames are at a label, the trace must agree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from testbed.image import describe, image_covering
from testbed.image.symbols import symbol_for
from testbed.program.model import Expectation
from testbed.trace import Trace
from testbed.truth.truth import Truth

_CLONE = re.compile(r"(?:\.(?:constprop|isra)\.\d+)+$")


# What follows from a disagreement: one of the two is wrong, and so is any verdict.
NOT_AS_DECLARED = "the header declares other frames than were watched: no verdict on this run is to be trusted"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One declared stack that is not the watched one: the line of the declaration, and what was watched instead."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


class WatchedPart(NamedTuple):
    """A part of a run: its rows from ``start`` to before ``stop`` are the steps from ``first`` on."""

    truth: Truth
    start: int
    stop: int
    first: int


def disagreements(truth: Truth, expectations: Iterable[Expectation]) -> tuple[Disagreement, ...]:
    """One for each declared stack that is not the watched one; empty where all agree.

    A location without a symbol, or one that is never executed, is a disagreement: it would prove nothing. A step that
    is undecided is none.
    """
    return disagreements_in_pieces((WatchedPart(truth, 0, len(truth.trace), 0),), expectations)


def disagreements_in_pieces(
    pieces: Iterable[WatchedPart], expectations: Iterable[Expectation]
) -> tuple[Disagreement, ...]:
    """The same of a run that comes in pieces, one after the other."""
    checks = [_Check(expectation) for expectation in expectations]
    for piece in pieces:
        for check in checks:
            check.go_on(piece)
    return tuple(Disagreement(check.expectation.line, text) for check in checks for text in check.found())


class _Check:
    """One declaration held against a run: the visits until now, and the first step of each stack that disagrees."""

    def __init__(self, expectation: Expectation) -> None:
        self.expectation = expectation
        self._known = False
        self._visits = 0
        self._wrong: dict[tuple[str, ...], int] = {}

    def go_on(self, piece: WatchedPart) -> None:
        trace = piece.truth.trace
        pc = _address(trace, self.expectation.location)
        if pc is None:
            return
        self._known = True
        rows = np.flatnonzero(trace.pc[piece.start : piece.stop] == np.uint64(pc)) + piece.start
        before, self._visits = self._visits, self._visits + len(rows)
        if self.expectation.visit is not None:
            at = self.expectation.visit - 1 - before
            rows = rows[at : at + 1] if at >= 0 else rows[:0]
        for row in rows[~piece.truth.undecided[rows]].tolist():
            names = frame_names(piece.truth, row)
            if not _agree(names, self.expectation.frames):
                self._wrong.setdefault(names, row - piece.start + piece.first)

    def found(self) -> Iterator[str]:
        """What is wrong, after the last piece."""
        where, visit = self.expectation.location, self.expectation.visit
        if not self._known:
            yield f"{where}: no symbol of that name"
            return
        where += "" if visit is None else f"#{visit}"
        if self._visits < (visit or 1):
            yield f"{where} is never executed"
        declared = ", ".join(self.expectation.frames)
        for names, step in self._wrong.items():
            yield f"{where} (step {step}): declared {declared}; watched {', '.join(names)}"


def _agree(watched: tuple[str, ...], declared: tuple[str, ...]) -> bool:
    """True where the declared frames are the watched ones; one in parentheses may be there or not.

    A compiler may name what it made of ``f`` ``f.isra.0``: who declares ``f`` means that too.
    """
    if not declared:
        return not watched
    first, rest = declared[0], declared[1:]
    if first[0] == "(" and _agree(watched, rest):
        return True
    same = bool(watched) and first.strip("()") in (watched[0], _CLONE.sub("", watched[0]))
    return same and _agree(watched[1:], rest)


def _address(trace: Trace, location: str) -> int | None:
    name, _, offset = location.partition("+")
    for loaded in trace.images:
        symbol = loaded.image.symbol_named(name)
        if symbol is not None:
            return trace.arch.code_address(symbol.address) + loaded.bias + int(offset or "0", 0)
    return None


def frame_names(truth: Truth, step: int) -> tuple[str, ...]:
    """The functions of the watched stack, innermost first; a caller is looked up inside its call instruction."""
    return tuple(_function(truth.trace, frame.lookup_pc) for frame in truth.stack(step).frames)


def _function(trace: Trace, pc: int) -> str:
    loaded = image_covering(trace.images, pc)
    symbol = symbol_for(loaded.image, pc - loaded.bias) if loaded else None
    return symbol.name if symbol else describe(trace.images, pc)
