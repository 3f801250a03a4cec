"""A rule of the code that can be taken out on purpose."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RemovedRule:
    """``before`` stands in ``module`` once; with ``after`` in its place ``test`` has to fail."""

    what: str
    module: str
    before: str
    after: str
    test: str
