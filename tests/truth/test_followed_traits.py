"""What makes it hard to follow instructions: how registers are saved, SP is moved, records lie, and where lr leads."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.truth import Truth
from testbed.truth.windows import watch as windows_watch
from testbed.words.traits import Trait
from tests.truth.pieces import agree_in_pieces
from tests.truth.watched import agree_in_columns, steps_at, watch

# `stores` keeps rbx by a store into room made before, `pushes` by a push.
STORES = """
fn main
    push rbp
    mov rbp, rsp
    call stores
    call pushes
    pop rbp
    mov eax, 42
    ret
fn stores
    sub rsp, 16
    mov [rsp + 8], rbx
stores_kept:
    mov rbx, 7
stores_changed:
    nop
    mov rbx, [rsp + 8]
stores_back:
    add rsp, 16
    ret
fn pushes
    push rbx
    mov rbx, 7
pushes_changed:
    nop
    pop rbx
    ret
"""


def holds(truth: Truth, label: str, trait: Trait, frame: int = 0) -> bool:
    (step,) = steps_at(truth, label)
    return trait in truth.frame_traits(step, frame)


def test_a_register_that_is_stored_is_told_from_one_that_is_pushed() -> None:
    truth = watch("x86_64", STORES, "stores_changed = stores, main, _start", "pushes_changed = pushes, main, _start")
    agree_in_columns(truth)
    shown = {"stores_kept": False, "stores_changed": True, "stores_back": False, "pushes_changed": False}
    assert {label: holds(truth, label, Trait.CHANGED_AND_STORED) for label in shown} == shown
    assert holds(truth, "pushes_changed", Trait.CHANGED)


# By an amount: as much as x9 holds. To a place: where x10 leads. By a number: no register holds 48.
TAKES = """
fn main
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl by_amount
    bl to_place
    bl by_number
    mov x0, #42
    ldp x29, x30, [sp], #16
    ret
fn by_amount
    mov x9, #32
amount_before:
    sub sp, sp, x9
amount_behind:
    add sp, sp, #32
    ret
fn to_place
    sub x10, sp, #64
    mov sp, x10
place_behind:
    add sp, sp, #64
    ret
fn by_number
    sub sp, sp, #48
number_behind:
    add sp, sp, #48
    ret
"""


def test_sp_that_is_moved_by_a_register_is_told_from_sp_that_is_moved_by_a_number() -> None:
    truth = watch("arm64", TAKES, "amount_behind = by_amount, main, _start", "place_behind = to_place, main, _start")
    agree_in_columns(truth)
    shown = {"amount_before": False, "amount_behind": True, "place_behind": True, "number_behind": False}
    assert {label: holds(truth, label, Trait.SP_SET) for label in shown} == shown
    assert not holds(truth, "amount_behind", Trait.SP_SET, frame=1)


# `low` keeps its record at the low end of its frame, `high` at the high one; `bare` has none.
RECORDS = {
    "x86_64": """
fn main
    push rbp
    mov rbp, rsp
main_body:
    call low
    pop rbp
    mov eax, 42
    ret
fn low
    push rbx
    push qword ptr [rsp + 8]
    push rbp
    mov rbp, rsp
low_body:
    nop
    pop rbp
    add rsp, 8
    pop rbx
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    mov x29, sp
main_body:
    bl low
    mov x0, #42
    ldp x29, x30, [sp], #16
    ret
fn low
    stp x29, x30, [sp, #-32]!
    mov x29, sp
low_body:
    nop
    ldp x29, x30, [sp], #32
    ret
""",
}


@pytest.mark.parametrize("isa", RECORDS)
def test_a_record_that_does_not_end_where_the_frame_does(isa: str) -> None:
    truth = watch(isa, RECORDS[isa], "low_body = low, main, _start")
    agree_in_columns(truth)
    assert holds(truth, "low_body", Trait.LINKED)
    assert holds(truth, "low_body", Trait.RECORD_APART)
    assert not holds(truth, "low_body", Trait.RECORD_APART, frame=1)
    assert holds(truth, "main_body", Trait.LINKED)
    assert not holds(truth, "main_body", Trait.RECORD_APART)


def test_the_link_register_leads_to_pc_right_behind_the_last_call_and_nowhere_else() -> None:
    truth = watch("arm64", TAKES, "number_behind = by_number, main, _start")
    trace, elsewhere = truth.trace, []
    for step in range(len(trace)):
        link = int(trace.column("x30")[step])
        assert (Trait.LINK_ELSEWHERE in truth.frame_traits(step, 0)) == (link not in (0, int(trace.pc[step])))
        elsewhere.append(Trait.LINK_ELSEWHERE in truth.frame_traits(step, 0))
        if len(truth.stack(step).frames) > 1:
            assert Trait.LINK_ELSEWHERE not in truth.frame_traits(step, 1)
    assert 0 < sum(elsewhere) < len(elsewhere)


FACTS = {
    "executed": "executed",
    "framed": "framed_pcs",
    "frame_sizes": "frame_sizes",
    "saving": "saving_pcs",
    "return_saving": "return_saving_pcs",
    "setting": "setting_pcs",
    "moving": "moving_pcs",
    "storing": "storing_pcs",
    "taking": "taking_pcs",
}


@pytest.mark.parametrize("natively", [False, True])
@pytest.mark.parametrize(("isa", "body"), [("x86_64", STORES), ("arm64", TAKES)])
def test_what_code_does_is_noted_piece_by_piece(
    isa: str, body: str, natively: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = watch(isa, body, "main = main, _start")
    monkeypatch.setattr(windows_watch, "NATIVE_FROM", 0 if natively else len(truth.trace) + 1)
    known = agree_in_pieces(truth, 9)
    assert (known.code is not None) == natively
    for noted, of_all in FACTS.items():
        assert np.array_equal(getattr(known, noted), getattr(truth, of_all)), noted
    assert len(known.taking) == (2 if isa == "arm64" else 0)
    assert len(known.storing) == (0 if isa == "arm64" else 1)
