"""``testbed sweep``: the unwind tables of many files held against their instructions, and what is doubted executed."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from testbed.checks.workers import as_finished, worker_pool
from testbed.cli.cluster import cluster_executor
from testbed.cli.options import cluster_option, jobs_option, json_option, seed_option, write_text
from testbed.cli.terminal import console_for_reports, long_work
from testbed.native.compiled import is_allowed, is_kept
from testbed.report.phrases import count
from testbed.report.sweep_html import COMMAND, difference_lines, sweep_answer, sweep_html, sweep_lines
from testbed.store.codec import json_of
from testbed.sweep.database import (
    difference_of,
    is_sampled,
    keep_called,
    keep_package,
    keep_path,
    keep_swept,
    kept_packages,
    opened,
    report_of,
    to_call,
)
from testbed.sweep.debian import PREFIX, UnpackedPackage, brought_together, check_name, unpacked
from testbed.sweep.model import AskedEntry, CalledEntry, Sample, SweepDifference, SweepReport, SweptContent
from testbed.sweep.native.check import check_entries
from testbed.sweep.sweep_file import checksum_of, files_below, sweep_file
from testbed.words.errors import TestbedError, UsageError
from testbed.words.files import cache_folder

REPORT = "report"
_DIED = "the process that looked at it died, twice"
_Task = Callable[[], Any]
_AT_ONCE = 32  # packages that lie unpacked at the same time, for each process


@dataclass(frozen=True, slots=True, kw_only=True)
class _SweepWords:
    """What was typed of how to sweep; each option's help says what it is."""

    jobs: int
    cluster: str | None
    execute: bool
    sample: float
    seed: int

    def sample_of(self, checksum: str) -> Sample | None:
        return Sample(self.seed, self.sample, checksum) if self.execute and self.sample else None


@dataclass(frozen=True, slots=True)
class _FoundFile:
    """A file to sweep: where it is, how it is told, and of which package."""

    path: Path
    told: str
    package: str
    checksum: str


@click.command("sweep")
@click.argument("paths", nargs=-1, metavar="DIR|FILE|deb:PACKAGE... | report DB")
@click.option(
    "--out", "-o", "out", type=click.Path(dir_okay=False, path_type=Path), help="The database; of a report, a page."
)
@click.option("--execute", is_flag=True, help="Call what is suspect or cannot be told, and say what came of it.")
@click.option(
    "--sample",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="SHARE",
    help="With --execute: call this share of the entries that agree as well, such as 0.001.",
)
@seed_option
@click.option(
    "--against",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="DB",
    help="Of a report: what is new, and what is gone, since this other sweep.",
)
@jobs_option
@cluster_option
@json_option
def command(paths: tuple[str, ...], out: Path | None, against: Path | None, as_json: bool, **how: Any) -> None:
    """Say which functions of many files have wrong unwind tables: by their instructions, then by executing them.

    Every entry of .eh_frame and .debug_frame agrees, is suspect, or cannot be told. What is said is kept in DB, by
    content: the same command goes on where it was interrupted, and sweeps what is new. deb:PACKAGE is one of Debian,
    deb:PACKAGE:arm64 of another architecture, deb:./FILE.deb a file; it is unpacked, and not installed.

    \b
    testbed sweep /usr/lib/x86_64-linux-gnu --out sweep.db     all ELF files below a folder
    testbed sweep deb:zlib1g:arm64 deb:librsvg2-2 -o sweep.db  Debian's packages
    testbed sweep /usr/lib --out sweep.db --execute            what is doubted is called as well
    testbed sweep report sweep.db -o sweep.html                what is kept, as a page with a search
    testbed sweep report new.db --against old.db               what is new, and what is gone

    Exit status: 0 nothing is suspect, or all of it was executed and found right; 1 something is, 2 a mistake in what
    was typed, or a package that could not be had, 130 interrupted.
    """
    if paths[:1] == (REPORT,):
        sys.exit(_report(paths[1:], out, against, as_json))
    if not paths or out is None or against is not None:
        raise UsageError("say what to sweep and where to keep it: testbed sweep DIR --out DB")
    for path in paths:
        if path.startswith(PREFIX):
            check_name(path.removeprefix(PREFIX))
        elif not Path(path).exists():
            raise UsageError(f"{path} is not there")
    with opened(out, new=True) as database:
        try:
            missing = _sweep(database, paths, _SweepWords(**how))
        except KeyboardInterrupt:
            click.echo("interrupted; the same command goes on where it was", err=True)
            sys.exit(130)
        status = _tell(report_of(database), as_json)
        if missing:
            click.echo(f"{count(missing, 'package')} could not be had: see above", err=True)
        sys.exit(2 if missing else status)


def _sweep(database: sqlite3.Connection, paths: Sequence[str], how: _SweepWords) -> int:
    """Sweep what is not kept yet; how many packages could not be had."""
    asked = [path.removeprefix(PREFIX) for path in paths if path.startswith(PREFIX)]
    files = tuple(Path(path) for path in paths if not path.startswith(PREFIX))
    _both_passes(database, [(path, str(path), "") for path in files_below(files)], how)
    return _sweep_packages(database, asked, how)


def _sweep_packages(database: sqlite3.Connection, asked: Sequence[str], how: _SweepWords) -> int:
    """Sweep packages, some at a time; how many could not be had."""
    kept, missing = kept_packages(database), 0
    done = f" executed {how.sample} {how.seed}" if how.execute else ""
    waiting = [name for name in dict.fromkeys(asked) if name + done not in kept]
    size = _AT_ONCE * how.jobs
    with long_work("packages", "packages", len(waiting)) as work:
        for first in range(0, len(waiting), size):
            names = waiting[first : first + size]
            with ExitStack() as stack:
                found: list[UnpackedPackage] = []
                lists = cache_folder() / "apt"
                brought = stack.enter_context(brought_together(names, lists))
                for name in names:
                    try:
                        found.append(stack.enter_context(unpacked(name, lists, brought)))
                    except TestbedError as error:
                        click.echo(f"error: {PREFIX}{name}: {error}", err=True)
                        missing += 1
                files = [(each.path, each.told, package.title) for package in found for each in package.files]
                _both_passes(database, files, how)
                for package in found:
                    keep_package(database, package.asked + done, package.title)
            work.at(first + len(names))
    return missing


def _both_passes(database: sqlite3.Connection, files: Sequence[tuple[Path, str, str]], how: _SweepWords) -> None:
    """Sweep some files, and call what is doubted in them if that is asked for."""
    swept: dict[str, _FoundFile] = {}
    waiting: list[_FoundFile] = []
    for path, told, package in files:
        try:
            found = _FoundFile(path, told, package, checksum_of(path))
        except TestbedError as error:
            click.echo(f"error: {error}", err=True)
            continue
        if not keep_path(database, told, found.checksum, package) and found.checksum not in swept:
            waiting.append(found)
        swept.setdefault(found.checksum, found)
    if waiting and is_allowed() and not is_kept(check_entries):
        click.echo("the first pass is compiled when much is to be read, this once: 1 to 3 minutes", err=True)
    with long_work("sweeping", "files", len(waiting)) as work:
        for each, result in _done([(each, partial(sweep_file, each.path, each.checksum)) for each in waiting], how):
            result = result or SweptContent(each.path, each.checksum, failure=f"{each.path}: {_DIED}")
            keep_swept(database, replace(result, failure=result.failure.replace(str(each.path), each.told)))
            work.advance(Path(each.told).name)
    if how.execute:
        _call(database, list(swept.values()), how)


def _call(database: sqlite3.Connection, files: Sequence[_FoundFile], how: _SweepWords) -> None:
    """Call what is doubted in some files, and was not yet, and a sample of what agrees."""
    from testbed.checks.second_pass import not_decided  # loaded only where something is called

    asked = {each.checksum: to_call(database, each.checksum) for each in files}
    wanted = {each.checksum: how.sample_of(each.checksum) for each in files}
    samples = {
        checksum: None if sample is None or is_sampled(database, sample) else sample
        for checksum, sample in wanted.items()
    }
    waiting = [each for each in files if asked[each.checksum] or samples[each.checksum]]
    jobs = how.jobs if len(waiting) == 1 else 1
    tasks = [(each, partial(_called, each, asked[each.checksum], samples[each.checksum], jobs)) for each in waiting]
    with long_work("executing", "files", len(waiting)) as work:
        for each, called in _done(tasks, how):
            if called is None:
                called = [not_decided(entry, _DIED) for entry in asked[each.checksum]]
            keep_called(database, each.checksum, called, samples[each.checksum])
            work.advance(Path(each.told).name)


def _called(file: _FoundFile, asked: Sequence[AskedEntry], sample: Sample | None, jobs: int) -> Sequence[CalledEntry]:
    """What execution says of some entries of a file; how far it is, is told by the process that does it."""
    from testbed.checks.second_pass import call_entries
    from testbed.cli.table_readers import READERS

    with long_work(f"executing {Path(file.told).name}", "groups of functions") as work:
        return call_entries(file.path, asked, sample, READERS, jobs, lambda done, total: work.at(done, total=total))


def _done(tasks: Sequence[tuple[_FoundFile, _Task]], how: _SweepWords) -> Iterator[tuple[_FoundFile, Any]]:
    """The results of tasks, as they come; None of one over which a process died twice, the second time alone."""
    if not how.cluster and (how.jobs == 1 or len(tasks) < 2):
        yield from ((each, task()) for each, task in tasks)
        return
    left: list[tuple[_FoundFile, _Task]] = []
    with cluster_executor(how.cluster) if how.cluster else worker_pool(how.jobs) as pool:
        futures: dict[Future[Any], tuple[_FoundFile, _Task]] = {}
        for each in tasks:
            try:
                futures[pool.submit(each[1])] = each
            except BrokenExecutor:  # it broke already
                left.append(each)
        try:
            for future in as_finished(futures):
                if isinstance(future.exception(), BrokenExecutor):
                    left.append(futures[future])
                else:
                    yield futures[future][0], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    yield from ((found, _alone(task)) for found, task in left)


def _alone(task: _Task) -> Any:
    """The result of a task in a process of its own; None if that dies."""
    with worker_pool(1) as pool, suppress(BrokenExecutor):
        return pool.submit(task).result()


def _report(typed: Sequence[str], page: Path | None, against: Path | None, as_json: bool) -> int:
    """Tell what a database has; the exit status."""
    if len(typed) != 1 or (page is not None and page.suffix not in (".html", ".json")):
        raise UsageError("say testbed sweep report DB, and -o PAGE.html or -o FILE.json for a file")
    with opened(Path(typed[0]), new=False) as database:
        report = report_of(database)
    if against is not None:
        with opened(against, new=False) as database:
            return _tell_difference(difference_of(report_of(database), report), as_json)
    if page is None:
        return _tell(report, as_json)
    if page.suffix == ".json":
        write_text(page, json_of(SweepReport, report))
    else:
        write_text(page, sweep_html(report))
        _print_lines(sweep_answer(report) if report.entries else ())
    return _status(report)


def _tell(report: SweepReport, as_json: bool) -> int:
    """Print a report; the exit status."""
    if as_json:
        click.echo(json_of(SweepReport, report), nl=False)
    else:
        _print_lines(sweep_lines(report))
        if report.failures:
            click.echo(f"{count(len(report.failures), 'file')} could not be swept", err=True)
    return _status(report)


def _print_lines(lines: Iterable[str]) -> None:
    """Print lines, folded at the terminal's width under where each begins; a command is not."""
    width = console_for_reports().width
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        folded = fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        click.echo(line if line.startswith(COMMAND) else folded)


def _status(report: SweepReport) -> int:
    """1 where something is suspect that execution did not find right, or wrong by execution."""
    return 1 if any(each.execution not in ("right", "note") for each in report.suspects) else 0


def _tell_difference(difference: SweepDifference, as_json: bool) -> int:
    """Print a comparison; the exit status: 1 where a suspect is new."""
    if as_json:
        click.echo(json_of(SweepDifference, difference), nl=False)
    else:
        _print_lines(difference_lines(difference))
    return 1 if difference.new else 0
