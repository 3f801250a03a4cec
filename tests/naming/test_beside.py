"""Two stacks side by side: gaps, false frames, repeats."""

import pytest

from testbed.naming.beside import Alignment, beside, folded_names


def drawn(true: str, said: str) -> str:
    """Lower case: both; upper case: missing; a digit or letter behind !: false."""
    marks = []
    for each in beside([*map(ord, true)], [*map(ord, said)]):
        if each.alignment is Alignment.MISSING:
            marks.append(true[each.true or 0].upper())
        else:
            marks.append(("!" if each.alignment is Alignment.FALSE else "") + said[each.said or 0])
    return "".join(marks)


@pytest.mark.parametrize(
    ("true", "said", "shown"),
    [
        ("abcd", "abcd", "abcd"),
        ("abcd", "acd", "aBcd"),
        ("abcd", "ad", "aBCd"),
        ("abcd", "ab", "ab"),  # whoever stops is not told what would have come
        ("abcd", "abxcd", "ab!xcd"),
        ("abcd", "aacd", "aB!acd"),
        ("abcde", "axcye", "aB!xcD!ye"),
        ("abcd", "xyz", "!x!y!z"),
        ("abcd", "", ""),
        ("aaab", "aab", "aaAb"),
        ("abab", "ab", "ab"),  # the same names again, further out: whoever stops early has not left out the first ones
        ("abcab", "abxab", "abC!xab"),
    ],
)
def test_a_missing_frame_is_a_gap_and_a_false_one_is_marked(true: str, said: str, shown: str) -> None:
    assert drawn(true, said) == shown


def test_two_deep_stacks_are_compared_in_bounded_time() -> None:
    true = list(range(20_000))
    shown = beside(true, [0, *(3 * i + 100_000 for i in range(20_000))])
    assert [each.alignment for each in shown[:2]] == [Alignment.TRUE, Alignment.FALSE] and len(shown) == 20_001


def test_a_gap_is_looked_for_within_400_frames_and_no_further() -> None:
    """Frame n of the one is the first of the other, and nothing else is in both."""
    for n, found in ((399, True), (400, False)):
        long, short = [*range(n + 1), 9001], [n, 9002]
        for true, said in ((long, short), (short, long)):
            assert any(each.alignment is Alignment.TRUE for each in beside(true, said)) is found, n


def test_one_missing_frame_far_out_in_a_deep_stack_is_one_gap() -> None:
    true = [*range(5_000), 7, 8]
    shown = beside(true, [*range(2_500), *range(2_501, 5_000), 7, 8])
    assert [each.true for each in shown if each.alignment is not Alignment.TRUE] == [2_500]


def test_repeats_are_folded_and_the_middle_of_a_deep_stack_is_counted() -> None:
    assert folded_names(["leaf", *["fib"] * 12, "main"]) == "leaf < fib ×12 < main"
    assert folded_names(f"f{i}" for i in range(30)) == (
        "f0 < f1 < f2 < f3 < f4 < f5 < ... 18 more ... < f24 < f25 < f26 < f27 < f28 < f29"
    )
