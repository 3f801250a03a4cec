"""Every unwinder with an assumption beside it, at some sites of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from testbed.contract.unwinder import Unwinder
from testbed.runs.run import Run
from testbed.verdicts.assumptions import Failed, failed_at
from testbed.verdicts.assumptions.along import Accord, accord
from testbed.verdicts.assumptions.words import reason
from testbed.verdicts.one import compare


class Judged(NamedTuple):
    """An unwinder at a site: how its answer and its assumption stand to each other."""

    unwinder: str
    step: int
    accord: Accord
    failed: Failed | None

    def told(self, run: Run) -> str:
        """Where it is, and why, for people."""
        why = reason(self.failed, run.trace.images) if self.failed else "it holds"
        return f"{run}, {self.unwinder} at @{self.step}: {self.accord.value}; {why}"


def evenly(run: Run, most: int) -> range:
    """Steps of a run, at most about so many, at the same distance."""
    return range(0, len(run), max(1, len(run) // most))


def beside(run: Run, unwinders: Iterable[Unwinder], steps: Iterable[int]) -> Iterator[Judged]:
    """The unwinders that have an assumption, and apply."""
    chosen = [each for each in unwinders if each.assumption is not None and each.applies_to(run.built.image)]
    steps = list(steps)
    failed = [failed_at(run.watched, steps, each.assumption) for each in chosen if each.assumption is not None]
    for i, step in enumerate(steps):
        snapshot = run.trace.snapshot(step)
        true = run.truth(step).frames
        for unwinder, where in zip(chosen, failed, strict=True):
            said = unwinder.unwind(snapshot)
            outcome, _, _, frames = compare(run.arch, true, said)
            yield Judged(unwinder.name, step, accord(unwinder.held_to, outcome, frames, said, where[i]), where[i])


BESIDE = (Accord.HOLDS, Accord.FAILS, Accord.LUCK, Accord.UNFOUNDED, Accord.OTHERWISE, Accord.OPEN)


def table(counts: Counter[tuple[str, str, Accord]]) -> str:
    """Sites by unwinder and architecture, a line each, and of each accord how many."""
    lines = [f"{'unwinder':24}{'arch':8}" + "".join(f"{each.name.lower():>11}" for each in BESIDE)]
    for name, arch in dict.fromkeys(key[:2] for key in counts):
        lines.append(f"{name:24}{arch:8}" + "".join(f"{counts[name, arch, each]:11}" for each in BESIDE))
    return "\n".join(lines) + "\n"
