"""A failing input made as small as it gets while it fails for the same reason."""

from __future__ import annotations

from collections.abc import Callable

from tests.hostile.bounds import Fate, try_input
from tests.hostile.damage import packed, unpacked
from tests.hostile.target import Target

_MOST_TRIES = 2000


def minimised(target: Target, content: bytes, failure: str, *, tries: int = _MOST_TRIES) -> bytes:
    """The smallest input found that fails as this one does; each try is mended as the inputs of the target are."""
    left = tries

    def fails(candidate: bytes) -> bool:
        nonlocal left
        left -= 1
        tried = try_input(target, target.mend(candidate))
        return tried.fate is Fate.FAILED and tried.failure == failure

    parts = unpacked(content)
    if parts is not None and packed(parts) == content:
        for i in range(len(parts)):

            def with_part(piece: bytes, i: int = i) -> bytes:
                return packed([*parts[:i], piece, *parts[i + 1 :]])

            parts[i] = _shortened(parts[i], lambda piece: fails(with_part(piece)), lambda: left > 0)
        return packed(parts)
    return target.mend(_shortened(content, fails, lambda: left > 0))


def _shortened(content: bytes, fails: Callable[[bytes], bool], may_go_on: Callable[[], bool]) -> bytes:
    """Pieces left out, large ones first, as long as it still fails."""
    size = len(content) // 2
    while size and may_go_on():
        at = 0
        while at < len(content) and may_go_on():
            without = content[:at] + content[at + size :]
            if fails(without):
                content = without
            else:
                at += size
        size //= 2
    return content
