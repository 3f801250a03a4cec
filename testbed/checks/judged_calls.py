"""Unwinders judged where functions are called alone: at every instruction that a check executes, once.

The paths are those that the tables are held against (`testbed.checks.groups`), the truth is what was watched of them.
An instruction is judged at its first visit on a path that a function took by itself, else on a forced one. Who calls is
a file of a few instructions without any table, ``_start``: an unwinder that has found all frames up to there, and
stops, has said what can be known. A reader of tables is held to honesty: that a row is right is what is checked here,
and nothing that it may assume.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from testbed.build.tables.elf import ElfSymbol, write_elf
from testbed.build.targets import TEXT_BASE
from testbed.checks.groups import FileAtWork, fits, is_long, opened
from testbed.checks.inputs import program_file
from testbed.checks.options import CheckOptions
from testbed.checks.readers import Readers
from testbed.contract.assumption import TableRow
from testbed.contract.unwinder import HeldTo, Unwinder
from testbed.image import LoadedImage, describe, read_image
from testbed.micro.batches import BATCH, Batch, one_trace
from testbed.micro.exploring import TakenPath
from testbed.micro.plans import PLANS
from testbed.naming.beside import folded_names
from testbed.trace import Snapshot, Trace
from testbed.truth import Truth, observe
from testbed.verdicts.assumptions.words import because
from testbed.verdicts.trace import verdicts_at
from testbed.verdicts.verdict import Counts, counted
from testbed.words.errors import NothingAskedFor, UsageError
from testbed.words.files import WorkFolder
from testbed.words.outcome import Outcome

_FAILURES = (Outcome.CRASHED, Outcome.HUNG)


@dataclass(frozen=True, slots=True)
class CalledLie:
    """The first instruction of a function at which something false is said, or the unwinder dies or gives no answer.

    ``address`` is the file's own; ``true`` and ``said`` are functions, innermost first. ``explained`` says which clause
    of the unwinder's assumption fails, with its evidence; "" where that is not why.
    """

    address: int
    where: str
    outcome: str
    true: str
    said: str
    difference: str
    explained: str
    forced: bool


@dataclass(frozen=True, kw_only=True)
class CalledVerdicts(Counts):
    """One unwinder on one file, in instructions; ``whole``: every frame of the file, and the caller, then a stop.

    ``lies`` has one for each function: the first that is unexplained, or else the first.
    """

    unwinder: str
    lies: Mapping[str, CalledLie] = field(default_factory=dict)

    @property
    def stops(self) -> int:
        """Honest stops before the last true caller."""
        return self.stopped - self.dead - self.whole

    @property
    def unexcused(self) -> int:
        """The lies and failures that are not foretold."""
        return self.number(lambda kind: kind.unexplained and (kind.lying or kind.dead))


def judge_calls(
    path: Path, options: CheckOptions, readers: Readers, unwinders: Sequence[Unwinder], progress: Callable[[int], None]
) -> tuple[CalledVerdicts, ...]:
    """Call the functions of a file, and judge each unwinder that applies to it; ``progress`` is told the instructions.

    Raises what `testbed.checks.check_file.check_file` raises, and UsageError where no unwinder applies.
    """
    with program_file(path, options.arch, options.flags) as file, WorkFolder("caller") as folder:
        this = opened(file, path, replace(options, jobs=1), readers)
        asked = [unwinder for unwinder in unwinders if unwinder.applies_to(this.image)]
        if not asked:
            names = ", ".join(unwinder.name for unwinder in unwinders)
            raise UsageError(f"{path}: {names}: it has nothing for {this.image.arch}, or lacks the table")
        caller = _caller(this, folder)
        found = [CalledVerdicts(unwinder=unwinder.name) for unwinder in asked]
        seen: set[int] = set()
        for batch in _batches(this, options):
            # New ones for each batch: for who is asked that is another program, whose steps are other steps.
            images = (LoadedImage(replace(this.image, path=file), this.loaded.bias), replace(caller))
            truth = observe(batch.trace, natively=is_long(this))
            truth = replace(truth, trace=replace(batch.trace, images=images))
            sites = _sites(truth.trace, batch, seen)
            found = [
                _with(before, unwinder, truth, batch, sites) for unwinder, before in zip(asked, found, strict=True)
            ]
            progress(len(seen))
        if not seen:
            wanted = f" that matches {' or '.join(options.functions)}" if options.functions else " that can be called"
            raise NothingAskedFor(f"{path}: it has no function{wanted}")
        return tuple(found)


def _caller(this: FileAtWork, folder: Path) -> LoadedImage:
    """Who calls, as a file that an unwinder can open: code without any table."""
    harness, arch = this.caller.image.harness, this.image.arch
    (segment,) = harness.image.segments
    start = ElfSymbol("_start", TEXT_BASE, this.caller.image.calls.answer, is_function=True, is_global=True)
    path = folder / "caller"
    path.write_bytes(write_elf(arch, segment.data, {}, b"", [start], TEXT_BASE))
    return LoadedImage(read_image(path), segment.address + harness.bias - TEXT_BASE)


def _batches(this: FileAtWork, options: CheckOptions) -> Iterator[Batch]:
    """The paths through all functions that were asked for."""
    taken: list[TakenPath] = []
    for piece in this.pieces:
        if not piece.is_entry or not fits(piece, options.functions):
            continue
        plans = (*(plan for plan in this.plans if any(map(plan.fits, (str(piece), *piece.names)))), *PLANS)
        for path in this.explorer.explore(piece, plans, runs=options.runs, steps=options.steps)[1]:
            taken.append(path)
            if sum(len(each.tape) for each in taken) > BATCH:
                yield one_trace(this.caller.image, taken, this.caller.forget_asked(), options.seed)
                taken.clear()
    if taken:
        yield one_trace(this.caller.image, taken, this.caller.forget_asked(), options.seed)


def _sites(trace: Trace, batch: Batch, seen: set[int]) -> list[int]:
    """The steps of a batch to judge: at instructions of the file that were not ``seen`` before, and are now."""
    sites = []
    for steps in (np.flatnonzero(~batch.forced), np.flatnonzero(batch.forced)):
        for pc, first in zip(*(each.tolist() for each in np.unique(trace.pc[steps], return_index=True)), strict=True):
            if pc not in seen and trace.images[0].covers(pc):
                seen.add(pc)
                sites.append(int(steps[first]))
    return sorted(sites)


def _with(
    before: CalledVerdicts, unwinder: Unwinder, truth: Truth, batch: Batch, sites: Sequence[int]
) -> CalledVerdicts:
    """What was counted before, and the verdicts at some steps of a batch."""
    held_to = HeldTo.HONESTY if isinstance(unwinder.assumption, TableRow) else None
    answers = [unwinder.unwind(truth.trace.snapshot(step)) for step in sites]
    verdicts, lies = tuple(verdicts_at(truth, answers, unwinder, sites, held_to)), dict(before.lies)
    for step, said, verdict in zip(sites, answers, verdicts, strict=True):
        snapshot = truth.trace.snapshot(step)
        if not verdict.transition and (verdict.outcome.lying or verdict.outcome in _FAILURES):
            stacks = (_names(snapshot, truth.stack(step).pcs), _names(snapshot, [frame.pc for frame in said.frames]))
            where, images = describe(snapshot.images, snapshot.pc), snapshot.images
            function = where.rpartition("+")[0] or where
            if function in lies and not (lies[function].explained and verdict.unexplained):
                continue
            failed = None if verdict.unexplained else verdict.failed
            lies[function] = CalledLie(
                snapshot.pc - images[0].bias,
                where,
                verdict.outcome.value,
                *stacks,
                verdict.difference,
                because(failed, images, truth, step) if failed else "",
                bool(batch.forced[step]),
            )
    return CalledVerdicts(**vars(before + counted(verdicts, wholes=True)), unwinder=before.unwinder, lies=lies)


def _names(snapshot: Snapshot, pcs: Sequence[int]) -> str:
    """A stack in words, innermost first."""
    return folded_names(describe(snapshot.images, pc, caller=k > 0) for k, pc in enumerate(pcs))
