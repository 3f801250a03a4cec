"""Assumptions of techniques, evaluated along the true stack."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from testbed.contract.assumption import Assumption, CodeRow, Record, RecordList, ShadowStack, StackWords, TableRow
from testbed.truth import Truth
from testbed.verdicts.assumptions.along import (
    Failed,
    ForetoldEnd,
    FoundCaller,
    ReadingAlong,
    Sites,
    all_failed,
)
from testbed.verdicts.assumptions.code_rows import CodeRows
from testbed.verdicts.assumptions.records import chained, record_list, shadow_stack
from testbed.verdicts.assumptions.rows import table_rows
from testbed.verdicts.assumptions.scans import scanned

__all__ = ["Failed", "ForetoldEnd", "FoundCaller", "failed_at", "read_along"]


def failed_at(truth: Truth, steps: Sequence[int], assumption: Assumption) -> list[Failed | None]:
    """Where an assumption fails at some steps; None where it holds at every frame of the true stack."""
    if not len(steps):
        return []
    if isinstance(assumption, CodeRow):
        return CodeRows.of(truth, np.array(steps, np.int64)).in_words()
    sites = Sites(truth, np.array(steps, np.int64))
    return all_failed(sites, read_along(sites, assumption))


def read_along(sites: Sites, assumption: Record | RecordList | ShadowStack | StackWords | TableRow) -> ReadingAlong:
    """What a technique comes by at each frame of some sites."""
    match assumption:
        case Record():
            return chained(sites, assumption)
        case RecordList():
            return record_list(sites, assumption)
        case ShadowStack():
            return shadow_stack(sites, assumption)
        case StackWords():
            return scanned(sites, assumption)
        case TableRow():
            return table_rows(sites, assumption)
