"""Assumptions of techniques, evaluated along the true stack."""

from __future__ import annotations

from testbed.contract.assumption import Assumption, CodeRow, Record, RecordList, ShadowStack, StackWords, TableRow
from testbed.verdicts.assumptions.along import Failed, ForetoldEnd, FoundCaller, ReadAlong, TrueSite, check_assumption
from testbed.verdicts.assumptions.records import chained, record_list, shadow_stack
from testbed.verdicts.assumptions.rows import code_rows_fail_at, table_rows
from testbed.verdicts.assumptions.scans import scanned

__all__ = ["Failed", "ForetoldEnd", "FoundCaller", "TrueSite", "failed_at"]


def failed_at(site: TrueSite, assumption: Assumption) -> Failed | None:
    """Where an assumption fails at a site; None where it holds at every frame of the true stack."""
    if isinstance(assumption, CodeRow):
        return code_rows_fail_at(site)
    return check_assumption(site, _read_along(site, assumption))


def _read_along(site: TrueSite, assumption: Record | RecordList | ShadowStack | StackWords | TableRow) -> ReadAlong:
    match assumption:
        case Record():
            return chained(site, assumption)
        case RecordList():
            return record_list(site, assumption)
        case ShadowStack():
            return shadow_stack(site, assumption)
        case StackWords():
            return scanned(site, assumption)
        case TableRow():
            return table_rows(site, assumption)
