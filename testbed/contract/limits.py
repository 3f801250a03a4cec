"""Limits as a table of text: a line per mechanism and architecture, with the outcomes as which it shows there.

::

    PROLOGUE+UNLINKED  x86_64  ended_early skipped wrong_register
    PROLOGUE+UNLINKED  arm64   ended_early skipped

A mechanism is a trait, or several that a frame must have at once; ``<1`` behind it says that the frame is one further
in than the one at which the answer goes wrong, ``>1`` further out. Lines stand in the order in which they explain: the
first that covers a verdict is its reason. The sentence and the reference are given beside it, by mechanism.
"""

from __future__ import annotations

from collections.abc import Mapping

from testbed.arch import ARCHES
from testbed.contract.unwinder import Limit
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

Reasons = Mapping[str, tuple[str, str]]
"""By mechanism: why, and where it was seen."""


def limits_of(table: str, reasons: Reasons) -> tuple[Limit, ...]:
    """The limits that a table says. Raises ValueError for a line that breaks its form, KeyError for an unknown word."""
    return tuple(_limit(line, reasons) for line in table.splitlines() if line.strip())


def _limit(line: str, reasons: Reasons) -> Limit:
    key, arch, *outcomes = line.split()
    if arch not in ARCHES or not outcomes:
        raise ValueError(f"{line.strip()!r}: a mechanism, an architecture, and outcomes")
    names, _, inner = key.replace(">", "<-").partition("<")
    trait, *also = (Trait[name] for name in names.split("+"))
    shown = frozenset(Outcome(value) for value in outcomes)
    return Limit(trait, shown, *reasons[key], frozenset({arch}), frozenset(also), int(inner or 0))


def limit_on(limits: tuple[Limit, ...], mechanism: str, arch: str) -> Limit:
    """The first limit of a mechanism on an architecture."""
    return next(li for li in limits if li.mechanism == mechanism and (li.arches is None or arch in li.arches))
