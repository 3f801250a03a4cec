"""``testbed record``: one program's run as a file."""

from __future__ import annotations

from pathlib import Path

import click

from testbed.cli.corpus import corpus
from testbed.cli.long_runs import named_part, pieces_of
from testbed.cli.options import arch_option, budget_option, rebuild_option, recipe_option, seed_option
from testbed.cli.progress import long_work
from testbed.cli.terminal import status
from testbed.runs.files import save_pieces, save_run
from testbed.runs.run import Run
from testbed.trace import Exited
from testbed.trace.chunk import LEAST
from testbed.words.errors import EmulationError


@click.command("record")
@click.argument("program")
@click.option(
    "--output", "-o", "path", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file."
)
@arch_option
@recipe_option
@seed_option
@budget_option
@click.option(
    "--chunk",
    type=click.IntRange(LEAST),
    help="Record in pieces of this many steps, however short the run (default: only more than 2 million steps).",
)
@rebuild_option
def command(
    program: str,
    path: Path,
    arch: str | None,
    recipe: str | None,
    seed: int,
    budget: int,
    chunk: int | None,
    fresh: bool,
) -> None:
    """Run PROGRAM and write all that was recorded to one file, for `testbed run --trace`.

    PROGRAM is what `testbed run` takes. The file holds every register before every instruction, every memory write,
    the program file itself and how it ended; it needs nothing else. A long run is written while it goes on, and never
    held at once.
    """
    with status(f"building and running {program}"):
        found = named_part(corpus(names=[program]), program, arch, recipe, seed, budget, fresh, chunk=chunk)
    if isinstance(found, Run):
        steps, end, said = len(found), found.trace.end, str(found)
        save_run(found, path)
    else:
        with long_work(f"recording {found.program.name}", "steps") as work:
            steps, last = save_pieces(found, pieces_of(found, seed, budget, chunk, 1)(None), path, work.at)
        end = last.end
        ending = f"exit {end.status}" if isinstance(end, Exited) else "did not reach its exit"
        said = f"{found.program.name} · {found.arch} · {found.recipe.name}: {steps} steps in pieces, {ending}"
    size = path.stat().st_size
    click.echo(said)
    click.echo(f"{path}: {size:,} bytes, {size / max(1, steps):.1f} per step")
    if isinstance(end, EmulationError):
        click.echo(f"the run ended early: {end}", err=True)
