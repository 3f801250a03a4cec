"""docs/results/check-mutants.md: small mistakes in tables that are right, and the share of them that a check notices.

python -m tests.checks.mutants_page [--functions N] [--part K]     write the page, a few minutes

``--functions``: so many functions of each libc (default 100); ``--part``: every K-th program of the corpus (all).
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from testbed.arch import ARCHES, Arch
from testbed.checks.groups import FileAtWork, held_against, opened
from testbed.checks.impossible import dynamic_frame_steps
from testbed.checks.local_calls import local_calls
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from testbed.contract.rows import RowTable
from testbed.micro.batches import one_trace
from testbed.micro.functions import CodePiece
from testbed.micro.plans import PLANS
from testbed.truth import observe
from tests.checks.libraries import FOLDERS
from tests.checks.table_mutants import Counts, assembly_runs, counted, means_the_same, mutants

SEED, SMALLEST = 1, 48  # of the choice of functions; bytes of the smallest that is chosen
RUNS, STEPS = 60, 400  # of one function
MOST_VISITS = 3  # of an instruction, at which a mutant that nobody noticed is asked whether it changes anything
KINDS = ("deleted", "late", "shifted", "other base")


def library_counts(path: Path, functions: int) -> Counts:
    """Mutants of the rows of some functions of a library, on its natural and forced paths."""
    this = opened(path, path, CheckOptions(), READERS)
    entries = [piece for piece in this.pieces if piece.is_entry and piece.end - piece.start >= SMALLEST]
    counts = Counts(Counter(), Counter(), Counter(), [])
    for piece in random.Random(SEED).sample(entries, min(functions, len(entries))):
        _try_function(this, piece, counts)
    return counts


def _try_function(this: FileAtWork, piece: CodePiece, counts: Counts) -> None:
    whole = this.tables["eh_frame"]
    assert isinstance(whole, RowTable)
    table = RowTable(whole.source, tuple(row for row in whole.rows if piece.start <= row.start < piece.end))
    found, paths = this.explorer.explore(piece, PLANS, runs=RUNS, steps=STEPS)
    taken = list(paths)
    batch = one_trace(this.caller.image, taken, this.caller.forget_asked(), SEED)
    watched = observe(batch.trace, natively=True)
    truth = watched, local_calls(watched, batch.returned)
    none = np.zeros(len(batch), np.bool_)  # steps in parts: of the function's own rows there are mutants only
    called = watched if truth[1] is None else truth[1].truth
    sized = dynamic_frame_steps(called, this.loaded, batch.trace.pc - np.uint64(this.loaded.bias % (1 << 64)))
    right, _ = held_against(this, READERS, "eh_frame", table, batch, truth, (none, sized))
    pc = right.pc.astype(np.int64)
    good = right.compared & (right.wrong == 0) & (pc >= piece.start) & (pc < piece.end)
    for mutant in mutants(table, this.image.arch, found.code.sizes):
        steps = good & (pc >= mutant.start) & (pc < mutant.end)
        if not steps.any() or not any(mutant.start <= at < mutant.end for at in found.code.sizes):
            continue
        counts.made[mutant.kind] += 1
        checks, _ = held_against(this, READERS, "eh_frame", mutant.table, batch, truth, (none, sized))
        wrong = steps & checks.compared & (checks.wrong != 0)
        if wrong.any():
            counts.evidence["executed" if (wrong & ~batch.forced).any() else "executed on a forced path"] += 1
        elif means_the_same(batch.trace, table, mutant.table, _some(steps, pc), this.loaded.bias):
            continue
        else:
            counts.unseen.append(f"{this.image.path.name} {this.image.arch} {piece} {mutant.kind} {mutant.start:#x}")
        counts.changed[mutant.kind] += 1
        counts.noticed[mutant.kind] += bool(wrong.any())


def _some(steps: np.ndarray, pc: np.ndarray) -> np.ndarray:
    """A few of the steps of each instruction."""
    at = np.flatnonzero(steps)
    order = at[np.argsort(pc[at], kind="stable")]
    number = np.arange(len(order)) - np.searchsorted(pc[order], pc[order])
    return np.sort(order[number < MOST_VISITS])


def corpus_counts(arch: Arch, part: int) -> Counts:
    counts = Counts(Counter(), Counter(), Counter(), [])
    for run in assembly_runs(arch, slice(1 if part > 1 else None, None, part)):
        counted(run, counts)
    return counts


def rows(what: str, counts: Counts) -> Iterator[Sequence[str]]:
    for kind in KINDS:
        if counts.made[kind]:
            made, changed, noticed = (each[kind] for each in (counts.made, counts.changed, counts.noticed))
            yield what, kind, f"{made:,}", f"{changed:,}", f"{noticed:,}", f"{noticed / max(changed, 1):.2%}", ""
    evidence = ", ".join(f"{known} {number:,}" for known, number in counts.evidence.most_common())
    changed, noticed = counts.changed.total(), counts.noticed.total()
    made, share = counts.made.total(), f"{counts.share:.2%}"
    yield what, "**all**", f"{made:,}", f"{changed:,}", f"{noticed:,}", share, evidence


def page(counted_ones: Sequence[tuple[str, Counts]], intro: str) -> str:
    head = ("tables of", "mistake", "made", "that change a frame", "noticed", "share", "known by")
    lines = [head, *(row for what, counts in counted_ones for row in rows(what, counts))]
    text = [f"| {' | '.join(line)} |" for line in lines]
    unseen = [f"- {each}" for _, counts in counted_ones for each in counts.unseen] or ["None."]
    table = "\n".join([text[0], "|" + "---|" * len(head), *text[1:]])
    return intro.format(table=table, unseen="\n".join(unseen))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", type=int, default=100)
    parser.add_argument("--part", type=int, default=1)
    asked = parser.parse_args()
    found = [(f"corpus' assembly, {arch}", corpus_counts(arch, asked.part)) for arch in ARCHES.values()]
    for name, folder in FOLDERS.items():
        path = folder / "libc.so.6"
        if path.exists() and name != "arm32":  # its tables promise rows at calls only
            found.append((f"{path.name}, {name}", library_counts(path, asked.functions)))
    docs = Path(__file__).parents[2] / "docs" / "results"
    intro = (docs / "check-mutants.intro.md").read_text(encoding="utf-8")
    (docs / "check-mutants.md").write_text(page(found, intro), encoding="utf-8")


if __name__ == "__main__":
    main()
