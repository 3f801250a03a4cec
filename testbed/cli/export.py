"""``testbed export``: the machine at one step as a file that other tools read, or test vectors of many."""

from __future__ import annotations

import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import click

from programs import PROGRAMS
from testbed.arch import ARCHES, arch_named
from testbed.campaign.cells import Unit, run_unit
from testbed.campaign.matrix import DIED, judge_units, native_for
from testbed.cli.options import (
    FILE,
    NamedRun,
    arches_option,
    at_option,
    budget_option,
    jobs_option,
    recipes_option,
    refuse_others,
    seed_option,
    some_programs_option,
)
from testbed.cli.terminal import long_work
from testbed.export.write import FORMATS, write_snapshot
from testbed.program.model import Program
from testbed.vectors.collect import chosen_units, collect, with_generated
from testbed.vectors.write import new_folder, write_file, write_index
from testbed.words.catalogue import matches, matching
from testbed.words.errors import TestbedError, ToolchainMissing, UsageError
from unwinders import UNWINDERS

VectorJob = tuple[Unit, Path, bool | None]
WrittenUnit = tuple[Unit, dict[str, Any] | None, str, str]
"""What became of a unit: its entry in the index, or what is missing to build it, or what failed."""


@click.command("export")
@click.argument("program", required=False)
@at_option
@click.option(
    "--format", "-f", "name", type=click.Choice(list(FORMATS)), default="core", show_default=True, help="Of the file."
)
@click.option("--output", "-o", "path", type=FILE, help="The file's name.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option(
    "--vectors",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write test vectors to DIR, of all programs or of those of -p.",
)
@arches_option
@some_programs_option
@recipes_option
@jobs_option
@seed_option
@budget_option
def command(
    program: str | None,
    location: str | None,
    name: str,
    path: Path | None,
    force: bool,
    folder: Path | None,
    arches: tuple[str, ...],
    programs: tuple[str, ...],
    recipes: tuple[str, ...],
    jobs: int,
    seed: int,
    budget: int,
) -> None:
    """PROGRAM's registers and memory at LOCATION as a file for other tools, or test vectors of many programs.

    The file is a core file, a minidump, or JSON. Any debugger that knows the architecture opens it together with the
    program's file, which is named in it, with its address. `testbed backtrace` reads all of these formats again: with
    --sysroot /, the file where it lies.

    Test vectors are machines stopped at an instruction, with their true call stacks, as JSON. An unwinder in any
    language is tested with them, in its own CI, without testbed: DIR/README.md says how, and has a checker in Python
    and one in C. Every program is there on every architecture, by a few recipes, with all sites that differ; without
    --arch, --program and --recipe it takes some minutes.
    """
    if folder is not None:
        refuse_others("--vectors", "folder", "arches", "programs", "recipes", "jobs")
        if program is not None:
            raise UsageError("--vectors is of many programs: choose some by -p")
        _write_vectors(folder, arches, programs, recipes, jobs)
        return
    if program is None or location is None:
        raise UsageError("export what? PROGRAM --at LOCATION, or --vectors DIR")
    if len(arches) > 1 or len(recipes) > 1 or programs:
        raise UsageError("one snapshot is of one --arch and one --recipe; several are for --vectors, as is --program")
    arch, recipe = next(iter(arches), None), next(iter(recipes), None)
    run = NamedRun(program=program, arch=arch, recipe=recipe, seed=seed, budget=budget).run()
    step = run.step_at(location)
    how = FORMATS[name]
    if path is None:
        place = re.sub(r"[^\w.+-]", "_", location.replace("#", "-"))
        path = Path(f"{run.program.name}.{run.arch}.{run.built.recipe.name}.{place}{how.suffix}")
    size = write_snapshot(run[step], path, how, force=force)
    click.echo(f"{path}: {size:,} bytes, {run[step]}")
    click.echo(f"its program file: {run.built.image.path}")


def _write_vectors(
    folder: Path, arches: tuple[str, ...], programs: tuple[str, ...], recipes: tuple[str, ...], jobs: int
) -> None:
    """Write the test vectors of all units that were chosen. Raises UsageError where there is none."""
    chosen = [arch_named(name) for name in arches] or list(ARCHES.values())
    known = _programs()
    matching(known, programs, "program")  # says what is misspelled
    planned = [
        unit
        for unit in chosen_units(known, chosen)
        if matches(unit.program, programs) and matches(unit.recipe, recipes)
    ]
    if not planned:
        raise UsageError("no unit of the test vectors has all of these (testbed list programs, recipes)")
    new_folder(folder)
    natively = native_for(len(planned), jobs)
    entries, missing, failed = _write_all([(unit, folder, natively) for unit in planned], jobs)
    if not entries:
        raise UsageError("no vectors: " + "; ".join((*missing, *failed.values())))
    write_index(entries, chosen, UNWINDERS.values(), folder)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    count = sum(entry["vectors"] for entry in entries)
    click.echo(f"{folder}: {count:,} vectors of {len(entries)} program files, {size / 1e6:.1f} MB")
    click.echo(f"how to use them: {folder / 'README.md'}")
    for why, units in missing.items():
        click.echo(f"{units} program files are left out: {why}", err=True)
    if failed:
        click.echo("\n".join(f"{unit} failed, and is left out: {why}" for unit, why in failed.items()), err=True)
        sys.exit(1)


@cache
def _programs() -> dict[str, Program]:
    return with_generated(PROGRAMS)


def _work(job: VectorJob) -> WrittenUnit:
    """One unit in a worker process."""
    unit, folder, natively = job
    try:
        file = collect(unit.program, run_unit(unit, _programs()), list(UNWINDERS.values()), natively=natively)
    except ToolchainMissing as missing:
        return unit, None, str(missing), ""
    except TestbedError as failed:
        return unit, None, "", str(failed)
    return unit, write_file(file, folder), "", ""


def _write_all(work: list[VectorJob], jobs: int) -> tuple[list[dict[str, Any]], Counter[str], dict[Unit, str]]:
    """The entries of the index in the order of the units, how many units lack which tool, and which failed, and why."""
    found: dict[Unit, dict[str, Any]] = {}
    missing: Counter[str] = Counter()
    failed: dict[Unit, str] = {}
    with long_work("writing vectors", "program files", len(work)) as progress:
        try:
            for unit, entry, lacking, failure in judge_units(
                work, _work, jobs=min(jobs, len(work)), died=lambda job: (job[0], None, "", DIED)
            ):
                if entry is not None:
                    found[unit] = entry
                elif lacking:
                    missing[lacking] += 1
                else:
                    failed[unit] = failure
                progress.advance(f"writing vectors: {unit}")
        except KeyboardInterrupt:
            click.echo("interrupted: the set has no index", err=True)
            sys.exit(130)
    return [found[unit] for unit, _, _ in work if unit in found], missing, failed
