"""``testbed sweep``: the unwind tables of many files held against their instructions, without executing any."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

import click

from testbed.checks.workers import as_finished, worker_pool
from testbed.cli.options import jobs_option
from testbed.cli.progress import long_work
from testbed.report.phrases import count
from testbed.report.sweep_text import sweep_lines
from testbed.store.codec import encoded
from testbed.sweep.database import keep_path, keep_swept, opened, report_of
from testbed.sweep.model import SweepReport
from testbed.sweep.sweep_file import checksum_of, files_below, sweep_file
from testbed.words.errors import TestbedError, UsageError

REPORT = "report"


@click.command("sweep")
@click.argument("paths", nargs=-1, metavar="DIR|FILE... | report DB")
@click.option("--out", "-o", "out", type=click.Path(dir_okay=False, path_type=Path), help="The database to keep it in.")
@jobs_option
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON (schema: testbed/report/schema/sweep.json).")
def command(paths: tuple[str, ...], out: Path | None, jobs: int, as_json: bool) -> None:
    """Say which functions of many files have wrong unwind tables, by their instructions alone.

    Every entry of .eh_frame and .debug_frame agrees, is suspect, or cannot be told; nothing is executed. What is said
    is kept in DB, by content: the same command goes on where it was interrupted, and sweeps what is new.

    \b
    testbed sweep /usr/lib/x86_64-linux-gnu --out sweep.db     all ELF files below a folder
    testbed sweep report sweep.db                              what is kept: by cause, by producer, the suspects
    testbed check FILE --function NAME                         a suspect, executed

    Exit status: 0 nothing is suspect, 1 something is, 2 a mistake in what was typed, 130 interrupted.
    """
    if paths[:1] == (REPORT,):
        if len(paths) != 2 or out is not None:
            raise UsageError("say testbed sweep report DB, and nothing besides")
        with opened(Path(paths[1]), new=False) as database:
            sys.exit(_tell(report_of(database), as_json))
    if not paths or out is None:
        raise UsageError("say what to sweep and where to keep it: testbed sweep DIR --out DB")
    missing = [path for path in paths if not Path(path).exists()]
    if missing:
        raise UsageError(f"{missing[0]} is not there")
    with opened(out, new=True) as database:
        try:
            _sweep(database, tuple(map(Path, paths)), jobs)
        except KeyboardInterrupt:
            click.echo("interrupted; the same command goes on where it was", err=True)
            sys.exit(130)
        sys.exit(_tell(report_of(database), as_json))


def _sweep(database: sqlite3.Connection, paths: tuple[Path, ...], jobs: int) -> None:
    """Sweep what is not kept yet."""
    waiting: dict[str, Path] = {}
    for path in files_below(paths):
        try:
            checksum = checksum_of(path)
        except TestbedError as error:
            click.echo(f"error: {error}", err=True)
            continue
        if not keep_path(database, path, checksum):
            waiting.setdefault(checksum, path)
    with long_work("sweeping", "files", len(waiting)) as work:
        if jobs == 1 or len(waiting) < 2:
            for checksum, path in waiting.items():
                keep_swept(database, sweep_file(path, checksum))
                work.advance(path.name)
            return
        with worker_pool(min(jobs, len(waiting))) as pool:
            futures = [pool.submit(sweep_file, path, checksum) for checksum, path in waiting.items()]
            try:
                for future in as_finished(futures):
                    swept = future.result()
                    keep_swept(database, swept)
                    work.advance(swept.path.name)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _tell(report: SweepReport, as_json: bool) -> int:
    """Print a report; the exit status."""
    if as_json:
        click.echo(json.dumps(encoded(SweepReport, report), indent=1))
    else:
        for line in sweep_lines(report):
            click.echo(line)
        if report.failures:
            click.echo(f"{count(len(report.failures), 'file')} could not be swept", err=True)
    return 1 if report.suspect else 0
