"""Shapes that are written by hand: stack switches and coroutines of every kind, each right or undecided.

`shapes/NAME.ISA.S` declares the right stacks, and the labels at which no effect decides whose steps they are.
"""

from pathlib import Path

import pytest

from tests.truth.watched import watch
from tests.witness.witnessed import agreed

SOURCES = sorted((Path(__file__).parent / "shapes").glob("*.S"))


def said(text: str, word: str) -> list[str]:
    """What the header says behind a word, line by line."""
    start = f"// {word}: "
    return [line.removeprefix(start) for line in text.splitlines() if line.startswith(start)]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name.removesuffix(".S"))
def test_it_is_right_or_undecided(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("//"))
    isa, undecided = source.suffixes[-2].removeprefix("."), " ".join(said(text, "undecided")).split()
    truth = watch(isa, body, *said(text, "frames"), undecided=undecided)
    agreed(truth)
