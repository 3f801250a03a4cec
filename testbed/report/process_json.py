"""A judged process as plain data: the shape of ``testbed run --json`` for a real program (``schema/process.json``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from testbed.profiling.result import CountedProcess, StrategyShare, WatchedProcess, WrongPlace
from testbed.profiling.samples import SampledProfile

PROCESS_SCHEMA = 1


def process_data(
    process: WatchedProcess | CountedProcess, shares: Sequence[StrategyShare], profiles: Sequence[SampledProfile] = ()
) -> dict[str, Any]:
    """A process: what it did, its threads, and every strategy's counts and places."""
    run = process.run
    return {
        "schema": PROCESS_SCHEMA,
        "program": str(run.path),
        "arguments": list(run.arguments),
        "arch": run.arch.name,
        "steps": process.steps,
        "status": run.status,
        "signal": run.signal,
        "ending": run.ending,
        "images": [{"file": str(each.image.path), "bias": each.bias} for each in run.images],
        "threads": [
            {
                "number": each.number,
                "steps": each.steps,
                "activations": each.activations,
                "transition": each.transition,
            }
            for each in process.threads
        ],
        "calls": dict(run.calls),
        "refused": [{"name": r.name, "error": r.error, "step": r.step, "pc": r.pc} for r in run.refused],
        "strategies": [_strategy(each) for each in shares],
        "profiles": [
            {
                "strategy": each.name,
                "samples": each.samples,
                "misplaced": each.misplaced,
                "cut": each.cut,
            }
            for each in profiles
        ],
    }


def _strategy(each: StrategyShare) -> dict[str, Any]:
    names = ("name", "judged", "exact", "whole", "stops", "lies", "transition", "explained", "unexplained", "sampled")
    return {
        **{name: getattr(each, name) for name in names},
        "outcomes": dict(each.outcomes),
        "places": [_place(place) for place in each.places],
    }


def _place(place: WrongPlace) -> dict[str, Any]:
    names = ("function", "library", "because", "steps", "lies", "first", "thread", "where", "command")
    return {name: getattr(place, name) for name in names}
