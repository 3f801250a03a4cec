"""Shapes that are written by hand: stack switches and coroutines of every kind, each right or undecided.

`shapes/NAME.ISA.S` declares the right stacks, and the labels at which no effect decides whose steps they are.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from testbed.campaign.prove import prove
from tests.truth.watched import steps_at, watch

SOURCES = sorted((Path(__file__).parent / "shapes").glob("*.S"))


def said(text: str, word: str) -> list[str]:
    """What the header says behind a word, line by line."""
    start = f"// {word}: "
    return [line.removeprefix(start) for line in text.splitlines() if line.startswith(start)]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name.removesuffix(".S"))
def test_it_is_right_or_undecided(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("//"))
    truth = watch(source.suffixes[-2].removeprefix("."), body, *said(text, "frames"))
    labels = {line.partition("=")[0].partition("#")[0].strip() for line in said(text, "frames")}
    undecided = {label for label in labels if truth.undecided[np.array(steps_at(truth, label))].any()}
    assert undecided == set(" ".join(said(text, "undecided")).split())
    proof = prove(truth)
    assert (proof.dissents, proof.unfollowed) == ((), 0)
