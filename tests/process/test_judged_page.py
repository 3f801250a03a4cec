"""The head of docs/processes-shares.md: where nothing explains what is said, and what is not judged."""

from __future__ import annotations

from tests.process.equal import ProgramRow, head_of


def row(name: str, build: str, opened: tuple[tuple[str, str, int, str], ...] = ()) -> ProgramRow:
    shares = {"lr_leaf": (100, 90, 0, 0, 10, sum(each[2] for each in opened))} if opened else {}
    return ProgramRow(name, "arm64", build, True, 1000, 1, "exit 0", "", 0, shares, opened)


def test_places_are_told_with_those_of_most_steps_first_and_what_was_not_judged_by_program() -> None:
    head = "\n".join(
        head_of(
            [
                row("hello", "gcc static", (("lr_leaf", "a in libc", 1, "a+0x4"), ("lr_leaf", "b in libc", 2, "b"))),
                row("hello", "gcc dynamic", (("lr_leaf", "a in libc", 4, "a+0x8"),)),
                row("sort", "gcc static"),
                row("sort", "gcc dynamic"),
                row("busybox sh", "Debian"),
            ]
        )
    )
    assert head.startswith("2 programs and builds, 2,000 steps, 7 that nothing explains.\n")
    assert "Compared, and not judged: 3 of together 3,000 steps." in head
    assert [line for line in head.splitlines() if line.startswith("- ")] == [
        "- a in libc, by `lr_leaf`: 5 steps in 2 builds, as hello arm64 gcc dynamic",
        "- b in libc, by `lr_leaf`: 2 steps in 1 builds, as hello arm64 gcc static",
        "- sort: 2 builds, 2,000 steps",
        "- busybox sh: 1 builds, 1,000 steps",
    ]
