"""The tables that a real tool believes, as traits of frames: a file's missing or wrong row is what limits the tool.

No header says of a library which of its rows are wrong. The truth does: where a row is not there a frame has NO_TABLE,
where it says something false WRONG_TABLE, and where it says that nobody called, or that the function cannot be unwound,
CANNOT_UNWIND, too. What is special about a right row, `testbed.profiling.row_traits` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from testbed.checks.native.codes import NO_ROW, OUTERMOST, UNREADABLE
from testbed.checks.row_rules import Evaluate
from testbed.contract.unwinder import Unwinder
from testbed.profiling.row_traits import traits_of_row
from testbed.profiling.tables import ProcessTables
from testbed.truth import Truth
from testbed.truth.frame_sites import FrameSites, frame_sites
from testbed.words.errors import CannotUnwind
from testbed.words.traits import Trait

TableTraits = Callable[[int, int], frozenset[Trait]]
"""The traits of a frame by step and depth."""

_OF_TABLES = frozenset(
    {
        *(Trait.NO_TABLE, Trait.WRONG_TABLE, Trait.CANNOT_UNWIND),
        *(Trait.INEXPRESSIBLE, Trait.TAKEN_BACK, Trait.ENTRY_LOST),
    }
)


# Of several kinds of tables a tool prefers the first that has a row. What is written for EHABI libdw does not read, and
# gdb and LLDB of callers only, since it holds at calls: where code is interrupted their analysers go first.
_NOT_EHABI = frozenset({"libdw"})
_EHABI_OF_CALLERS = frozenset({"gdb", "lldb"})


@dataclass(frozen=True, slots=True)
class BelievedTable:
    """Who reads one kind of table, and whether it is believed of callers only."""

    reader: Unwinder
    of_callers: bool = False


def believed_by(unwinder: Unwinder, readers: Sequence[Unwinder], watched: Truth) -> tuple[BelievedTable, ...] | None:
    """The kinds of tables that a strategy believes, the preferred one first.

    None where no limit of it speaks of tables, or nobody says how tables are read. A tool that needs a kind of table
    believes that alone; any other each kind that one of the files has: there may be none that it reads.
    """
    arch, images = watched.trace.arch, [loaded.image for loaded in watched.trace.images]
    speaks = any(limit.trait in _OF_TABLES for limit in unwinder.limits_on(arch))
    if not readers or unwinder.rows is not None or not speaks:
        return None
    there = [reader for reader in readers if any(reader.applies_to(image) for image in images)]
    needed = [reader for reader in there if reader.needs and reader.needs & unwinder.needs]
    read = needed[:1] or [each for each in there if unwinder.name not in _NOT_EHABI or each.name != "ehabi"]
    return tuple(BelievedTable(each, each.name == "ehabi" and unwinder.name in _EHABI_OF_CALLERS) for each in read)


def traits_of_tables(
    watched: Truth, believed: Sequence[BelievedTable] | None, evaluate: Evaluate | None
) -> TableTraits:
    """What tables say wrongly, frame by frame: the first that has a row is believed."""
    if believed is None:
        return lambda step, depth: frozenset()
    tables: dict[str, ProcessTables] = {}  # made where the first frame is asked about: exact steps ask about none

    def of_frame(step: int, depth: int) -> frozenset[Trait]:
        site, without = _site(watched, step, depth), {Trait.NO_TABLE}
        for kind in believed:
            if kind.of_callers and depth == 0:
                continue
            if kind.reader.name not in tables:
                tables[kind.reader.name] = ProcessTables(watched, kind.reader, evaluate)
            mask = int(tables[kind.reader.name].masks(site)[0])
            table, pc = tables[kind.reader.name].looked_up(site)
            if not mask & (NO_ROW | UNREADABLE):
                return _traits(mask) | (traits_of_row(table, pc) if table else frozenset())
            if table is not None and isinstance(table.stop_at(pc), CannotUnwind):
                without.add(Trait.CANNOT_UNWIND)
        return frozenset(without)

    return of_frame


def _site(watched: Truth, step: int, depth: int) -> FrameSites:
    steps, depths = np.array([step], np.int64), np.array([depth], np.int64)
    return frame_sites(watched.trace, watched.activations, watched.node, steps, depths)


def _traits(mask: int) -> frozenset[Trait]:
    if not mask:
        return frozenset()
    return frozenset({Trait.WRONG_TABLE, Trait.CANNOT_UNWIND} if mask & OUTERMOST else {Trait.WRONG_TABLE})
