"""``testbed lint``: which rows of a program's unwind tables are wrong, and the directive that makes each right."""

from __future__ import annotations

import sys

import click

from programs import PROGRAMS
from testbed.cli.choice import matching
from testbed.cli.declared import disagrees
from testbed.cli.terminal import console_for_reports
from testbed.runs.by_name import named_run
from testbed.tables.lint import lint
from testbed.words.errors import TestbedError, UsageError
from unwinders import UNWINDERS


@click.command("lint")
@click.argument("program")
@click.option("--arch", "-a", metavar="ARCH", help="x86_64, arm64 or arm32 (default: the first it exists for).")
@click.option("--recipe", "-r", metavar="RECIPE", help="How to build it (default: the first; testbed list recipes).")
@click.option(
    "--format", "-f", "names", multiple=True, metavar="GLOB", help="Only these strategies' tables; repeatable."
)
@click.option("--seed", default=1, show_default=True, help="Of the values planted in registers before entry.")
@click.option("--budget", default=1_000_000, show_default=True, help="Give up after this many instructions.")
def command(program: str, arch: str | None, recipe: str | None, names: tuple[str, ...], seed: int, budget: int) -> None:
    """Say which rows of PROGRAM's call frame information are wrong at an instruction it executes, and the fix.

    PROGRAM is a name from `testbed list programs`, or the path of a source (NAME.c, NAME.ISA.S) or an ELF file.
    Exit status 1 where something is wrong, or where a source's header declares other frames than were watched.
    """
    run = named_run(PROGRAMS, program, arch, recipe, seed=seed, budget=budget, fresh=False)
    if run.failure:
        raise TestbedError(f"{run.program.name} on {run.arch} by {run.recipe.name} ran {len(run)} steps: {run.failure}")
    image = run.built.image
    tables = {}
    for unwinder in matching(UNWINDERS, names or LINTED, "strategy"):
        if unwinder.rows is not None and unwinder.applies_to(image):
            tables[unwinder.name] = unwinder.rows(image)
    if not tables:
        raise UsageError(f"{image} has no table that a strategy reads; testbed list unwinders says what each needs")
    console = console_for_reports()
    count = 0
    for name, table in tables.items():
        advice = lint(run, table)
        count += len(advice)
        for piece in advice:
            console.print(f"{name}: {piece.sentence}", soft_wrap=True)
        if not advice:
            console.print(f"{name}: every row is right at the {len(set(run.trace.pc.tolist()))} instructions executed")
    sys.exit(disagrees(run) or count > 0)


# The tables that claim to be right at every instruction; others say what holds at calls only.
LINTED = ("eh_frame", "debug_frame")
