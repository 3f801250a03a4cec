"""Two stacks side by side: what one lacks is a gap, what it has alone is marked, repeats are folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum
from itertools import groupby
from typing import TypeVar

T = TypeVar("T")
_SEARCHED = 400  # frames of each side within which a gap is looked for: it takes the product of both


class Alignment(Enum):
    """Where a frame stands in a comparison with the truth."""

    TRUE = "both have it"
    MISSING = "only the truth has it"
    FALSE = "only the answer has it"


@dataclass(frozen=True, slots=True)
class Beside:
    """One frame of a comparison: its index in the truth and in what was said, None where it is not there."""

    true: int | None
    said: int | None

    @property
    def alignment(self) -> Alignment:
        if self.said is None:
            return Alignment.MISSING
        return Alignment.FALSE if self.true is None else Alignment.TRUE


def beside(true: Sequence[int], said: Sequence[int]) -> tuple[Beside, ...]:
    """Two stacks by their pcs, innermost first: the most frames that can be in both, in order, are.

    What the truth has behind the last frame that both have is left out: nobody expects it of who stopped.
    """
    same = _equal_at_front(true, said)
    behind = _equal_at_front(true[same:][::-1], said[same:][::-1])
    shown = [Beside(i, i) for i in range(same)]
    true_end, said_end = len(true) - behind, len(said) - behind
    some_true, some_said = true[same:true_end][:_SEARCHED], said[same:said_end][:_SEARCHED]
    for kind, a, b, c, d in SequenceMatcher(None, some_true, some_said, autojunk=False).get_opcodes():
        if kind == "equal":
            shown += [Beside(same + i, same + c + i - a) for i in range(a, b)]
        else:
            shown += [Beside(same + i, None) for i in range(a, b)]
            shown += [Beside(None, same + i) for i in range(c, d)]
    shown += [Beside(i, None) for i in range(same + len(some_true), true_end)]
    shown += [Beside(None, i) for i in range(same + len(some_said), said_end)]
    shown += [Beside(true_end + i, said_end + i) for i in range(behind)]
    last = max((i for i, each in enumerate(shown) if each.alignment is Alignment.TRUE), default=0)
    return tuple(each for i, each in enumerate(shown) if i < last or each.alignment is not Alignment.MISSING)


def _equal_at_front(one: Sequence[int], other: Sequence[int]) -> int:
    """How many of the first frames are equal."""
    most = min(len(one), len(other))
    return next((i for i in range(most) if one[i] != other[i]), most)


def counted(items: Iterable[T]) -> Iterator[tuple[T, int]]:
    """Neighbours that are equal as one, and how many they were."""
    return ((item, sum(1 for _ in same)) for item, same in groupby(items))


def folded_names(names: Iterable[str], most: int = 12) -> str:
    """Names of a stack as one line, innermost first: repeats folded, the middle of a deep one left out and counted."""
    parts = [name if times == 1 else f"{name} ×{times}" for name, times in counted(names)]
    if len(parts) > most:
        head, tail = parts[: most // 2], parts[-most // 2 :]
        parts = [*head, f"... {len(parts) - most} more ...", *tail]
    return " < ".join(parts)
