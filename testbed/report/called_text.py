"""Unwinders at the instructions of functions that were called alone: as text, and as data for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from testbed.checks.judged_calls import CalledLie, CalledVerdicts
from testbed.report.phrases import count, share
from testbed.words.printable import printable

_MOST = 10  # functions of one unwinder that are shown


def called_text(path: Path, verdicts: Sequence[CalledVerdicts]) -> Iterator[str]:
    """The lines on one file: a row for each unwinder, then where each lies first in each function."""
    judged = max(counted.judged + counted.transition for counted in verdicts)
    yield f"{printable(str(path))}: {count(judged, 'instruction')} executed, each judged once"
    yield ""
    wide = max(8, *(len(counted.unwinder) for counted in verdicts))
    yield f"{'unwinder':{wide}} {'exact':>14} {'stops':>7} {'lies':>7} {'crashes, hangs':>15} {'unexplained':>12}"
    for counted in verdicts:
        right = counted.exact + counted.whole
        exact = f"{right:,} {share(right, counted.judged):>7}"
        numbers = f"{counted.stops:>7,} {counted.lying:>7,} {counted.failed:>15,} {counted.unexplained:>12,}"
        yield f"{printable(counted.unwinder):{wide}} {exact:>14} {numbers}"
    for counted in verdicts:
        lies = sorted(counted.lies.values(), key=lambda lie: (bool(lie.explained), lie.address))
        for lie in lies[:_MOST]:
            yield ""
            yield from _of_a_lie(counted.unwinder, lie)
        if len(lies) > _MOST:
            yield f"    and in {count(len(lies) - _MOST, 'more function')}: --format json has all of them"
    yield ""


def _of_a_lie(unwinder: str, lie: CalledLie) -> Iterator[str]:
    how = ", on a forced path" if lie.forced else ""
    why = f" ({lie.explained})" if lie.explained else ""
    yield f"{printable(lie.where)}: {printable(unwinder)}: {lie.outcome}{why}{how}"
    yield f"    says {printable(lie.said)}"
    yield f"    true {printable(lie.true)}"
    yield f"    {printable(lie.difference)}"


def called_data(path: Path, verdicts: Sequence[CalledVerdicts]) -> Mapping[str, Any]:
    """One file as JSON has it."""
    return {"file": str(path), "unwinders": [_of_one(counted) for counted in verdicts]}


def _of_one(counted: CalledVerdicts) -> Mapping[str, Any]:
    own = {field.name: getattr(counted, field.name) for field in fields(counted)}
    return own | {"judged": counted.judged, "lies": [asdict(lie) for lie in counted.lies.values()]}
