"""``testbed rows``: what the unwind tables of a file say, as rows."""

from __future__ import annotations

from pathlib import Path

import click

from testbed.cli.corpus import corpus
from testbed.cli.options import arch_option, debug_dirs_option, recipe_option
from testbed.cli.terminal import console_for_reports
from testbed.image.separate_debug import DebugDirs
from testbed.runs.by_name import named_image, named_run
from testbed.words.catalogue import matching
from testbed.words.errors import TestbedError, UnwindError, UsageError
from unwinders import UNWINDERS


@click.command("rows")
@click.argument("program")
@arch_option
@recipe_option
@click.option(
    "--format", "-f", "names", multiple=True, metavar="GLOB", help="Only these unwinders' tables; repeatable."
)
@debug_dirs_option(
    help="For a program file: look for its separate debug file, there and beside it, as gdb's debug-file-directory.",
)
@click.option("--compare", is_flag=True, help="Several formats side by side: where they do not mean the same.")
def command(
    program: str,
    arch: str | None,
    recipe: str | None,
    names: tuple[str, ...],
    debug_dirs: tuple[Path, ...],
    compare: bool,
) -> None:
    """What the unwind tables of PROGRAM say at every pc, as rows.

    PROGRAM is a name from `testbed list programs`, or the path of a source or an ELF or Mach-O file; the rows are
    those that an unwinder applies, in the shape of `readelf --debug-dump=frames-interp`. With --compare, the program
    also runs, so that rules with other words can be compared by what they mean; exit status 1 says that some mean
    something else and that is not foretold.
    """
    from testbed.report.table_text import table_page

    if compare:
        if debug_dirs:
            raise UsageError("--compare runs the program file as it is: leave out --debug-dir")
        _compare(program, arch, recipe, names)
        return
    image = named_image(corpus(names=[program]), program, arch, recipe, DebugDirs(debug_dirs))
    tables = [u for u in matching(UNWINDERS, names, "unwinder") if u.rows is not None and u.applies_to(image)]
    if not tables:
        raise UsageError(f"{image} has no table that an unwinder reads; testbed list unwinders says what each needs")
    for unwinder in tables:
        assert unwinder.rows is not None
        try:
            table = unwinder.rows(image)
        except UnwindError as error:
            raise TestbedError(f"{image}: {unwinder.name}: {error}") from error
        console_for_reports().print(table_page(unwinder.name, image, table))


def _compare(program: str, arch: str | None, recipe: str | None, names: tuple[str, ...]) -> None:
    from testbed.report.table_text import comparison_page
    from testbed.tables.compare import compare_formats

    image, run, why_not = named_image(corpus(names=[program]), program, arch, recipe), None, ""
    try:
        run = named_run(corpus(names=[program]), program, arch, recipe, seed=1, budget=1_000_000, fresh=False)
        image, why_not = run.built.image, run.failure.partition("\n")[0]
    except TestbedError as error:
        why_not = str(error)
    chosen = [u for u in matching(UNWINDERS, names, "unwinder") if u.rows is not None and u.applies_to(image)]
    if not names:  # what is worked out from the code itself is no table of the file
        chosen = [unwinder for unwinder in chosen if unwinder.needs]
    if len(chosen) < 2:
        there = ", ".join(u.name for u in chosen) or "none"
        raise UsageError(f"{image} has too few tables to compare: {there}")
    try:
        comparison = compare_formats(image, chosen, None if why_not else run)
    except UnwindError as error:
        raise TestbedError(f"{image}: {error}") from error
    console_for_reports().print(comparison_page(comparison, why_not_run=why_not))
    if comparison.unexplained:
        raise click.exceptions.Exit(1)
