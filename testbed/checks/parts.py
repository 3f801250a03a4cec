"""A group of functions of which one cannot be checked: that one costs its own result only.

The process may die over it, which `died` is for, or the testbed itself makes a mistake: then the group is parted until
that function stands alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from testbed.checks.groups import Group, GroupResult, TableChecks, check_group, counts_of, fits, opened
from testbed.contract.rows import RowTable
from testbed.micro.code import piece_code
from testbed.words.edges import internal_words, is_internal


def check_in_parts(group: Group) -> GroupResult:
    """What `check_group` finds; of a function over which the testbed fails, that it does."""
    try:
        return check_group(group)
    except Exception as error:
        if not is_internal(error):
            raise
        opened.cache_clear()  # its machine stands in the midst of a call
        if group.end - group.first == 1:
            return without_result(group, internal_words(error), failed=True)
    return _joined([check_in_parts(half) for half in halves(group)])


def halves(group: Group) -> tuple[Group, Group]:
    """The two halves of a group of several pieces."""
    first, second = pairwise((group.first, (group.first + group.end) // 2, group.end))
    return replace(group, first=first[0], end=first[1]), replace(group, first=second[0], end=second[1])


def died(group: Group) -> GroupResult:
    """What is said of a group over which the process died."""
    return without_result(group, "the emulator died over it")


def without_result(group: Group, note: str, *, failed: bool = False) -> GroupResult:
    """A group of which nothing is known but its instructions."""
    this = opened(group.file, group.path, replace(group.options, jobs=1), group.readers)
    counts = tuple(
        replace(counts_of(piece, piece_code(this.image, piece)), note=note, failed=failed)
        for piece in this.pieces[group.first : group.end]
        if piece.is_entry and fits(piece, group.options.functions)
    )
    nothing = np.empty(0, np.uint64)
    tables = {name: TableChecks((), (), ()) for name, table in this.tables.items() if isinstance(table, RowTable)}
    return GroupResult(counts, tables, nothing, nothing, {}, 0, 0)


def _joined(parts: Sequence[GroupResult]) -> GroupResult:
    """The results of neighbouring groups as one."""
    tables = {
        name: TableChecks(
            tuple(each for part in parts for each in part.tables[name].natural),
            tuple(each for part in parts for each in part.tables[name].forced),
            tuple(each for part in parts for each in part.tables[name].true),
            tuple(each for part in parts for each in part.tables[name].unproven),
        )
        for name in parts[0].tables
    }
    return GroupResult(
        tuple(counts for part in parts for counts in part.pieces),
        tables,
        np.unique(np.concatenate([part.natural for part in parts])),
        np.unique(np.concatenate([part.on_forced for part in parts])),
        dict(sum((Counter(part.dropped) for part in parts), Counter[str]())),
        sum(part.runs for part in parts),
        sum(part.steps for part in parts),
    )
