"""``testbed backtrace``: the call stack at one place, in the dialect of a known tool."""

from __future__ import annotations

import click

from testbed.campaign.names import true_frames
from testbed.cli.corpus import corpus
from testbed.cli.options import arch_option, at_option, budget_option, recipe_option, seed_option
from testbed.cli.strategies import strategy_named
from testbed.contract.frames import Backtrace
from testbed.naming.symbolize import symbolize
from testbed.report.styles import STYLES, shown
from testbed.runs.by_name import named_run


@click.command("backtrace")
@click.argument("program")
@at_option
@arch_option
@recipe_option
@click.option(
    "--unwinder", "-u", "name", metavar="NAME", help="Who finds the frames (default: they are the true ones)."
)
@click.option("--style", "-s", type=click.Choice(list(STYLES)), default="gdb", show_default=True, help="How to print.")
@seed_option
@budget_option
def command(
    program: str,
    location: str,
    arch: str | None,
    recipe: str | None,
    name: str | None,
    style: str,
    seed: int,
    budget: int,
) -> None:
    """The call stack of PROGRAM at LOCATION: inlined calls, tail calls where they are certain, files and lines.

    PROGRAM is a name from `testbed list programs`, or the path of a source (NAME.c, NAME.ISA.S) or an ELF file.
    """
    unwinder = strategy_named(name) if name is not None else None
    run = named_run(corpus(names=[program]), program, arch, recipe, seed=seed, budget=budget, fresh=False)
    step = run.step_at(location)
    snapshot = run[step]
    said = Backtrace(true_frames(run, step), None) if unwinder is None else unwinder.unwind(snapshot)
    for line in STYLES[style](shown(snapshot, said, symbolize(snapshot.images, said), run.program.name)):
        click.echo(line)
