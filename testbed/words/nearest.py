"""What the four catalogues share: telling somebody who mistyped a name which names exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 30  # names that are listed where none is close


def nearest(name: str, names: Iterable[str]) -> str:
    """``did you mean ...?`` with the closest names; where nothing is close all of them, or of many the first ones."""
    known = list(names)
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f"did you mean {', '.join(close)}?"
    if len(known) > _MOST:
        return f"there are {len(known)}, such as {', '.join(known[:3])}"
    return f"there are: {', '.join(known)}"
