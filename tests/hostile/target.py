"""What hostile input is given to: a reader, its real inputs, and how they are damaged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

Damage = Callable[[bytes, Random, Sequence[bytes]], bytes]
"""Damaged content, from a real one, chance, and all real ones (pieces of which may be put into it)."""


@dataclass(frozen=True)
class Target:
    """One reader. ``read`` takes an input and raises nothing but typed errors; ``seeds`` are real inputs.

    ``mend`` makes right what a reader checks before it looks at anything else: checksums, and lengths that hold parts
    together. ``weight``: how many inputs it gets beside others; one that is slow to read gets fewer. ``allowed`` are
    exceptions that are typed errors of another library, as click's for mistyped options.
    """

    name: str
    what: str
    seeds: Callable[[], Sequence[bytes]]
    read: Callable[[bytes], object]
    damage: Damage
    mend: Callable[[bytes], bytes] = bytes
    weight: float = 1.0
    allowed: tuple[type[BaseException], ...] = ()


def numbered_input(target: Target, seeds: Sequence[bytes], seed: int, number: int) -> bytes:
    """The input of a number: the same one on every machine. Some are real ones, so that reading them is tried too."""
    dice = Random(f"{target.name} {seed} {number}")
    content = seeds[dice.randrange(len(seeds))]
    if dice.randrange(200) == 0:
        return content
    for _ in range(dice.choice((1, 1, 1, 2, 3, 6))):
        content = target.damage(content, dice, seeds)
    return target.mend(content)
