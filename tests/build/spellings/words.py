"""Arm's conditions, and a short way to write many instructions: what the spellings are made of."""

from __future__ import annotations

_NAMES = "eq ne cs hs cc lo mi pl vs vc hi ls ge lt gt le"
CONDITIONS = tuple(_NAMES.split())


def lines(text: str) -> list[str]:
    """The instructions of a text, of which several stand in one line with ``;`` between them."""
    return [line.strip() for part in text.splitlines() for line in part.split(";") if line.strip()]
