"""Runs that are too long to hold, on the command line: a progress bar while they are watched and judged in pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from testbed.build import Built
from testbed.cli.progress import long_work
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.runs.by_name import named_built
from testbed.runs.program_file import NOTHING_SAID, FileFacts
from testbed.runs.run import Run, run_built
from testbed.trace import Exited
from testbed.trace.chunk import HELD, HELD_BY_THREADS, Chunks
from testbed.words.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from testbed.campaign.results import Cell
    from testbed.runs.long import LongRun

WHOLE = 2_000_000  # steps that are held at once, some 200 to 400 bytes each; a longer run is looked at in pieces


def named_part(
    programs: Mapping[str, Program],
    program: str,
    arch: str | None,
    recipe: str | None,
    seed: int,
    budget: int,
    fresh: bool,
    facts: FileFacts = NOTHING_SAID,
    *,
    chunk: int | None = None,
) -> Run | Built:
    """What was named, run and watched; or only built where it is to be run in pieces.

    That is where ``chunk`` asks for them, or the run is not over after WHOLE steps: which is found out piece by piece,
    so that a long run is never held. A run in which signals arrive is never cut, see `testbed.machine.recording`:
    raises UsageError for a ``chunk`` of one.
    """
    built = named_built(programs, program, arch, recipe, fresh=fresh, facts=facts)
    signals = built.source.header.signals
    if chunk and signals:
        raise UsageError(f"{built.program.name}: signals arrive in it, so it is not run in pieces: leave out --chunk")
    if chunk or (budget > WHOLE and not signals and not _is_over(built, seed)):
        return built
    return run_built(built, seed=seed, budget=budget)


def _is_over(built: Built, seed: int) -> bool:
    """True for a run that ends within WHOLE steps."""
    from testbed.machine.chunks import chunks_of

    steps, end = 0, None
    for piece in chunks_of(built.image, seed=seed, budget=WHOLE, cpu=built.cpu)(None):
        steps, end = steps + len(piece), piece.end
    return steps < WHOLE or isinstance(end, Exited)


def pieces_of(built: Built, seed: int, budget: int, chunk: int | None, jobs: int) -> Chunks:
    """A built program's run in pieces, for so many threads."""
    from testbed.machine.chunks import chunks_of

    held = HELD if jobs == 1 else HELD_BY_THREADS
    return chunks_of(built.image, seed=seed, budget=budget, chunk=chunk, cpu=built.cpu, held=held)


def watched(
    built: Built, chunks: Chunks, total: int | None = None, judging: Sequence[Unwinder] = (), jobs: int = 1
) -> LongRun:
    """Watch a run in pieces for the first time; strategies are judged on the way, by threads if ``jobs`` is 2."""
    from testbed.runs.long import watch_chunks

    with long_work(f"running {built.program.name}", "steps", total) as work:
        return watch_chunks(built, chunks, work.at, judging, jobs)


def judged(run: LongRun, unwinders: Sequence[Unwinder]) -> list[Cell]:
    """Judge strategies at every step."""
    from testbed.campaign.cells import cell_of_long
    from testbed.runs.long import judge_long

    with long_work(f"judging {run.built.program.name}", "steps", len(run)) as work:
        found = judge_long(run, unwinders, progress=work.at)
    return [cell_of_long(run, unwinder, counts) for unwinder, counts in zip(unwinders, found, strict=True)]


def for_long_runs(unwinders: Sequence[Unwinder], *, named: bool) -> list[Unwinder]:
    """Those that are soon judged; the others only where they were asked for by name."""
    if named:
        return list(unwinders)
    slow = [unwinder.name for unwinder in unwinders if not unwinder.soon_judged]
    if slow:
        click.echo(f"left out, for it takes long to judge them (-u NAME asks for one): {', '.join(slow)}", err=True)
    return [unwinder for unwinder in unwinders if unwinder.soon_judged]


def long_page(run: LongRun, cells: Sequence[Cell], *, explain: bool) -> RenderableType:
    """What there is to say about a long run."""
    from testbed.report.phrases import count
    from testbed.report.run_text import summary_page

    note = f"{run.built.program.summary}\nlooked at in {count(run.known.windows, 'piece')}; --at @N shows one step"
    return summary_page(str(run), note, cells, explain=explain)
