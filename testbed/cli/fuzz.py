"""``testbed fuzz``: generated programs, judged; what nothing explains is shrunk to the smallest program with it."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

import click

from testbed.arch import ARCHES, arch_named
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Unit
from testbed.campaign.fuzz import DEFAULT_RECIPES, FuzzFinding, cases, failures, judge_case, shrunk
from testbed.campaign.matrix import judge_units, native_for, unit_died
from testbed.campaign.random_flags import RECIPES_FOR_FLAGS, flagged_cases
from testbed.cli.options import (
    FILE,
    arches_option,
    jobs_option,
    json_option,
    recipes_option,
    refuse_others,
    unwinder_cmd,
    unwinders_option,
    write_text,
)
from testbed.cli.terminal import console_for_reports, long_work
from testbed.cli.unwinders import unwinders_named, words_for
from testbed.contract.unwinder import Unwinder
from testbed.generate.program import shape_named, source_of
from testbed.generate.seeds import parts_of
from testbed.native.machine_code import CODE, VARIABLE
from testbed.words.catalogue import matching
from testbed.words.errors import UsageError
from testbed.words.files import WorkFolder

_NOT_BUILT = "no generated program is built that way (testbed list recipes)"
_BATCH = 32  # seeds between two looks at the clock that may end the run


@dataclass
class _Report:
    """What a run of this command found."""

    units: int = 0
    skipped: int = 0
    sites: int = 0
    last_seed: int = -1
    findings: list[FuzzFinding] = field(default_factory=list)
    mistakes: Counter[str] = field(default_factory=Counter)  # units, by the program that shows a compiler's mistake


@click.command("fuzz")
@click.option("--seeds", "-n", type=click.IntRange(1), help="How many seeds (default: 20).")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), help="As many seeds as fit into this time.")
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="The first seed.")
@arches_option
@recipes_option
@click.option(
    "--flags",
    type=click.Choice(["random"]),
    help="Only programs in C, each by one recipe of clang or GCC, with random flags that follow from the seed.",
)
@unwinders_option
@unwinder_cmd
@jobs_option
@click.option(
    "--write",
    "shape",
    metavar="SEED|DIRECTOR",
    help="Only write the source of one program: of a seed, or of a call shape that is spelled out.",
)
@click.option("--output", "-o", type=FILE, help="With --write: into this file, NAME.c or NAME.ISA.S.")
@click.option(
    "--save",
    type=FILE,
    default=Path("fuzz-findings.txt"),
    show_default=True,
    help="Where the commands that show what was found are written.",
)
@click.option(
    "--cross-check",
    is_flag=True,
    help="Instead of unwinders, compare two witnesses of the call stack (testbed run --help).",
)
@json_option
def command(
    seeds: int | None,
    minutes: float | None,
    first: int,
    arches: tuple[str, ...],
    recipes: tuple[str, ...],
    flags: str | None,
    names: tuple[str, ...],
    commands: tuple[str, ...],
    jobs: int,
    shape: str | None,
    output: Path | None,
    save: Path,
    cross_check: bool,
    as_json: bool,
) -> None:
    """Generate programs from seeds, judge every unwinder at every instruction, shrink what nothing explains.

    Each seed is a program in assembly and in C; with --flags random it is one in C, and the command that shows a
    finding names the flags (testbed run genc:12,-fno-plt). A nightly run takes other seeds each time: --minutes 30
    --first 20261121000. Exit status 1 where something was found.

    --write f64r2c1t2+f0e+f writes the program of a shape: a function with a frame of 64 bytes and 2 saved registers
    that calls function 1 and then jumps to function 2, one with a way out before its frame, and an empty one.
    `testbed/generate/program.py` has the grammar. Its header says which exit status it must end with; `testbed run
    gen:SEED` (or genc:SEED, in C) builds and judges it without a file.
    """
    if shape is not None:
        _write_source(shape, arches, output)
        return
    if seeds is not None and minutes is not None:
        raise UsageError("--seeds or --minutes: one of them")
    chosen = unwinders_named(names, commands)
    wanted = [arch_named(name) for name in arches] or list(ARCHES.values())
    how = matching(RECIPES, recipes or (RECIPES_FOR_FLAGS if flags else DEFAULT_RECIPES), "recipe")
    make = flagged_cases if flags else cases
    report = _Report()
    interrupted = False
    until = time.monotonic() + 60 * minutes if minutes else None
    if cross_check:
        from testbed.cli.cross_check import check_units

        refuse_others("--cross-check", "cross_check", "seeds", "first", "arches", "recipes", "flags", "jobs", "as_json")
        planned = list(make(range(first, first + (seeds or 20)), wanted, how))
        if not planned:
            raise UsageError(_NOT_BUILT)
        with _builds_dropped():
            sys.exit(check_units(planned, jobs, as_json=as_json))
    with _builds_dropped():
        try:
            for numbers in _batches(first, seeds or 20, until):
                _fuzz(list(make(numbers, wanted, how)), chosen, jobs, until, report)
                asked = words_for(chosen, names, commands)
                report.findings = [
                    replace(each, asked=asked.get(each.failure.unwinder, "")) for each in report.findings
                ]
        except KeyboardInterrupt:
            interrupted = True
    if not report.units and not interrupted:
        raise UsageError(_NOT_BUILT)
    _tell(report, first, save, as_json)
    sys.exit(130 if interrupted else 1 if report.findings else 0)


@contextmanager
def _builds_dropped() -> Iterator[None]:
    """Nobody builds generated programs twice: what is built here is gone afterwards. Compiled functions are kept."""
    with WorkFolder("fuzz") as folder:
        places = {"TESTBED_CACHE": str(folder), VARIABLE: str(CODE.folder)}
        before = {name: os.environ.get(name) for name in places}
        os.environ.update(places)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


def _write_source(shape: str, arches: tuple[str, ...], path: Path | None) -> None:
    """Write the program of a shape: in C for a file NAME.c, else in assembly for the instruction set that was named."""
    in_c = path is not None and path.suffix == ".c"
    if len(arches) > (0 if in_c else 1):
        raise UsageError("--write writes one source: in assembly of one --arch, in C of none")
    isas = {isa.name: isa for arch in ARCHES.values() for isa in arch.isas}
    name = arches[0] if arches else next(iter(isas))
    isa = None if in_c else isas.get(name) or arch_named(name).isas[0]
    text = source_of(shape_named(shape), isa).text
    if path is None:
        click.echo(text, nl=False)
    else:
        write_text(path, text)


def _batches(first: int, seeds: int, until: float | None) -> Iterator[range]:
    if until is None:
        yield range(first, first + seeds)
        return
    for start in count(first, _BATCH):
        if time.monotonic() >= until:
            return
        yield range(start, start + _BATCH)


def _fuzz(
    planned: Sequence[Unit], unwinders: Sequence[Unwinder], jobs: int, until: float | None, report: _Report
) -> None:
    work = partial(judge_case, unwinders=unwinders, natively=native_for(len(planned), jobs))
    known = {finding.failure.kind for finding in report.findings}
    with long_work("judging", "units", len(planned)) as progress:
        for result in judge_units(planned, work, jobs=min(jobs, max(len(planned), 1)), died=unit_died):
            report.units += 1
            report.skipped += bool(result.skipped)
            report.mistakes.update(result.mistakes)
            report.sites += sum(cell.sites for cell in result.cells)
            name = parts_of(result.unit.program)[1]
            report.last_seed = max(report.last_seed, int(name))
            progress.advance(f"judging {result.unit}")
            for failure in failures(result):
                if failure.kind in known:  # of each kind the first is shrunk: the others would be the same
                    continue
                known.add(failure.kind)
                progress.at(progress.done, what=f"shrinking {result.unit} {failure.unwinder}")
                report.findings.append(shrunk(result.unit, shape_named(name), failure, unwinders))
            if until is not None and time.monotonic() >= until:
                return


def _tell(report: _Report, first: int, save: Path, as_json: bool) -> None:
    if report.findings:
        write_text(save, "".join(f"{finding.command}\n" for finding in report.findings))
    if as_json:
        from testbed.report.json_forms import FuzzForm
        from testbed.store.codec import json_of

        click.echo(json_of(FuzzForm, {"first": first, "report": report}), nl=False)
        return
    console = console_for_reports()
    for finding in report.findings:
        console.print(f"{finding.seen}, shrunk to {finding.name}: {finding.failure.sentence}", soft_wrap=True)
        console.print(f"  {finding.command}\n", soft_wrap=True)
    for program, units in sorted(report.mistakes.items()):
        console.print(f"{units} units show the compiler's mistake of testbed run {program}", soft_wrap=True)
    skipped = f", {report.skipped} skipped" if report.skipped else ""
    console.print(
        f"seeds {first} to {report.last_seed}: {report.units} units{skipped}, {report.sites:,} sites judged, "
        + (f"{len(report.findings)} findings (commands in {save})" if report.findings else "everything explained"),
        soft_wrap=True,
    )
