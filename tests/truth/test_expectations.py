"""Declared frames: each way in which a declaration can be wrong is told, none passes silently."""

from __future__ import annotations

import pytest

from testbed.machine import record
from testbed.program.model import parse_header
from testbed.truth import disagreements, observe
from testbed.truth.expectations import _agree
from tests.machine.snippets import image_of
from tests.truth.calls import TAIL


def check(*lines: str) -> tuple[str, ...]:
    truth = observe(record(image_of("arm64", TAIL["arm64"])))
    declared = "\n".join(["// summary: s", "// exit: 0", *(f"// frames: {line}" for line in lines)])
    return tuple(map(str, disagreements(truth, parse_header("p", declared).frames)))


def test_frames_that_agree_say_nothing() -> None:
    assert check("second = second, main, _start", "main = main, _start", "main+0x4 = main, _start") == ()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("second = second, first, main, _start", "declared second, first, main, _start; watched second, main, _start"),
        ("second = second, main", "declared second, main; watched second, main, _start"),
        ("nowhere = main, _start", "nowhere: no symbol of that name"),
        ("main+0x2 = main, _start", "main+0x2 is never executed"),
        ("main#2 = main, _start", "main#2 is never executed"),
        ("main#1 = second, _start", "main#1 (step 3): declared second, _start; watched main, _start"),
    ],
)
def test_frames_that_do_not_agree_are_told_with_their_line(line: str, told: str) -> None:
    (said,) = check("main = main, _start", line)
    assert said.startswith("line 4: ")
    assert said.endswith(told)


def test_a_clone_is_declared_by_its_functions_name_and_a_piece_by_its_own() -> None:
    assert _agree(("volume.isra.0", "main"), ("volume", "main"))
    assert _agree(("work.cold", "main"), ("work.cold", "main"))
    assert not _agree(("volume", "main"), ("volume.isra.0", "main"))
    assert not _agree(("work.cold", "main"), ("work", "main"))
    assert not _agree(("volume.isra.0", "main"), ("main", "volume"))
    assert not _agree(("volume", "main"), ("volume",))


def test_a_frame_in_parentheses_may_be_there_or_not() -> None:
    declared = ("second", "(first)", "(zeroth)", "main")
    for watched in (("second", "main"), ("second", "first", "main"), ("second", "zeroth", "main")):
        assert _agree(watched, declared)
    assert _agree(("second", "first.isra.0", "zeroth", "main"), declared)
    assert not _agree(("second", "zeroth", "first", "main"), declared)
    assert not _agree(("second",), declared)
    assert not _agree(("first", "main"), declared)
