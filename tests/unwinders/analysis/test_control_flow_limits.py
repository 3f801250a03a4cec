"""What following a function may cost, and which ones are refused: too large, of random bytes, decoded by nothing."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from testbed.contract.rows import RegisterPlus
from testbed.words.errors import NoUnwindInfo, UnwindError
from tests.unwinders.code import START, assembled, image_of, row_in
from unwinders.analysis import control_flow, function_code
from unwinders.analysis.function_code import DECODERS, FunctionCode
from unwinders.analysis.function_rows import row_at


def test_a_large_function_is_refused_and_little_of_it_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[FunctionCode] = []
    monkeypatch.setattr(FunctionCode, "__post_init__", _noting(known, FunctionCode.__post_init__))
    monkeypatch.setattr(control_flow, "MOST_PLACES", 3000)
    image = image_of("arm64", bytes.fromhex("000080d2") * 5000)  # mov x0, #0
    with pytest.raises(NoUnwindInfo, match="f is too large to be followed"):
        row_at(image, START)
    assert max(len(code._known) for code in known) <= 3000 + function_code.AT_ONCE + 1


def _noting(known: list[FunctionCode], ordinary: Callable[[FunctionCode], None]) -> Callable[[FunctionCode], None]:
    def note(code: FunctionCode) -> None:
        ordinary(code)
        known.append(code)

    return note


def test_a_function_of_megabytes_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[FunctionCode] = []
    monkeypatch.setattr(FunctionCode, "__post_init__", _noting(known, FunctionCode.__post_init__))
    image = image_of("x86_64", b"\x90" * 2_000_000)
    with pytest.raises(NoUnwindInfo, match="f is too large to be followed"):
        row_at(image, START)
    assert known and not any(code._known for code in known)


def test_the_restarts_for_calls_that_do_not_return_share_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    once = "test rdi, rdi; jne 0x1{next:03x}; push rax; call 0x9000; "
    blocks = "".join(once.format(next=11 * (i + 1)) for i in range(20))
    code = assembled("x86_64", blocks + "ret")
    assert row_in("x86_64", code, len(code) - 1).cfa == RegisterPlus("rsp", 8)
    monkeypatch.setattr(control_flow, "MOST_STEPS", 400)  # enough for one time, not for twenty
    with pytest.raises(NoUnwindInfo, match="too large"):
        row_in("x86_64", code, len(code) - 1)


@pytest.mark.parametrize("leading", [0, 1])
def test_decoding_goes_on_where_it_stopped_and_not_inside_an_it_block(leading: int) -> None:
    returns = bytes.fromhex("18bf 10bd")  # it ne; popne {r4, pc}: without its condition, nothing comes behind it
    code = assembled("thumb", "push {r4, lr}") + bytes.fromhex("00bf") * leading + returns * 700 + bytes.fromhex("10bd")
    assert row_in("thumb", code, len(code) - 2).cfa == RegisterPlus("sp", 8)
    code = assembled("x86_64", "push rbp") + b"\x90" * 2000 + assembled("x86_64", "pop rbp; ret")
    assert row_in("x86_64", code, len(code) - 1).cfa == RegisterPlus("rsp", 8)


@pytest.mark.parametrize("isa", ["x86_64", "arm64", "a32", "thumb"])
def test_random_bytes_are_analysed_or_refused(isa: str) -> None:
    random = Random(3)
    prologue = {"x86_64": "push rbp; mov rbp, rsp; sub rsp, 32", "arm64": "stp x29, x30, [sp, #-32]!"}
    head = assembled(isa, prologue.get(isa, "push {r4, r7, lr}"))
    rows = refused = 0
    for _ in range(120):
        code = head + random.randbytes(random.choice([16, 64, 256]))
        image = image_of(isa, code, ("f", 0, len(code) // 2), ("g", len(code) // 2, 0))
        for pc in range(START, START + len(code), 2):
            try:
                rows += row_at(image, pc).contains(pc)
            except UnwindError:
                refused += 1
    assert min(rows, refused) > 100


def test_instructions_that_nothing_decodes_are_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DECODERS, "_entries", {**DECODERS, "arm64": None})
    monkeypatch.setattr(DECODERS, "because", {"arm64": "nobody wrote it"})
    with pytest.raises(
        NoUnwindInfo, match=r"^f\+0x0: the instructions of arm64 are not decoded here: nobody wrote it$"
    ):
        row_in("arm64", bytes.fromhex("1f2003d5"), 0)
