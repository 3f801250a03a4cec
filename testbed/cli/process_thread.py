"""``testbed run ./program --at`` and ``--html``: one step of a thread, or all steps of the first one as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from testbed.cli.progress import long_work
from testbed.cli.terminal import console_for_reports
from testbed.cli.writing import written
from testbed.contract.unwinder import Unwinder
from testbed.profiling.judge import follows_tables
from testbed.profiling.result import WatchedProcess
from testbed.profiling.thread_run import thread_at, thread_run
from testbed.words.errors import UsageError

MOST_ON_A_PAGE = 100_000  # steps; a page takes some 100 bytes for each, and a browser lays all of them out


def show_step(process: WatchedProcess, location: str, unwinders: Sequence[Unwinder], *, explain: bool) -> bool:
    """What is true at a location, and what each strategy says there, with the functions whose rows are wrong.

    True: nothing that is said there is unexplained.
    """
    from testbed.report.step_text import print_site
    from testbed.report.step_view import step_view

    run, row = thread_at(process, location)
    view = step_view(run, row, unwinders)
    print_site(console_for_reports(), view, number=row - run.thread.begins, explain=explain)
    return view.is_explained


def show_page(process: WatchedProcess, unwinders: Sequence[Unwinder], path: Path) -> None:
    """Write a page that steps through the first thread. Raises UsageError where it has too many steps for one."""
    from testbed.campaign.cells import cell_of
    from testbed.report.answers import answers_of
    from testbed.report.stepper import write_stepper

    run = thread_run(process, process.threads[0])
    if len(run) > MOST_ON_A_PAGE:
        raise UsageError(
            f"{run.process.path.name} makes {len(run):,} steps, too many for a page: "
            f"--budget {MOST_ON_A_PAGE} shows the first {MOST_ON_A_PAGE:,}"
        )
    with long_work("judging for the page", "strategies", len(unwinders)) as work:
        answers = answers_of(run, unwinders)
        work.advance("writing")
    with written(path):
        write_stepper(run, answers, [cell_of(run, each.unwinder, each.verdicts) for each in answers.each], path)
    others = len(process.threads) - 1
    more = f"; its {others} other threads are not on it" if others else ""
    click.echo(f"{path}: {len(run):,} steps of thread {run.thread.number} of {run.process.path.name}{more}")
    if any(map(follows_tables, unwinders)):
        click.echo(
            "What a table gets wrong is marked unexplained there; --at @STEP names the function whose row is wrong."
        )
