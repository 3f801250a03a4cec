"""Functions without a row, or marked as ones that cannot be unwound, told once where they are many: it is how the file
was built, one cause. So is a mistake of the same words, of which no source line is known: their compiler's. What is
told keeps the finding of each function: a baseline knows each of them, and a function that comes later is new.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from testbed.checks.model import FindingKind, Repair, Severity, TableFinding

MANY_ALIKE = 5  # functions: nobody left each of them out by hand
_BEGINNINGS, _ENDS = "before the first instruction of each", "the end of each"


def group_findings(findings: Sequence[TableFinding], *, parts: bool = False) -> Sequence[TableFinding]:
    """The findings, with those of one cause grouped into one.

    ``parts``: code without a row of functions that have some is one cause, too, where a table has entries for calls
    only, or none.
    """
    kinds = ((FindingKind.CANNOT_UNWIND, False), (FindingKind.NO_ROW, not parts))
    for (kind, bare_only), severity in product(kinds, Severity):
        alike, others = list[TableFinding](), list[TableFinding]()
        for each in findings:
            is_one = each.kind is kind and each.severity is severity and (each.bare or not bare_only)
            (alike if is_one else others).append(each)
        if len(alike) >= MANY_ALIKE:
            findings = [*others, as_one(alike)]
    same: defaultdict[tuple[object, ...], list[TableFinding]] = defaultdict(list)
    for each in findings:
        if each.kind is FindingKind.WRONG_ROW and not each.source:
            same[each.severity, each.things, each.repair and _said(each.repair)].append(each)
    many = [its for its in same.values() if len(its) >= MANY_ALIKE]
    told = {id(each) for its in many for each in its}
    return [*(each for each in findings if id(each) not in told), *map(as_one, many)]


def as_one(alike: Sequence[TableFinding]) -> TableFinding:
    """One finding made of those of several functions; it lies at the first of them."""
    first = alike[0]
    if len(alike) == 1:
        return first
    instructions = sum(each.instructions for each in alike)
    return replace(first, instructions=instructions, repair=_repair_of_each(alike), alike=tuple(alike))


def divided(finding: TableFinding, known: Sequence[bool]) -> tuple[tuple[TableFinding, bool], ...]:
    """A finding cut in two: the functions that a baseline knows, and the others; each with whether it is known."""
    own = list(zip(finding.each, known, strict=True))
    sides = {side: [each for each, its in own if its == side] for side in (False, True)}
    return tuple((as_one(each) if len(each) < len(known) else finding, side) for side, each in sides.items() if each)


def _repair_of_each(alike: Sequence[TableFinding]) -> Repair | None:
    """The directives that all these functions lack, where they are the same ones; else the first one's."""
    repairs = [each.repair for each in alike if each.repair is not None]
    first = alike[0].repair
    if (
        first is None
        or any(edit.uses for edit in first.edits)
        or len(repairs) < len(alike)
        or any(_said(each) != _said(first) for each in repairs)
    ):
        return first
    if alike[0].kind is FindingKind.WRONG_ROW:  # it stands elsewhere in each
        return replace(first, repaired=sum(each.repaired for each in repairs))
    later = tuple(replace(each, where=_ENDS) for each in first.later)
    edits = tuple(edit for each in repairs for edit in each.edits) if all(each.edits for each in repairs) else ()
    no_patch = next((each.no_patch for each in repairs if not each.edits), "")
    repaired = sum(each.repaired for each in repairs)
    return replace(first, repaired=repaired, later=later, place=_BEGINNINGS, edits=edits, no_patch=no_patch)


def _said(repair: Repair) -> tuple[tuple[str, ...], ...]:
    return (repair.directives, repair.replaced, *(each.directives for each in repair.later))
