"""What a wrong row does to the stack that a reader shows: two callers are unwound to, one by SP, one by FP."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from testbed.arch import ARCHES
from testbed.checks.consequence import between_rows, consequence_at
from testbed.checks.frame_states import StateSpan, state_of
from testbed.checks.model import Severity
from testbed.checks.tried_function import TriedFunction, TriedPc
from testbed.checks.true_rows import ObservedRow
from testbed.contract.rows import Offset, RegisterPlus, Rule, SameValue, Undefined, UnwindRow
from testbed.conventions import platform

ERROR, WARNING = Severity.ERROR, Severity.WARNING


def at(**offsets: int) -> dict[str, Rule]:
    return {name: Offset(offset) for name, offset in offsets.items()}


def row(arch: str, cfa: tuple[str, int], rules: Mapping[str, Rule]) -> UnwindRow:
    return UnwindRow(0, 4, RegisterPlus(*cfa), rules, ARCHES[arch].return_address)


PUSHED = ("x86_64", ("rsp", 32), at(rip=-8, rbx=-16, rbp=-24))
LEAF = ("arm64", ("sp", 32), at(x19=-16, x29=-32) | {"x30": SameValue()})
LOST, SKIPPED, BEHIND = "the caller is lost", "the caller is skipped", "the caller is found, and who called it is lost"


@pytest.mark.parametrize(
    ("true", "cfa", "rules", "wrong", "severity", "what", "shown"),
    [
        (PUSHED, ("rsp", 24), {}, {"CFA"}, ERROR, LOST, "f < no code (the caller's rbx)"),
        (PUSHED, ("rsp", 40), {}, {"CFA"}, ERROR, LOST, "f < no code (the word at CFA+0x0)"),
        (PUSHED, ("rsp", 32 + 0x90), {}, {"CFA"}, ERROR, SKIPPED, "f < main"),
        (PUSHED, None, at(rip=-16), {"rip"}, ERROR, LOST, "f < no code (the caller's rbx)"),
        (PUSHED, None, {"rip": Undefined()}, {"rip"}, ERROR, LOST, "f < nobody"),
        (
            *(PUSHED, None, at(rbp=-16), {"rbp"}, ERROR),
            "the caller, which counts from rbp, is found, and who called it is lost",
            "f < caller < no code (a word that lies elsewhere)",
        ),
        (
            PUSHED,
            None,
            at(rbx=-24),
            {"rbx"},
            WARNING,
            "rbx is shown wrong in the caller",
            "f < caller (rbx wrong) < main",
        ),
        (
            *(PUSHED, None, at(rbx=-32, r12=-24), {"rbx", "r12"}, WARNING, "rbx and r12 are shown wrong in the caller"),
            "f < caller (rbx and r12 wrong) < main",
        ),
        # With a link register the caller is found, and nothing behind it.
        (LEAF, ("sp", 16), {}, {"CFA"}, ERROR, BEHIND, "f < caller < no code (what main has in d14)"),
        (LEAF, None, at(x30=-16), {"x30"}, ERROR, LOST, "f < no code (the caller's x19)"),
        (LEAF, None, at(x19=-8), {"x19"}, WARNING, "x19 is shown wrong in the caller", "f < caller (x19 wrong) < main"),
    ],
)
def test_a_wrong_row(
    true: tuple[str, tuple[str, int], dict[str, Rule]],
    cfa: tuple[str, int] | None,
    rules: dict[str, Rule],
    wrong: set[str],
    severity: Severity,
    what: str,
    shown: str,
) -> None:
    arch, true_cfa, true_rules = true
    said = row(arch, cfa or true_cfa, true_rules | rules)
    found = between_rows(said, row(*true), wrong, platform(ARCHES[arch]), "f+0x4")
    assert (found.severity, found.what, found.shown) == (severity, what, shown)
    assert (found.true, found.where) == ("f < caller < main", "f+0x4")


def test_who_was_not_called_has_no_caller() -> None:
    arch, said = ARCHES["x86_64"], row("x86_64", ("rsp", 8), at(rip=-8))
    span = StateSpan(0, 4, said, state_of(said, platform(arch)), frozenset(), True)
    function = TriedFunction(platform(arch), [TriedPc(0, 4, 0, 0, ObservedRow(0, 1, 0))], [span])
    found = consequence_at(function, 0, span.state, {"rip"}, "_start")
    assert (found.severity, found.what, found.true) == (ERROR, "a caller is invented", "_start")
