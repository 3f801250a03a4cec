"""``testbed check``: every function of any file is called, and its unwind tables are held against what it does."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console

from testbed.arch import arch_named
from testbed.checks.kept import keep_check, kept_check, stands_alone
from testbed.checks.model import FileCheck, Severity
from testbed.checks.options import MOST_STEPS, CheckOptions
from testbed.cli import WIDTH
from testbed.cli.cluster import cluster_executor
from testbed.cli.options import (
    FILE,
    NamedRun,
    budget_option,
    cluster_option,
    convention_option,
    functions_option,
    given_bytes,
    jobs_option,
    no_debug_files_option,
    recipe_option,
    refuse_others,
    seed_option,
    try_writing,
    unwinder_cmd,
    write_text,
)
from testbed.cli.terminal import console_for_reports, disagrees, long_work
from testbed.report.check_report import (
    FORMAT_OF_END,
    FORMATS,
    BrokenInput,
    CheckReport,
    baseline_text,
    gone_from,
    read_baseline,
    told_beside,
)
from testbed.report.check_text import called_text, print_check, table_lines
from testbed.report.phrases import count
from testbed.words.catalogue import matches, nearest
from testbed.words.edges import internal_words
from testbed.words.errors import NothingAskedFor, TestbedError, UsageError
from testbed.words.printable import printable
from testbed.words.table_formats import CHECKED

# Files that were named, by themselves or in a list: ``@LIST``.


def files_named(files: Sequence[str]) -> tuple[Path, ...]:
    """The files that were named, each once. Raises UsageError where there is none, or a list cannot be read."""
    named: list[str] = []
    for file in files:
        named += _listed_in(Path(file[1:])) if file.startswith("@") else [file]
    if not named:
        raise UsageError("no file to check: name a source, an object or a library, or @LIST of them")
    return tuple(map(Path, dict.fromkeys(named)))


def _listed_in(path: Path) -> list[str]:
    """The lines of a list that are neither empty nor begin with ``#``."""
    text = given_bytes(path, "the list ").decode("utf-8", "surrogateescape")
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


FLAGS = "testbed.check.flags"
_OF_TEXT = ("", ".txt", ".log", ".out")  # ends of files' names
_DEFAULT = CheckOptions()
_STEPS = click.IntRange(1, MOST_STEPS)
Told = Callable[[int, int], None]


class BeforeTheCompiler(click.Command):
    """A command whose arguments end at ``--``: what stands behind it is for the compiler."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[FLAGS] = tuple(args[end + 1 :])
        return super().parse_args(ctx, args[:end])


@dataclass(frozen=True, slots=True, kw_only=True)
class _HowTold:
    """What was typed of how the checks are told; each option's help says what it is."""

    fresh: bool
    cluster: str | None
    form: str
    output: Path | None
    baseline: Path | None
    write_baseline: Path | None
    fail_on: str
    coverage: bool
    notes: bool
    relative_to: Path | None

    @property
    def weight(self) -> Severity | None:
        """The lightest severity that fails. Nothing that has just been written to a baseline does."""
        return None if self.fail_on == "never" or self.write_baseline else Severity(self.fail_on)


@click.command("check", cls=BeforeTheCompiler)
@click.argument("files", nargs=-1, metavar="FILE... [-- COMPILER ARGUMENTS]")
@functions_option
@click.option(
    "--call",
    "calls",
    multiple=True,
    metavar="CALL",
    help="Call a function with arguments of your own: 'f(buf:64, 3, \"text\")'; repeatable.",
)
@click.option(
    "--arch",
    "-a",
    metavar="ARCH",
    help="x86_64, arm64 or arm32: what a source is built for (default: x86_64, or the only one it builds for), which "
    "part of a Mach-O file of several is checked. A file for another one is refused.",
)
@click.option(
    "--table",
    "-t",
    "tables",
    multiple=True,
    metavar="GLOB",
    help=f"Only these tables: {', '.join(CHECKED)}; repeatable.",
)
@no_debug_files_option
@click.option(
    "--unwinder", "-u", "names", multiple=True, metavar="GLOB", help="Judge these unwinders, not tables; repeatable."
)
@unwinder_cmd
@convention_option
@seed_option
@click.option(
    "--runs", type=click.IntRange(1), default=_DEFAULT.runs, show_default=True, help="Most calls of one function."
)
@click.option("--steps", type=_STEPS, default=_DEFAULT.steps, show_default=True, help="Most instructions of a call.")
@jobs_option
@cluster_option
@click.option("--fresh", is_flag=True, help="Check again, also what has not changed since an earlier check.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", *FORMATS]),
    default="text",
    show_default=True,
    help="How to print: for people, programs, code scanning, GitHub's annotations, JUnit, as a page.",
)
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
@click.option(
    "--output",
    "-o",
    type=FILE,
    help="Print to this file (.json, .sarif, .xml, .html: so), and only the answer to the terminal.",
)
@click.option("--baseline", type=FILE, help="Findings in this file are known: they fail nothing.")
@click.option("--write-baseline", type=FILE, help="Write all findings of now as a baseline, and fail for none.")
@click.option(
    "--fail-on",
    type=click.Choice([*(severity.value for severity in Severity), "never"]),
    default=Severity.WARNING.value,
    show_default=True,
    help="The lightest finding that makes the exit status 1. An error: a caller is lost. A warning: a register in one "
    "is. A note: neither.",
)
@click.option(
    "--relative-to",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="FOLDER",
    help="Tell paths as seen from there (default: the current folder; for services the top of git's repository).",
)
@click.option("--diff", is_flag=True, help="Print the corrections of assembly sources as a patch, and nothing else.")
@click.option("--fix", is_flag=True, help="Write the corrections into the sources: those that a second check confirms.")
@click.option(
    "--executed",
    is_flag=True,
    help="Run FILE as a program, and check its rows at the instructions that it executes; FILE may be a name from "
    "`testbed list programs`.",
)
@recipe_option
@budget_option
@click.option("--coverage", is_flag=True, help="Also say of each function how much of it was tried.")
@click.option("--notes", is_flag=True, help="Also list what is only counted otherwise: notes, known findings.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    functions: tuple[str, ...],
    calls: tuple[str, ...],
    arch: str | None,
    tables: tuple[str, ...],
    names: tuple[str, ...],
    commands: tuple[str, ...],
    conventions: tuple[tuple[str, str], ...],
    seed: int,
    runs: int,
    steps: int,
    jobs: int,
    no_debug_files: bool,
    diff: bool,
    fix: bool,
    executed: bool,
    recipe: str | None,
    budget: int,
    **told: Any,
) -> None:
    """Call every function of FILE in an emulator, and compare its unwind tables with what each instruction does.

    FILE is an assembly or C source, an object, an archive, a library or an executable: ELF or Mach-O. @LIST stands for
    the files named in LIST, one in a line. What stands behind -- is for the compiler of a source: arguments of clang,
    or another compiler and its arguments.

    \b
    testbed check memcpy.S -- -Iinclude -DPIC          a source, with flags of its own
    testbed check memcpy.S -- gcc -Iinclude            the same, by another compiler
    testbed check build/*.o --coverage                 how much of each function was tried
    testbed check libz.so.1 --function 'inflate*'      some functions of a library
    testbed check f.o --call 'f(buf:64, 3, "text")'    with arguments that lead further
    testbed check @files --baseline known.json         fail only for what is new
    testbed check memcpy.S --diff | git apply          what corrects it, as a patch; --fix writes it
    testbed check leaf_call --executed                 the rows of a program where it runs; nothing is called
    testbed check memcpy.S --unwinder-cmd ./mine       an unwinder at every instruction, not the tables

    Exit status: 0 nothing new is wrong, 1 a finding, 2 what could not be checked, or a mistake in what was typed.
    """
    if told["output"] and ctx.get_parameter_source("form") is ParameterSource.DEFAULT:
        end = told["output"].suffix
        if end not in (*FORMAT_OF_END, *_OF_TEXT):
            raise UsageError(f"-o {told['output']}: {nearest(end, FORMAT_OF_END)}; or say which --format it is to have")
        told["form"] = FORMAT_OF_END.get(end, "text")
    how = _HowTold(**told)
    options = CheckOptions(
        functions=functions,
        calls=calls,
        arch=arch_named(arch).name if arch else None,
        tables=tables,
        seed=seed,
        runs=runs,
        steps=steps,
        jobs=jobs,
        flags=ctx.meta[FLAGS],
        conventions=conventions,
        debug_files=not no_debug_files,
    )
    for pattern in tables:
        if not any(matches(said, [pattern]) for name in CHECKED for said in (name, f".{name}")):
            raise UsageError(f"no table matches {pattern!r}; {nearest(pattern, CHECKED)}")
    paths = files_named(files)
    if executed:
        refuse_others("--executed", *("executed", "arch", "recipe", "seed", "budget", "tables", "form"))
        if len(files) != 1 or how.form not in ("text", "json"):
            raise UsageError("--executed takes one program, and tells text or json")
        named = NamedRun(program=files[0], arch=arch, recipe=recipe, seed=seed, budget=budget)
        sys.exit(_check_executed(named, tables, as_json=how.form == "json"))
    for path in (how.output, how.write_baseline):
        if path is not None:
            try_writing(path)
    if names or commands:
        if how.baseline or how.write_baseline or tables:
            raise UsageError("baselines and --table are of tables: leave them out with -u or --unwinder-cmd")
        sys.exit(judge_and_tell(paths, options, (names, commands), how.form, how.output))
    if diff or fix:
        from testbed.cli.fixing import fix_and_tell

        if (diff and fix) or how.form != "text" or how.baseline or how.write_baseline:
            raise UsageError("--diff and --fix each stand alone: leave out the other, --format, --html and baselines")
        sys.exit(fix_and_tell(paths, options, how.weight, writes=fix, base=how.relative_to))
    sys.exit(_check_and_tell(paths, options, how))


def _check_and_tell(paths: Sequence[Path], options: CheckOptions, how: _HowTold) -> int:
    """Check all files and print the report; the exit status."""
    baseline = read_baseline(how.baseline) if how.baseline else ()
    with cluster_executor(how.cluster) if how.cluster else nullcontext() as executor:
        checks, broken, others, interrupted = _check_all(paths, options, how.fresh, executor)
    if not checks:  # what was asked for is nowhere: perhaps it was mistyped
        broken += others
    elif others:
        wanted = f"a function that matches {' or '.join(options.functions)}" if options.functions else "code"
        click.echo(f"{count(len(others), 'file')} without {wanted}", err=True)
    report = CheckReport(
        told_beside(baseline, checks),
        tuple(broken),
        gone_from(baseline, checks, options),
        how.baseline,
        how.weight,
        how.relative_to and how.relative_to.resolve(),
    )
    _tell(report, how)
    if interrupted:
        again = "" if how.fresh else "; the same command goes on where it was"
        click.echo(f"interrupted: {len(checks)} of {count(len(paths), 'file')} checked{again}", err=True)
        return 130
    if how.write_baseline and broken:
        click.echo(f"{how.write_baseline} is not written: not every file could be checked", err=True)
    elif how.write_baseline:
        write_text(how.write_baseline, baseline_text(checks))
        click.echo(f"{count(len(list(report.findings)), 'finding')} written to {how.write_baseline}", err=True)
    return report.status


def _check_all(
    paths: Sequence[Path], options: CheckOptions, fresh: bool, executor: Executor | None
) -> tuple[list[FileCheck], list[BrokenInput], list[BrokenInput], bool]:
    """Each file's check; files that have none; files that have nothing of what was asked for; whether interrupted."""
    checks: list[FileCheck] = []
    broken: list[BrokenInput] = []
    others: list[BrokenInput] = []
    for path in paths:
        try:
            with long_work(f"checking {path.name}", "groups of functions") as work:
                checks.append(_checked(path, options, fresh, lambda done, total: work.at(done, total=total), executor))
            broken += [BrokenInput(path, why, function) for function, why in checks[-1].failures.items()]
        except NothingAskedFor as error:
            others.append(BrokenInput(path, str(error)))
        except TestbedError as error:
            broken.append(BrokenInput(path, str(error)))
        except Exception as error:
            broken.append(BrokenInput(path, internal_words(error)))  # raised where it is none of ours
        except KeyboardInterrupt:
            return checks, broken, others, True
    return checks, broken, others, False


def _checked(path: Path, options: CheckOptions, fresh: bool, told: Told, executor: Executor | None) -> FileCheck:
    """The check of a file: the kept one, or a new one that is kept."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is no file: name a source, an object or a library")
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    keeps = stands_alone(content)
    if keeps and not fresh and (kept := kept_check(path, content, options)):
        return kept
    check = _new_check(path, options, told, executor, goes_on=not fresh)
    if keeps and not check.failures:
        keep_check(content, options, check)
    return check


def _new_check(path: Path, options: CheckOptions, told: Told, executor: Executor | None, *, goes_on: bool) -> FileCheck:
    # Loaded only where something is called: a kept check is told in a moment.
    from testbed.checks.check_file import check_file
    from testbed.cli.table_readers import READERS

    return check_file(path, options, READERS, executor=executor, progress=told, goes_on=goes_on)


def _tell(report: CheckReport, how: _HowTold) -> None:
    """Print a report in its format, or write it and print the answer."""
    if how.output is None and how.form == "text":
        print_check(console_for_reports(), report, coverage=how.coverage, notes=how.notes)
        return
    for broken in report.broken:
        path = "" if broken.reason.startswith(str(broken.path)) else f"{printable(broken.what)}: "
        click.echo(f"error: {path}{broken.reason}", err=True)
    if how.output is None:
        click.echo(FORMATS[how.form](report), nl=False)
        return
    if how.form == "text":
        console = Console(file=(file := io.StringIO()), width=WIDTH, highlight=False, markup=False)
        print_check(console, report, coverage=how.coverage, notes=how.notes)
        write_text(how.output, file.getvalue())
    else:
        write_text(how.output, FORMATS[how.form](report))
    click.echo(report.answer)


# ``testbed check -u`` and ``--unwinder-cmd``: unwinders judged where the functions of a file are called.


def judge_and_tell(
    paths: Sequence[Path],
    options: CheckOptions,
    asked: tuple[Sequence[str], Sequence[str]],
    form: str,
    output: Path | None,
) -> int:
    """Judge the unwinders of ``-u`` and ``--unwinder-cmd`` on all files, and print it; the exit status.

    Raises UsageError for a format that has no form of this.
    """
    from testbed.checks.judged_calls import judge_calls
    from testbed.cli.table_readers import READERS
    from testbed.cli.unwinders import unwinders_named
    from testbed.report.check_json import CalledFilesForm
    from testbed.store.codec import json_of

    if form not in ("text", "json"):
        raise UsageError(f"--format {form} is of tables: what unwinders say is told as text or json")
    unwinders = unwinders_named(*asked)
    lines: list[str] = []
    files, status = [], 0
    for path in paths:
        try:
            with long_work(f"judging at {path.name}", "instructions") as work:
                verdicts = judge_calls(path, options, READERS, unwinders, work.at)
        except TestbedError as error:
            click.echo(f"error: {error}", err=True)
            status = 2
            continue
        if any(counted.unexcused for counted in verdicts):
            status = status or 1
        lines += called_text(path, verdicts)
        files.append({"file": path, "unwinders": verdicts})
    text = (
        json_of(CalledFilesForm, {"status": status, "files": files})
        if form == "json"
        else "\n".join(lines).rstrip() + "\n"
    )
    if output is not None:
        write_text(output, text)
    else:
        click.echo(text, nl=False)
    return status


# ``testbed check --executed``: the rows at the instructions that a program executes.


def _check_executed(named: NamedRun, tables: Sequence[str], *, as_json: bool) -> int:
    """Hold a program's rows against its run; the exit status: 2 where nothing is wrong before the run stopped early."""
    from testbed.checks.watched_run import lint
    from testbed.cli.table_readers import evaluate_rule, table_readers
    from testbed.report.check_json import LintForm
    from testbed.store.codec import json_of

    run = named.run()
    wanted = [name for name in CHECKED if matches(name, tables) or matches(f".{name}", tables)]
    readers = table_readers(run.built.image, wanted)
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
        click.echo(json_of(LintForm, {"run": run, "tables": said, "status": status}), nl=False)
    else:
        console = console_for_reports()
        for table in said:
            for line in table_lines(table):
                console.print(line, soft_wrap=True)
    return status
