"""``testbed export``: the machine at one step, as a file that other tools read."""

from __future__ import annotations

import re
from pathlib import Path

import click

from testbed.cli.corpus import corpus
from testbed.cli.options import arch_option, at_option, budget_option, recipe_option, seed_option
from testbed.export.write import FORMATS, write_snapshot
from testbed.runs.by_name import named_run


@click.command("export")
@click.argument("program")
@at_option
@click.option(
    "--format", "-f", "name", type=click.Choice(list(FORMATS)), default="core", show_default=True, help="Of the file."
)
@click.option("--output", "-o", "path", type=click.Path(dir_okay=False, path_type=Path), help="The file's name.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@arch_option
@recipe_option
@seed_option
@budget_option
def command(
    program: str,
    location: str,
    name: str,
    path: Path | None,
    force: bool,
    arch: str | None,
    recipe: str | None,
    seed: int,
    budget: int,
) -> None:
    """PROGRAM's registers and memory at LOCATION as a core file, a minidump, or JSON.

    Any debugger that knows the architecture opens it together with the program's file, which is named in it, with its
    address. `testbed unwind` reads all of these formats again: with --sysroot /, the file where it lies.
    """
    run = named_run(corpus(names=[program]), program, arch, recipe, seed=seed, budget=budget, fresh=False)
    step = run.step_at(location)
    how = FORMATS[name]
    if path is None:
        place = re.sub(r"[^\w.+-]", "_", location.replace("#", "-"))
        path = Path(f"{run.program.name}.{run.arch}.{run.built.recipe.name}.{place}{how.suffix}")
    size = write_snapshot(run[step], path, how, force=force)
    click.echo(f"{path}: {size:,} bytes, {run[step]}")
    click.echo(f"its program file: {run.built.image.path}")
