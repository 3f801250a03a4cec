"""``testbed matrix``: every unwinder, program, architecture and recipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated

import click

from programs import PROGRAMS
from testbed.arch import ARCHES, arch_named
from testbed.campaign.cells import Matrix, Unit, UnitResult, one_of_each, units
from testbed.campaign.findings import in_all_versions, show
from testbed.campaign.kept_results import judge_and_keep, judge_with_key, keep_result, kept_result
from testbed.campaign.matrix import judge_units, judge_units_by, native_for, unit_died
from testbed.campaign.version_history import judge_unit_sample
from testbed.cli.cluster import cluster_executor
from testbed.cli.corpus import chosen_programs
from testbed.cli.options import (
    Outputs,
    arches_option,
    cluster_option,
    jobs_option,
    json_option,
    outputs_option,
    programs_option,
    recipes_option,
    refuse_others,
    some_programs_option,
    takes,
    unwinder_cmd,
    unwinders_option,
    written,
)
from testbed.cli.terminal import console_for_reports, long_work, save
from testbed.cli.unwinders import all_unwinders, unwinders_from_outside, unwinders_named
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.referee import REFEREES, Referee, present
from testbed.referee.read_reports import read_reports, try_report, without_reports
from testbed.referee.versions import of_tool
from testbed.words.catalogue import matching, nearest
from testbed.words.errors import UsageError

# A unit of a matrix as a job for any machine's processes, told in words: unwinders hold code without a name.


def judge_job(unit: Unit, words: MatrixOptions, natively: bool | None = None) -> tuple[UnitResult, str]:
    """A unit's result and the key that whoever asked keeps it under (`testbed.campaign.kept_results`)."""
    programs, unwinders = _values(words)
    if words.steps:
        return judge_unit_sample(unit, programs, unwinders, most=words.steps), ""
    return judge_with_key(unit, programs, unwinders, fresh=words.fresh, natively=natively)


def lost_job(unit: Unit) -> tuple[UnitResult, str]:
    """What is said of a unit over which every process died."""
    return UnitResult(unit, failed="each process that judged it died"), ""


@lru_cache(maxsize=2)
def _values(words: MatrixOptions) -> tuple[Mapping[str, Program], Sequence[Unwinder]]:
    return words.chosen_programs(), words.chosen_unwinders()


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixOptions:
    """What was typed, all that decides the result of a unit with it; each option's help says what it is."""

    arches: Annotated[tuple[str, ...], arches_option] = ()
    programs: Annotated[tuple[str, ...], some_programs_option] = ()
    folders: Annotated[tuple[Path, ...], programs_option] = ()
    recipes: Annotated[tuple[str, ...], recipes_option] = ()
    names: Annotated[tuple[str, ...], unwinders_option] = ()
    commands: Annotated[tuple[str, ...], unwinder_cmd] = ()
    referees: Annotated[
        bool,
        click.option(
            "--referees", is_flag=True, help="The real unwinders that are installed, in place of the unwinders."
        ),
    ] = False
    everything: Annotated[
        bool, click.option("--all", "everything", is_flag=True, help="Every program by every recipe that can build it.")
    ] = False
    one_each: Annotated[
        bool,
        click.option(
            "--one-each", is_flag=True, help="Of each program one unit for each instruction set, by some recipe."
        ),
    ] = False
    steps: Annotated[
        int | None,
        click.option(
            "--steps",
            type=click.IntRange(1),
            help="At most so many instructions of each unit; what real unwinders say is kept, apart from how it is "
            "judged.",
        ),
    ] = None
    jobs: Annotated[int, jobs_option] = 1
    cluster: Annotated[str | None, cluster_option] = None
    fresh: Annotated[
        bool, click.option("--fresh", is_flag=True, help="Build and judge everything again, also what has not changed.")
    ] = False
    as_json: Annotated[bool, json_option] = False
    outputs: Annotated[
        Outputs,
        outputs_option(
            json="every cell",
            html="a page",
            svg="a picture of the table",
            junit="JUnit XML, a test case per cell",
        ),
    ] = field(default_factory=Outputs)
    steppers: Annotated[
        bool,
        click.option("--steppers", is_flag=True, help="With a page: a stepper for each unit, to which its cells link."),
    ] = False
    cross_check: Annotated[
        bool,
        click.option(
            "--cross-check", is_flag=True, help="Instead, compare two witnesses of the call stack (testbed run --help)."
        ),
    ] = False

    def chosen_programs(self) -> Mapping[str, Program]:
        """The programs, by name. Raises UsageError."""
        return {program.name: program for program in chosen_programs(self.programs, self.folders)}

    def chosen_unwinders(self) -> list[Unwinder]:
        """The unwinders that were chosen; those of commands come last. Raises UsageError."""
        if not self.referees:
            return unwinders_named(self.names, self.commands)
        if not (found := present()):
            raise UsageError("no real unwinder is installed; testbed list referees says which packages bring them")
        return [*matching(found, self.names, "unwinder"), *unwinders_from_outside((), self.commands)]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBugs:
    """What was typed of the findings against real tools, which `--known-bugs` shows in place of a matrix."""

    tools: Annotated[tuple[str, ...], click.argument("tools", nargs=-1, metavar="[REFEREE]...")]
    known_bugs: Annotated[
        bool,
        click.option(
            "--known-bugs",
            is_flag=True,
            help="Instead, try every finding against real tools again: what each says, what is true, why, and the "
            "command that shows it. REFEREE is a name from `testbed list referees` (default: all).",
        ),
    ]
    check: Annotated[
        bool,
        click.option(
            "--check",
            is_flag=True,
            help="With --known-bugs: exit with 1 where a finding does not show, or shows, in a version of which its "
            "data say otherwise.",
        ),
    ]
    all_versions: Annotated[
        bool,
        click.option(
            "--all-versions",
            is_flag=True,
            help="With --known-bugs: ask every version there is in which a finding shows, first and last. What is not "
            "here yet is brought.",
        ),
    ]
    report: Annotated[
        tuple[str, str] | None,
        click.option(
            "--report",
            nargs=2,
            metavar="ID DIR",
            help="With --known-bugs: write the report of one cause for the tool's authors, with its files. ID is its "
            "own, or that of a finding.",
        ),
    ]
    tried: Annotated[
        bool,
        click.option(
            "--try", "tried", is_flag=True, help="Run the command of --report, and exit with 1 if it prints another."
        ),
    ]

    @property
    def asked(self) -> bool:
        """True where something was typed that only findings have."""
        return bool(self.tools or self.check or self.all_versions or self.report or self.tried)


@click.command("matrix")
@takes(MatrixOptions, KnownBugs)
def command(options: MatrixOptions, bugs: KnownBugs) -> None:
    """Judge every unwinder on every program, architecture and recipe (or on those chosen).

    Some recipes build only the programs that show what they are for; --all runs the rest too.
    What has not changed since the last time (sources, unwinders, the testbed, libraries) is not judged again.
    """
    if bugs.known_bugs:
        refuse_others("--known-bugs", "as_json", *KnownBugs.__slots__)
        if _tell_known_bugs(bugs, as_json=options.as_json):
            sys.exit(1)
        return
    if bugs.asked:
        raise UsageError("REFEREE, --check, --all-versions, --report and --try go with --known-bugs")
    if options.steppers and options.outputs.html is None:
        raise UsageError("--steppers writes pages that another one links to: give -o FILE.html too")
    options = replace(options, folders=tuple(folder.absolute() for folder in options.folders))
    programs = options.chosen_programs()
    planned = _planned(options, list(programs.values()))
    if options.cross_check:
        from testbed.cli.cross_check import check_units

        refuse_others("--cross-check", "cross_check", "arches", "programs", "recipes", "everything", "jobs", "as_json")
        sys.exit(check_units(planned, options.jobs, as_json=options.as_json))
    chosen = options.chosen_unwinders()
    matrix, interrupted = _judge_all(planned, programs, chosen, options)
    _show(matrix, programs, chosen, options)
    if interrupted:
        sys.exit(130)
    if not matrix.all_explained:
        sys.exit(1)


def _planned(options: MatrixOptions, programs: Sequence[Program]) -> Sequence[Unit]:
    """The units that were chosen. Raises UsageError where there is none, and says whether --all has some."""
    from testbed.build.recipes import RECIPES

    wanted = [arch_named(name) for name in options.arches] or list(ARCHES.values())
    recipes = matching(RECIPES, options.recipes, "recipe")
    planned = units(programs, wanted, recipes, everything=options.everything)
    if options.one_each:
        planned = one_of_each(planned)
    if not planned:
        there = not options.everything and units(programs, wanted, recipes, everything=True)
        how = "only --all has these units" if there else "no unit has all of these (testbed list programs, recipes)"
        raise UsageError(f"no program is built that way: {how}")
    return planned


def _show(
    matrix: Matrix, programs: Mapping[str, Program], unwinders: Sequence[Unwinder], options: MatrixOptions
) -> None:
    """Print the matrix, and write it in every way that was asked for."""
    from testbed.report.matrix_text import matrix_page

    files = options.outputs
    console = console_for_reports(record=bool(files.svg))
    if options.as_json or files.json:
        from testbed.report.json_data import MatrixForm
        from testbed.store.codec import json_of

        cells = json_of(MatrixForm, matrix)
    if files.json:
        with written(files.json):
            files.json.write_text(cells, encoding="utf-8")
    if options.as_json:
        click.echo(cells, nl=False)
    else:
        console.print(matrix_page(matrix))
    if files.html:
        with written(files.html):
            _write_page(matrix, programs, unwinders, files.html, steppers=options.steppers)
    if files.junit:
        from testbed.report.junit import write_matrix_junit

        with written(files.junit):
            write_matrix_junit(matrix, files.junit)
    save(console, "testbed matrix", files.svg)


def _write_page(
    matrix: Matrix, programs: Mapping[str, Program], unwinders: Sequence[Unwinder], path: Path, *, steppers: bool
) -> None:
    """The page, and with ``steppers`` those that its cells link to."""
    from testbed.report.matrix_text import write_matrix_html
    from testbed.report.stepper import pages_beside, stepper_link, write_unit_stepper

    judged = {result.unit for result in matrix.results if result.cells} if steppers else set()
    with long_work("writing steppers", "units", len(judged)) as progress:
        for unit in sorted(judged):
            write_unit_stepper(unit, programs, unwinders, pages_beside(path))
            progress.advance(f"writing {unit}")
    summaries = {name: program.summary for name, program in programs.items()}
    write_matrix_html(matrix, path, summaries, lambda unit: stepper_link(path, unit) if unit in judged else None)


def _judge_all(
    planned: Sequence[Unit], programs: Mapping[str, Program], unwinders: Sequence[Unwinder], options: MatrixOptions
) -> tuple[Matrix, bool]:
    """Judge all units with a progress bar, those with a kept result first; an interrupt keeps what is done."""
    chosen = tuple(unwinder.name for unwinder in unwinders)
    results: dict[Unit, UnitResult] = {}
    interrupted = False
    with long_work("judging", "units", len(planned)) as progress:
        try:
            for unit in planned:
                if not options.fresh and not options.steps and (kept := kept_result(unit, programs, unwinders)):
                    results[unit] = kept
                    progress.advance()
            left = [unit for unit in planned if unit not in results]
            for result in _judged(left, programs, unwinders, options):
                results[result.unit] = result
                progress.advance(f"judging {result.unit}")
        except KeyboardInterrupt:
            interrupted = True
    return Matrix(tuple(results[unit] for unit in planned if unit in results), len(planned), chosen), interrupted


def _judged(
    left: Sequence[Unit], programs: Mapping[str, Program], unwinders: Sequence[Unwinder], options: MatrixOptions
) -> Iterator[UnitResult]:
    """The results of units as they are ready, each of them kept: of a cluster, or of processes of this machine."""
    natively = native_for(len(left), options.jobs)
    if options.cluster and left:
        work = partial(judge_job, words=options, natively=natively)
        with cluster_executor(options.cluster) as executor:
            for result, key in judge_units_by(executor, left, work, lost_job):
                keep_result(result, key, unwinders)
                yield result
        return
    here: Callable[[Unit], UnitResult] = partial(
        judge_and_keep, programs=programs, unwinders=unwinders, fresh=options.fresh, natively=natively
    )
    if options.steps:
        here = partial(judge_unit_sample, programs=programs, unwinders=unwinders, most=options.steps)
    yield from judge_units(left, here, jobs=min(options.jobs, len(left)), died=unit_died)


# ``testbed matrix --known-bugs``: what real tools do wrong, tried again.


def _tell_known_bugs(bugs: KnownBugs, *, as_json: bool) -> bool:
    """Try the findings again, and print them: what is not installed is not tried. True: --check fails."""
    from testbed.report.catalogue_text import print_findings
    from testbed.report.json_forms import TriedFindings
    from testbed.store.codec import json_of

    chosen = matching(REFEREES, bugs.tools, "referee")
    if bugs.all_versions:
        refuse_others("--all-versions", "known_bugs", "all_versions", "check")
        return not _ranges(chosen) and bugs.check
    if bugs.report is not None:
        _report(*bugs.report, bugs.tried)
        return False
    if bugs.tried:
        raise UsageError("--try runs the command of a report: say --report ID DIR, too")
    known = all_unwinders()
    shown = [show(referee, finding, known, PROGRAMS) for referee in chosen for finding in referee.findings]
    if as_json:
        click.echo(json_of(TriedFindings, shown), nl=False)
    else:
        print_findings(console_for_reports(), shown)
    return bugs.check and not all(each.as_recorded for each in shown)


def _ranges(referees: Sequence[Referee]) -> bool:
    """Print the versions in which each finding shows; False where its data say otherwise."""
    as_recorded = True
    of_many = [each for each in referees if of_tool(each.name)]
    for referee, finding in ((each, finding) for each in of_many for finding in each.findings):
        now, missing = in_all_versions(referee, finding, PROGRAMS, partial(click.echo, err=True))
        click.echo(f"{finding.id}: {now.versions or 'shows in none of them'}")
        for version, why in missing.items():
            click.echo(f"  {version} was not asked: {why}")
        if now != finding:
            click.echo(f"  its data say otherwise: {finding.versions or 'nothing'}")
            as_recorded = False
    return as_recorded


def _report(name: str, folder: str, tried: bool) -> None:
    from testbed.report.catalogue_text import write_report

    known = read_reports()
    by_finding = {finding: report for report in known.values() for finding in report.findings}
    found = known.get(name) or by_finding.get(name)
    if found is None:
        for finding in (each for referee in REFEREES.values() for each in referee.findings if each.id == name):
            known_there = f"it is known there, {finding.upstream}" if finding.upstream else ""
            why = known_there or without_reports().get(name, "none is written yet")
            raise UsageError(f"there is no report of {name}: {why}")
        raise UsageError(f"no report {name!r}; {nearest(name, {**known, **by_finding})}; docs/reports.md lists them")
    for path in write_report(found, Path(folder)):
        click.echo(path)
    if tried:
        trial = try_report(found, Path(folder))
        if trial.missing:
            raise UsageError(f"{found.id} cannot be tried here: {', '.join(trial.missing)} is not on the path")
        click.echo(trial.printed, nl=False)
        click.echo("as the report says" if trial.as_told else "NOT what the report says", err=True)
        sys.exit(not trial.as_told)
