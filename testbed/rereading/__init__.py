"""Unwind tables read a second time, by pyelftools where that is right, else by lines that know the specification only.

Whoever asks the reader of a technique whether its row is right hears that reader's own mistakes repeated as truth. So
this room shares no code and no constants with `unwinders/` and with the writers of `testbed/build/tables/`::

    row = reread(image, ".eh_frame", pc)              # a SecondRow, or a NoRow that says why there is none
    rules = rule_columns(arch, [rules_of(row)])
    callers = evaluate(rules, which, frames)          # CFA, return address, registers, in columns
"""

from testbed.rereading.evaluation import (
    Evaluated,
    KnownValues,
    RowFrames,
    RowRules,
    RulesInColumns,
    evaluate,
    rule_columns,
    rules_of,
)
from testbed.rereading.reading import reread
from testbed.rereading.rows import CFA, ByExpression, Lost, NoRow, Plus, SecondRow, SecondRule, Word

__all__ = [
    "CFA",
    "ByExpression",
    "Evaluated",
    "KnownValues",
    "Lost",
    "NoRow",
    "Plus",
    "RowFrames",
    "RowRules",
    "RulesInColumns",
    "SecondRow",
    "SecondRule",
    "Word",
    "evaluate",
    "reread",
    "rule_columns",
    "rules_of",
]
