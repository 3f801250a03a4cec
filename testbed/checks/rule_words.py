"""Rules of rows in words, as findings say them."""

from __future__ import annotations

from collections.abc import Collection

from testbed.contract.rows import AtCfa, AtRegister, CfaPlus, Constant, RegisterPlus, Rule, SameValue, Undefined


def cfa_words(rule: Rule | None) -> str:
    match rule:
        case RegisterPlus(register, offset):
            return f"{register}{offset:+#x}"
        case AtRegister(register, offset):
            return f"*({register}{offset:+#x})"
        case _:
            return "what an expression computes"


def rule_words(rule: Rule | None, name: str) -> str:
    """Where a rule says a register is: ``at CFA-0x8``."""
    match rule:
        case AtCfa(offset):
            return f"at CFA{offset:+#x}"
        case CfaPlus(offset):
            return f"CFA{offset:+#x}"
        case AtRegister(register, offset):
            return f"at {register}{offset:+#x}"
        case RegisterPlus(register, offset):
            return f"{register}{offset:+#x}"
        case Constant(value):
            return f"{value:#x}"
        case Undefined():
            return "undefined"
        case None:
            return "nowhere"
        case SameValue():
            return f"still in {name}"
        case _:
            return "what an expression computes"


def in_front_of(where: str, standing: Collection[str]) -> str:
    """A place before which a directive belongs, as seen from an instruction: before all that stands there already."""
    return f"the directives in front of {where}" if standing else where
