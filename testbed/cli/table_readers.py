"""The tables that `testbed check` compares, who reads them, and who computes their expressions."""

from __future__ import annotations

import unwinders
from testbed.checks.readers import Readers
from testbed.contract.rows import ExpressionRule, ValExpression
from testbed.image import image_covering
from testbed.trace import Snapshot
from testbed.words.errors import UnknownRegister, UnsupportedRule
from testbed.words.table_formats import CHECKED
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


READERS = Readers(
    f"{unwinders.__name__}:UNWINDERS",
    CHECKED,
    "testbed.cli.table_readers:evaluate_rule",
    "unwinders.analysis.function_rows:row_at",
)
