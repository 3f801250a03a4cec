"""What came of every batch, kept as lines of JSON, and the page: what was tried of each target, what the worst cost."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from tests.hostile.bounds import Fate
from tests.hostile.target import Target
from tests.hostile.trying import Failure, Tally

_NUMBERS = ("seconds", "worst_seconds", "worst_memory")


class KeptBatches:
    """The batches of a file, and those of this run, which are added to it as soon as they are known."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.inputs_now = 0
        self.totals: dict[str, Tally] = {}
        self.seeds: defaultdict[str, set[int]] = defaultdict(set)
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                said = json.loads(line)
                counts = Counter({Fate(fate): count for fate, count in said["counts"].items()})
                failures = [Failure(-1, kind, "") for kind in said["failures"]]
                self._sum(Tally(said["target"], counts, failures, *(said[name] for name in _NUMBERS)), said["seed"])

    def add(self, tally: Tally, seed: int, first: int) -> None:
        said = {
            "target": tally.target,
            "seed": seed,
            "first": first,
            "counts": {fate.value: tally.counts[fate] for fate in Fate},
            "failures": [failure.kind for failure in tally.failures],
            **{name: round(getattr(tally, name), 4) for name in _NUMBERS},
        }
        self.inputs_now += tally.inputs
        self._sum(tally, seed)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(said) + "\n")

    def _sum(self, tally: Tally, seed: int) -> None:
        self.totals.setdefault(tally.target, Tally(tally.target)).add(tally)
        self.seeds[tally.target].add(seed)


# The page of hostile input: what was tried of every target, and what the worst input cost.


_INTRODUCTION = Path(__file__).parents[2] / "docs" / "results" / "fuzzing.intro.md"
_HEAD = (
    "| target | what is read | inputs | read | refused | failed | CPU s | worst CPU ms | worst MB |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|---:|\n"
)


def told(tally: Tally) -> str:
    """One batch in one line."""
    counts = ", ".join(f"{tally.counts[fate]:,} {fate.value}" for fate in Fate if tally.counts[fate])
    each = 1000 * tally.seconds / max(tally.inputs, 1)
    return f"{tally.target}: {counts or 'nothing tried'}; {each:.2f} ms each, at most {tally.worst_seconds:.2f} s"


def page(book: KeptBatches, targets: Sequence[Target]) -> str:
    """The page: the introduction with the table of all kept batches in it."""
    kept = [target for target in targets if target.name in book.totals]
    rows = [_row(target.name, target.what, book.totals[target.name]) for target in kept]
    total = Tally("")
    for target in kept:
        total.add(book.totals[target.name])
    rows.append(_row("**all**", "", total))
    return _INTRODUCTION.read_text(encoding="utf-8").format(
        table=_HEAD + "\n".join(rows),
        inputs=f"{total.inputs:,}",
        targets=len(kept),
        minutes=f"{total.seconds / 60:.0f}",
        seeds=", ".join(map(str, sorted({seed for target in kept for seed in book.seeds[target.name]}))),
        failed=f"{total.counts[Fate.FAILED]:,}",
    )


def _row(name: str, what: str, total: Tally) -> str:
    shown = name if name.startswith("*") else f"`{name}`"
    counts = " | ".join(f"{total.counts[fate]:,}" for fate in Fate)
    memory = f"{total.worst_memory >> 20}" if total.worst_memory else "< 48"
    return (
        f"| {shown} | {what} | {total.inputs:,} | {counts} | {total.seconds:,.0f} | {1000 * total.worst_seconds:,.0f} "
        f"| {memory} |"
    )
