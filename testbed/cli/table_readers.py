"""The tables that `testbed check` compares, who reads them, and who computes their expressions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import unwinders
from testbed.checks.readers import Readers
from testbed.checks.watched_run import TableReader
from testbed.contract.rows import ExpressionRule, ValExpression
from testbed.image import Image, image_covering
from testbed.trace import Snapshot
from testbed.words.catalogue import matching
from testbed.words.errors import UnknownRegister, UnsupportedRule, UsageError
from testbed.words.table_formats import AT_CALLS, CHECKED, OF_DIRECTIVES
from unwinders import UNWINDERS
from unwinders.rows.expression import evaluate


def evaluate_rule(rule: ExpressionRule | ValExpression, at: Snapshot, cfa: int | None) -> int | None:
    """What the expression of a rule computes at a step, beginning with the CFA where it is a register's.

    None where it needs a register that is not recorded, or an operation that has no meaning here. Raises
    UnreadableMemory where it reads what is not mapped.
    """
    loaded = image_covering(at.images, at.pc)
    initial = () if cfa is None else (cfa,)
    try:
        bias = loaded.bias if loaded else 0
        return evaluate(rule.operations, at.arch, at.registers, at.memory, initial, bias=bias)
    except (UnknownRegister, UnsupportedRule):
        return None


def table_readers(image: Image, names: Sequence[str]) -> list[TableReader]:
    """The tables of an image that unwinders of these names read. Raises UsageError where there is none."""
    readers = []
    for unwinder in matching(UNWINDERS, names, "unwinder"):
        if unwinder.rows is not None and unwinder.applies_to(image):
            read = partial(unwinder.rows, image)
            readers.append(TableReader(unwinder.name, read, unwinder.name in AT_CALLS, unwinder.name in OF_DIRECTIVES))
    if not readers:
        raise UsageError(f"{image} has no table that an unwinder reads; testbed list unwinders says what each needs")
    return readers


READERS = Readers(
    f"{unwinders.__name__}:UNWINDERS",
    CHECKED,
    "testbed.cli.table_readers:evaluate_rule",
)
