"""``testbed show``: one step of a program, whole; with ``--step`` one after the other."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from testbed.cli.corpus import corpus
from testbed.cli.options import arch_option, at_option, budget_option, recipe_option, seed_option, unwinder_cmd
from testbed.cli.strategies import strategies_named, telling
from testbed.cli.terminal import console_for_reports, status
from testbed.contract.unwinder import Unwinder
from testbed.runs.by_name import named_run
from testbed.runs.judging import judge_all
from testbed.runs.run import Run
from testbed.words.errors import UsageError


@click.command("show")
@click.argument("program")
@arch_option
@recipe_option
@click.option("--unwinder", "-u", "names", multiple=True, metavar="GLOB", help="These strategies (default: six).")
@unwinder_cmd
@at_option
@click.option("--step", "stepping", is_flag=True, help="Move about in the run, full screen.")
@seed_option
@budget_option
def command(
    program: str,
    arch: str | None,
    recipe: str | None,
    names: tuple[str, ...],
    commands: tuple[str, ...],
    location: str | None,
    stepping: bool,
    seed: int,
    budget: int,
) -> None:
    """Show one step of PROGRAM: code, registers, the stack word by word, unwind rows, every strategy's frames."""
    from testbed.report.step_text import step_page
    from testbed.report.step_view import step_view

    if stepping and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--step needs a terminal for its keys; without one, choose a step by --at")
    named = strategies_named(names, commands) if names or commands else []
    run = named_run(corpus(names=[program]), program, arch, recipe, seed=seed, budget=budget, fresh=False)
    chosen = named or telling(run.built.image, len(run))
    applicable = [unwinder for unwinder in chosen if unwinder.applies_to(run.built.image)]
    if not applicable:
        raise UsageError("none of the strategies that were asked for applies to this file")
    step = run.step_at(location or "@0")
    if stepping:
        _step_through(run, step, applicable)
    else:
        console_for_reports().print(step_page(step_view(run, step, applicable)))


def _step_through(run: Run, step: int, unwinders: Sequence[Unwinder]) -> None:
    """A full-screen program, until it is left."""
    from testbed.cli.step_screen import StepScreen
    from testbed.report.step_screen import ScreenRun

    with status("judging every step"):
        screen = ScreenRun(run, tuple(unwinders), tuple(judge_all(run, unwinder) for unwinder in unwinders))
    StepScreen(screen, step).run()
