"""What the four catalogues share: telling somebody who mistyped a name which names exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, names: Iterable[str]) -> str:
    """``did you mean ...?`` with the closest names, or the list of all where nothing is close."""
    known = list(names)
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {', '.join(close)}?" if close else f"there are: {', '.join(known)}"
