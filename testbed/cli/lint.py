"""``testbed lint``: which rows of a program's unwind tables are wrong, and the directive that makes each right."""

from __future__ import annotations

import sys
from functools import partial

import click

from testbed.checks.watched_run import TableReader, lint
from testbed.cli.corpus import corpus
from testbed.cli.options import arch_option, budget_option, recipe_option, seed_option
from testbed.cli.table_readers import evaluate_rule
from testbed.cli.terminal import console_for_reports, disagrees
from testbed.image import Image
from testbed.report.check_json import LintForm, json_text
from testbed.report.check_text import table_lines
from testbed.runs.by_name import named_run
from testbed.store.codec import encoded
from testbed.words.catalogue import matching
from testbed.words.errors import UsageError
from testbed.words.table_formats import AT_CALLS, CHECKED, OF_DIRECTIVES
from unwinders import UNWINDERS


@click.command("lint")
@click.argument("program")
@arch_option
@recipe_option
@click.option(
    "--format", "-f", "names", multiple=True, metavar="GLOB", help="Only these strategies' tables; repeatable."
)
@seed_option
@budget_option
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON (schema: testbed/report/schema/lint.json).")
def command(
    program: str, arch: str | None, recipe: str | None, names: tuple[str, ...], seed: int, budget: int, as_json: bool
) -> None:
    """Say which rows of PROGRAM's unwind tables are wrong at an instruction it executes, and the fix.

    PROGRAM is a name from `testbed list programs`, or the path of a source (NAME.c, NAME.ISA.S) or an ELF file.
    Code without a row is said, too. A run that stopped early is looked at as far as it went.
    Exit status 1 where something is wrong, or where a source's header declares other frames than were watched in the
    whole run; 2 where nothing is wrong as far as the run went, and it stopped early.
    """
    run = named_run(corpus(names=[program]), program, arch, recipe, seed=seed, budget=budget, fresh=False)
    readers = table_readers(run.built.image, names)
    if run.failure:
        click.echo(
            f"{run.program.name} on {run.arch} by {run.recipe.name}: only the {len(run):,} steps before its end are "
            f"looked at: {run.failure}",
            err=True,
        )
    said = [lint(run, reader, evaluate_rule) for reader in readers]
    differs = not run.failure and disagrees(run)  # of a run that was cut nobody knows what it would have executed
    status = 1 if differs or any(table.fails for table in said) else 2 if run.failure else 0
    if as_json:
        click.echo(json_text(encoded(LintForm, {"run": run, "tables": said, "status": status})), nl=False)
    else:
        console = console_for_reports()
        for table in said:
            for line in table_lines(table):
                console.print(line, soft_wrap=True)
    sys.exit(status)


def table_readers(image: Image, names: tuple[str, ...]) -> list[TableReader]:
    """The tables of an image that strategies of these names read. Raises UsageError where there is none."""
    readers = []
    for unwinder in matching(UNWINDERS, names or CHECKED, "strategy"):
        if unwinder.rows is not None and unwinder.applies_to(image):
            read = partial(unwinder.rows, image)
            readers.append(TableReader(unwinder.name, read, unwinder.name in AT_CALLS, unwinder.name in OF_DIRECTIVES))
    if not readers:
        raise UsageError(f"{image} has no table that a strategy reads; testbed list unwinders says what each needs")
    return readers
