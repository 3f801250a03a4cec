"""The tables that a real tool believes, as traits of frames: a file's missing or wrong row is what limits the tool.

No header says of a library which of its rows are wrong. The truth does: where a row is not there a frame has NO_TABLE,
where it says something false WRONG_TABLE, and where it says falsely that nobody called CANNOT_UNWIND, too. What is
special about a right row, `testbed.profiling.row_traits` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from testbed.checks.native.codes import NO_ROW, OUTERMOST, UNREADABLE
from testbed.checks.row_rules import Evaluate
from testbed.contract.unwinder import Unwinder
from testbed.profiling.row_traits import traits_of_row
from testbed.profiling.tables import ProcessTables
from testbed.truth import Truth
from testbed.truth.frame_sites import FrameSites, frame_sites
from testbed.words.traits import Trait

TableTraits = Callable[[int, int], frozenset[Trait]]
"""The traits of a frame by step and depth."""

_OF_TABLES = frozenset(
    {
        *(Trait.NO_TABLE, Trait.WRONG_TABLE, Trait.CANNOT_UNWIND),
        *(Trait.INEXPRESSIBLE, Trait.TAKEN_BACK, Trait.ENTRY_LOST),
    }
)


def believed_by(unwinder: Unwinder, readers: Sequence[Unwinder], watched: Truth) -> Unwinder | None:
    """The reader of the tables that a strategy believes; None where no limit of it speaks of tables.

    A tool that needs a kind of table believes that; any other the first kind that one of the files has.
    """
    arch, images = watched.trace.arch, [loaded.image for loaded in watched.trace.images]
    if unwinder.rows is not None or not any(limit.trait in _OF_TABLES for limit in unwinder.limits_on(arch)):
        return None
    there = [reader for reader in readers if any(reader.applies_to(image) for image in images)]
    needed = [reader for reader in there if reader.needs and reader.needs & unwinder.needs]
    return next(iter(needed or there), None)


def traits_of_tables(watched: Truth, reader: Unwinder | None, evaluate: Evaluate | None) -> TableTraits:
    """What the tables that ``reader`` reads say wrongly, frame by frame."""
    if reader is None:
        return lambda step, depth: frozenset()
    tables: list[ProcessTables] = []  # made where the first frame is asked about: exact steps ask about none

    def of_frame(step: int, depth: int) -> frozenset[Trait]:
        if not tables:
            tables.append(ProcessTables(watched, reader, evaluate))
        site = _site(watched, step, depth)
        table, pc = tables[0].looked_up(site)
        return _traits(int(tables[0].masks(site)[0])) | (traits_of_row(table, pc) if table else frozenset())

    return of_frame


def _site(watched: Truth, step: int, depth: int) -> FrameSites:
    steps, depths = np.array([step], np.int64), np.array([depth], np.int64)
    return frame_sites(watched.trace, watched.activations, watched.node, steps, depths)


def _traits(mask: int) -> frozenset[Trait]:
    if not mask:
        return frozenset()
    if mask & (NO_ROW | UNREADABLE):
        return frozenset({Trait.NO_TABLE})
    return frozenset({Trait.WRONG_TABLE, Trait.CANNOT_UNWIND} if mask & OUTERMOST else {Trait.WRONG_TABLE})
