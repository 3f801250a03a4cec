"""Unwinders that are rows: what a technique adds is where a frame's row comes from.

`by_rows` takes rows that depend on nothing but a frame's pc and kind, `by_table` those that a table of the file has for
a pc. Both walk one snapshot (`unwinders.rows.walk`) and whole traces (`unwinders.rows.native.traces`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from testbed.arch import Arch
from testbed.contract.assumption import TableRow
from testbed.contract.unwinder import Backtrace, Unwinder
from testbed.image import Image
from testbed.trace import Snapshot
from testbed.words.catalogue import value_of
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import RowFor, RowsByPc, looked_up, walk


def by_rows(rows_for: Callable[[Arch], RowFor], **described: Any) -> Unwinder:
    """The unwinder whose rows on an architecture are those of ``rows_for``; ``described`` are fields of `Unwinder`."""

    def unwind(snapshot: Snapshot) -> Backtrace:
        return walk(snapshot, rows_for(snapshot.arch))

    return Unwinder(unwind=unwind, unwind_trace=over_traces(unwind, rows_for), **described)


def by_table(index: Callable[[Image], RowsByPc], nothing: str, section: str, **described: Any) -> Unwinder:
    """The unwinder that believes a table: ``index`` finds it in an image, ``section`` names it in the assumption.

    Of a pc that it has no row for, the stop says ``nothing`` and the pc.
    """
    row_for = looked_up(index, nothing)
    return by_rows(
        lambda arch: row_for, rows=lambda image: index(image).all_rows(), assumption=TableRow(section), **described
    )


def later(module: str, name: str) -> Callable[[Image], RowsByPc]:
    """A function of `unwinders.formats`, whose module is loaded for files that have the section."""
    return lambda image: value_of(f"unwinders.formats.{module}", name)(image)
