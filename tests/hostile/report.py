"""The page of hostile input: what was tried of every target, and what the worst input cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.hostile.bounds import Fate
from tests.hostile.kept_batches import KeptBatches
from tests.hostile.target import Target
from tests.hostile.trying import Tally

_INTRODUCTION = Path(__file__).parents[2] / "docs" / "fuzzing.intro.md"
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
