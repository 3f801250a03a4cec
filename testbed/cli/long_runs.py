"""Runs that are too long to hold, on the command line: a progress bar while they are watched and judged in pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from testbed.build import Built
from testbed.cli.progress import long_work
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.runs.by_name import named_run
from testbed.runs.program_file import NOTHING_SAID, FileFacts
from testbed.runs.run import Run
from testbed.trace.chunk import HELD, HELD_BY_THREADS, Chunks
from testbed.words.errors import EmulationError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from testbed.campaign.results import Cell
    from testbed.runs.long import LongRun

WHOLE = 2_000_000  # steps that are held at once, some 200 to 400 bytes each; a longer run is looked at in pieces


def is_long(run: Run, budget: int) -> bool:
    """True where a run that was stopped after WHOLE steps is to go on: in pieces, since more are not held at once.

    A run in which signals arrive is never cut: see `testbed.machine.python_hooks`.
    """
    return budget > WHOLE == len(run) and isinstance(run.trace.end, EmulationError)


def first_part(
    programs: Mapping[str, Program],
    program: str,
    arch: str | None,
    recipe: str | None,
    seed: int,
    budget: int,
    fresh: bool,
    facts: FileFacts = NOTHING_SAID,
) -> Run:
    """What was named, run for up to WHOLE steps, or to its end where signals arrive."""
    run = named_run(programs, program, arch, recipe, seed=seed, budget=min(budget, WHOLE), fresh=fresh, facts=facts)
    if run.built.source.header.signals and is_long(run, budget):
        return named_run(programs, program, arch, recipe, seed=seed, budget=budget, fresh=False)
    return run


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
        tallies = judge_long(run, unwinders, progress=work.at)
    return [cell_of_long(run, unwinder, counted) for unwinder, counted in zip(unwinders, tallies, strict=True)]


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
    from testbed.report.run_text import summary_page

    note = f"{run.built.program.summary}\nlooked at in {run.known.windows} pieces; --at @N shows one step"
    return summary_page(str(run), note, cells, explain=explain)
