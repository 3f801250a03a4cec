"""The command line: the one place where programs, unwinders and the engine meet.

Exit status: 0 everything explained; 1 something unexplained, or a unit failed; 2 usage, a missing toolchain, or
a program that cannot be built, read or run; 130 interrupted.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from programs import PROGRAMS
from testbed.arch import ARCHES, arch_named
from testbed.catalogue import nearest
from testbed.errors import TestbedError, UsageError
from testbed.matrix import Matrix, Unit, UnitResult, cell_of, judge_units, units
from testbed.named import named_image, named_run
from testbed.program import matches
from testbed.results import judge_and_keep, kept_result
from testbed.run import Run, judge_all
from testbed.unwinder import Unwinder
from unwinders import UNWINDERS

T = TypeVar("T")
WIDTH = 100  # the reports are laid out for 100 columns, also where there is no terminal


def _console(**options: Any) -> Console:
    console = Console(highlight=False, markup=False, **options)
    if not console.is_terminal:
        console.width = WIDTH
    return console


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH})
@click.version_option(package_name="testbed")
def cli() -> None:
    """The referee of stack unwinders.

    Small programs for x86_64, arm64 and arm32 run in an emulator. At every instruction, every unwinding strategy
    is asked for the call stack, and judged against the stack that the emulator watched.

    \b
    testbed run leaf_call --arch arm64      one program, instruction by instruction
    testbed matrix                          everything, as a table
    testbed list programs                   what there is
    """


@cli.command("run")
@click.argument("program")
@click.option("--arch", "-a", "arch", metavar="ARCH", help="x86_64, arm64 or arm32 (default: the first it exists for).")
@click.option("--recipe", "-r", metavar="RECIPE", help="How to build it (default: the first; testbed list recipes).")
@click.option("--unwinder", "-u", "names", multiple=True, metavar="GLOB", help="Only these strategies; repeatable.")
@click.option("--at", "location", metavar="LOCATION", help="One site in detail: symbol, symbol+0x4, symbol+0x4#2, @17.")
@click.option("--differences", is_flag=True, help="Only the steps at which some strategy is not exact.")
@click.option("--seed", default=1, show_default=True, help="Of the values planted in registers before entry.")
@click.option("--budget", default=1_000_000, show_default=True, help="Give up after this many instructions.")
@click.option("--fresh", is_flag=True, help="Build again, whatever the cache holds.")
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON (schema: testbed/report/schema/run.json).")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Also write the page to this file.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Also write a picture to this file.")
def run_command(
    program: str,
    arch: str | None,
    recipe: str | None,
    names: tuple[str, ...],
    location: str | None,
    differences: bool,
    seed: int,
    budget: int,
    fresh: bool,
    as_json: bool,
    html: Path | None,
    svg: Path | None,
) -> None:
    """Run PROGRAM and judge every strategy at every instruction.

    PROGRAM is a name from `testbed list programs`, or the path of a source (NAME.c, NAME.ISA.S) or an ELF file.
    """
    chosen = _matching(UNWINDERS, names, "strategy")
    with Console(stderr=True).status(f"building and running {program}"):
        run = named_run(PROGRAMS, program, arch, recipe, seed=seed, budget=budget, fresh=fresh)
    failure = run.failure
    if failure and location is None:
        raise TestbedError(
            f"{run.program.name} on {run.arch} by {run.recipe.name} ran {len(run)} steps, then: {failure}"
        )
    applicable = [unwinder for unwinder in chosen if unwinder.applies_to(run.built.image)]
    if names:  # asked for by name: say why it is missing
        _say_left_out(run, [unwinder for unwinder in chosen if unwinder not in applicable])
    if location is not None:
        from testbed.report.site_text import print_site

        print_site(_console(), run, run.step_at(location), applicable)
        return
    judged = [
        (cell_of(run, unwinder, verdicts), verdicts)
        for unwinder in applicable
        for verdicts in [judge_all(run, unwinder)]
    ]
    if as_json:
        from testbed.report.data import run_data

        json.dump(run_data(run, judged), sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        from testbed.report.run_text import run_page

        console = _console(record=bool(html or svg))
        console.print(run_page(run, judged, only_differences=differences))
        _save(console, f"testbed run {program}", html, svg)
    if any(cell.unexplained for cell, _ in judged) or not judged:
        sys.exit(1)


@cli.command("matrix")
@click.option("--arch", "-a", "arches", multiple=True, metavar="ARCH", help="Only these architectures; repeatable.")
@click.option("--program", "-p", "programs", multiple=True, metavar="GLOB", help="Only these programs; repeatable.")
@click.option("--recipe", "-r", "recipes", multiple=True, metavar="GLOB", help="Only these recipes; repeatable.")
@click.option("--unwinder", "-u", "names", multiple=True, metavar="GLOB", help="Only these strategies; repeatable.")
@click.option(
    "--jobs", "-j", type=click.IntRange(1), default=os.cpu_count() or 1, help="Processes (default: one a core)."
)
@click.option("--fresh", is_flag=True, help="Build and judge everything again, also what has not changed.")
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write every cell as JSON.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a self-contained page.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write JUnit XML, a test case per cell.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Write a picture of the table.")
def matrix_command(
    arches: tuple[str, ...],
    programs: tuple[str, ...],
    recipes: tuple[str, ...],
    names: tuple[str, ...],
    jobs: int,
    fresh: bool,
    json_file: Path | None,
    html: Path | None,
    junit: Path | None,
    svg: Path | None,
) -> None:
    """Judge every strategy on every program, architecture and recipe (or on those chosen).

    What has not changed since the last time (sources, strategies, the testbed, libraries) is not judged again.
    """
    from testbed.build.recipes import RECIPES

    wanted = [arch_named(name) for name in arches] or list(ARCHES.values())
    planned = units(_matching(PROGRAMS, programs, "program"), wanted, _matching(RECIPES, recipes, "recipe"))
    if not planned:
        raise UsageError("no program is built that way: no unit has all of these (testbed list programs, recipes)")
    chosen = tuple(unwinder.name for unwinder in _matching(UNWINDERS, names, "strategy"))
    matrix, interrupted = _judge_all(planned, chosen, jobs, fresh)
    from testbed.report.matrix_text import matrix_page

    console = _console(record=bool(svg))
    console.print(matrix_page(matrix))
    if json_file:
        from testbed.report.data import matrix_data

        json_file.write_text(json.dumps(matrix_data(matrix), indent=1) + "\n", encoding="utf-8")
    if html:
        from testbed.report.html import write_matrix_html

        write_matrix_html(matrix, html)
    if junit:
        from testbed.report.junit import write_matrix_junit

        write_matrix_junit(matrix, junit)
    _save(console, "testbed matrix", None, svg)
    if interrupted:
        sys.exit(130)
    if not matrix.all_explained:
        sys.exit(1)


def _work(job: tuple[Unit, tuple[str, ...], bool]) -> UnitResult:
    """One unit in a worker process: names go in, a value comes out."""
    unit, names, fresh = job
    return judge_and_keep(unit, PROGRAMS, [UNWINDERS[name] for name in names], fresh=fresh)


@cli.command("table")
@click.argument("program")
@click.option("--arch", "-a", metavar="ARCH", help="For a program or source: the architecture.")
@click.option("--recipe", "-r", metavar="RECIPE", help="For a program or source: how to build it.")
@click.option(
    "--format", "-f", "names", multiple=True, metavar="GLOB", help="Only these strategies' tables; repeatable."
)
def table_command(program: str, arch: str | None, recipe: str | None, names: tuple[str, ...]) -> None:
    """What the unwind tables of PROGRAM say at every pc, as rows.

    PROGRAM is a name from `testbed list programs`, or the path of a source or an ELF file; the rows are those that a
    strategy applies, in the shape of `readelf --debug-dump=frames-interp`.
    """
    from testbed.report.table_text import table_page

    image = named_image(PROGRAMS, program, arch, recipe)
    tables = [u for u in _matching(UNWINDERS, names, "strategy") if u.rows is not None and u.applies_to(image)]
    if not tables:
        raise UsageError(f"{image} has no table that a strategy reads; testbed list unwinders says what each needs")
    for unwinder in tables:
        assert unwinder.rows is not None
        _console().print(table_page(unwinder.name, image, unwinder.rows(image)))


@cli.command("list")
@click.argument("what", type=click.Choice(["programs", "unwinders", "recipes", "arches"]))
def list_command(what: str) -> None:
    """What the catalogues hold."""
    from testbed.report.catalogue_text import print_catalogue

    print_catalogue(_console(), what, programs=PROGRAMS, unwinders=UNWINDERS)


@cli.command("cache")
@click.option("--clear", is_flag=True, help="Remove every built file and every kept result.")
def cache_command(clear: bool) -> None:
    """Where built files and results are kept, and how much there is."""
    from testbed import results
    from testbed.build import cache

    if clear:
        click.echo(f"removed {cache.clear()} files and {results.clear()} results from {cache.folder()}")
    else:
        (files, size), (kept, more) = cache.usage(), results.usage()
        held = f"{files} files, {size / 1e6:.1f} MB; {kept} results, {more / 1e6:.1f} MB"
        click.echo(f"{cache.folder()}: {held} (--clear removes them)")


def _matching(catalogue: Mapping[str, T], patterns: Iterable[str], noun: str) -> list[T]:
    for pattern in patterns:
        if not any(matches(name, [pattern]) for name in catalogue):
            raise UsageError(f"no {noun} matches {pattern!r}; {nearest(pattern, catalogue)}")
    return [value for name, value in catalogue.items() if matches(name, patterns)]


def _judge_all(planned: Sequence[Unit], chosen: tuple[str, ...], jobs: int, fresh: bool) -> tuple[Matrix, bool]:
    """Judge all units with a progress bar, those with a kept result first; an interrupt keeps what is done."""
    unwinders = [UNWINDERS[name] for name in chosen]
    results: dict[Unit, UnitResult] = {}
    interrupted = False
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("judging", total=len(planned))
        try:
            for unit in planned:
                if not fresh and (kept := kept_result(unit, PROGRAMS, unwinders)):
                    results[unit] = kept
                    progress.update(task, advance=1)
            left = [(unit, chosen, fresh) for unit in planned if unit not in results]
            for result in judge_units(left, _work, jobs=min(jobs, len(left))):
                results[result.unit] = result
                progress.update(task, advance=1, description=f"judging {result.unit}")
        except KeyboardInterrupt:
            interrupted = True
    return Matrix(tuple(results[unit] for unit in planned if unit in results), len(planned)), interrupted


def _say_left_out(run: Run, left_out: Sequence[Unwinder]) -> None:
    for unwinder in left_out:
        missing = ", ".join(sorted(unwinder.needs - run.built.image.sections.keys()))
        reason = f"this file has no {missing}" if missing else f"it does not exist for {run.arch}"
        click.echo(f"{unwinder.name} left out: {reason}", err=True)


def _save(console: Console, title: str, html: Path | None, svg: Path | None) -> None:
    if html:
        console.save_html(str(html), clear=False)
    if svg:
        # rich's frame names web fonts; a picture of ours needs no network.
        frame = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.S)
        console.save_svg(str(svg), title=title, clear=False, code_format=frame)


def main() -> None:
    """Entry point: every expected failure is one message on standard error."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except TestbedError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:  # `testbed run ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


if __name__ == "__main__":
    main()
