"""``testbed record``: one program's run as a file."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from programs import PROGRAMS
from testbed.errors import EmulationError
from testbed.named import named_run
from testbed.saved import save_run


@click.command("record")
@click.argument("program")
@click.option(
    "--output", "-o", "path", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file."
)
@click.option("--arch", "-a", "arch", metavar="ARCH", help="x86_64, arm64 or arm32 (default: the first it exists for).")
@click.option("--recipe", "-r", metavar="RECIPE", help="How to build it (default: the first; testbed list recipes).")
@click.option("--seed", default=1, show_default=True, help="Of the values planted in registers before entry.")
@click.option("--budget", default=1_000_000, show_default=True, help="Give up after this many instructions.")
@click.option("--fresh", is_flag=True, help="Build again, whatever the cache holds.")
def command(
    program: str, path: Path, arch: str | None, recipe: str | None, seed: int, budget: int, fresh: bool
) -> None:
    """Run PROGRAM and write all that was recorded to one file, for `testbed run --trace`.

    PROGRAM is what `testbed run` takes. The file holds every register before every instruction, every memory write,
    the program file itself and how it ended; it needs nothing else.
    """
    with Console(stderr=True).status(f"building and running {program}"):
        run = named_run(PROGRAMS, program, arch, recipe, seed=seed, budget=budget, fresh=fresh)
        save_run(run, path)
    size = path.stat().st_size
    click.echo(f"{run}")
    click.echo(f"{path}: {size:,} bytes, {size / max(1, len(run)):.1f} per step")
    if isinstance(run.trace.end, EmulationError):
        click.echo(f"the run ended early: {run.trace.end}", err=True)
