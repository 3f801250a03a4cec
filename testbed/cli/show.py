"""``testbed show``: one step of a program, whole; with ``--step`` one after the other."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from programs import PROGRAMS
from testbed.cli.choice import matching
from testbed.cli.keys import keys_of
from testbed.cli.terminal import console_for_reports
from testbed.contract.unwinder import Unwinder
from testbed.report.stepper_moves import Move, moved
from testbed.runs.by_name import named_run
from testbed.runs.run import Run
from testbed.words.errors import UsageError
from unwinders import UNWINDERS

_ARROWS = {"\x1b[C": Move.NEXT, "\x1b[B": Move.NEXT, " ": Move.NEXT, "\x1b[D": Move.BACK, "\x1b[A": Move.BACK}
_QUIT = ("q", "Q", "\x1b", "\x04", "")  # escape, ^D, the end of the input


@click.command("show")
@click.argument("program")
@click.option("--arch", "-a", "arch", metavar="ARCH", help="x86_64, arm64 or arm32 (default: the first it exists for).")
@click.option("--recipe", "-r", metavar="RECIPE", help="How to build it (default: the first; testbed list recipes).")
@click.option("--unwinder", "-u", "names", multiple=True, metavar="GLOB", help="Only these strategies; repeatable.")
@click.option(
    "--at", "location", default="@0", metavar="LOCATION", help="symbol, symbol+0x4, symbol+0x4#2 (2nd visit), @17."
)
@click.option("--step", "stepping", is_flag=True, help="Move from step to step with keys, in a terminal.")
@click.option("--seed", default=1, show_default=True, help="Of the values planted in registers before entry.")
@click.option("--budget", default=1_000_000, show_default=True, help="Give up after this many instructions.")
def command(
    program: str,
    arch: str | None,
    recipe: str | None,
    names: tuple[str, ...],
    location: str,
    stepping: bool,
    seed: int,
    budget: int,
) -> None:
    """Show one step of PROGRAM: code, registers, the stack word by word, unwind rows, every strategy's frames."""
    from testbed.report.show_text import show_page

    if stepping and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--step needs a terminal for its keys; without one, choose a step by --at")
    chosen = matching(UNWINDERS, names, "strategy")
    run = named_run(PROGRAMS, program, arch, recipe, seed=seed, budget=budget, fresh=False)
    applicable = [unwinder for unwinder in chosen if unwinder.applies_to(run.built.image)]
    step = run.step_at(location)
    if stepping:
        _step_through(run, step, applicable)
    else:
        console_for_reports().print(show_page(run, step, applicable))


def _step_through(run: Run, step: int, unwinders: Sequence[Unwinder]) -> None:
    """Draw, read a key, move; until q, escape, or the end of the input."""
    from testbed.report.show_text import show_page

    console = console_for_reports()
    keys = {move.key: move for move in Move}
    prompt = "   ".join(f"{move.key} {move.does}" for move in Move) + "   q quit"
    with suppress(KeyboardInterrupt), keys_of(sys.stdin.fileno()) as next_key:
        while True:
            console.clear()
            console.print(show_page(run, step, unwinders))
            console.print(prompt, style="reverse")
            key = next_key()
            if key in _QUIT:
                return
            move = keys.get(key) or _ARROWS.get(key)
            if move is not None:
                step = moved(run, step, move, unwinders)
