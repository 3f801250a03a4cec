"""``testbed prove``: the truth, proven by a second witness that shares nothing with it."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import click

from programs import PROGRAMS
from testbed.arch import ARCHES, arch_named
from testbed.build.recipes import RECIPES
from testbed.campaign.fuzz import DEFAULT_RECIPES, cases
from testbed.campaign.matrix import DIED, judge_units
from testbed.campaign.prove import Sum, UnitProof, prove_unit, total
from testbed.campaign.results import Unit
from testbed.campaign.units import run_unit, units
from testbed.cli.corpus import corpus
from testbed.cli.options import budget_option, jobs_option, seed_option, takes
from testbed.cli.process_run import budget_of, is_process, watched_process
from testbed.cli.progress import long_work
from testbed.cli.run_options import ProcessOptions
from testbed.cli.terminal import status
from testbed.generate.names import is_generated
from testbed.generate.program import generated_program
from testbed.runs.by_name import named_run
from testbed.words.catalogue import matching
from testbed.words.errors import TestbedError, ToolchainMissing, UsageError
from testbed.words.temporary import WorkFolder

_SHOWN = 3  # disagreements of one run that are printed
_LEFT = 20  # and of all runs


@click.command("prove")
@click.argument("program", required=False)
@click.option("--all", "everything", is_flag=True, help="All units of the matrix.")
@click.option("--generated", type=click.IntRange(1), metavar="N", help="Programs generated from N seeds.")
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="The first of these seeds.")
@click.option("--arch", "-a", metavar="ARCH", help="x86_64, arm64 or arm32 (default: the first it exists for; all).")
@click.option("--recipe", "-r", metavar="RECIPE", help="How to build it; with --all or --generated a pattern.")
@seed_option
@budget_option
@jobs_option
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@takes(ProcessOptions)
def command(
    own: ProcessOptions,
    program: str | None,
    everything: bool,
    generated: int | None,
    first: int,
    arch: str | None,
    recipe: str | None,
    seed: int,
    budget: int,
    jobs: int,
    as_json: bool,
) -> None:
    """Compare two witnesses of the call stack at every step of PROGRAM.

    One watches what instructions have as their effect: it is the truth that everything is judged by. The other follows
    every return address from the call that made it to the jump that uses it, with a disassembler. They share no code
    and no rule. PROGRAM is what `testbed run` takes, a Linux program with its arguments behind -- too. Exit status 1
    where they disagree.
    """
    if (program is not None) + everything + (generated is not None) != 1:
        raise UsageError("prove what? a program, or --all, or --generated N")
    begun = time.monotonic()
    proofs: Sequence[UnitProof]
    if is_process(program, own):
        assert program is not None
        proofs = _of_process(program, seed, budget, own)
    elif program is not None:
        proofs = [_of_program(program, arch, recipe, seed, budget)]
    else:
        arches = [arch_named(arch)] if arch else list(ARCHES.values())
        if generated is not None:
            recipes = matching(RECIPES, (recipe,) if recipe else DEFAULT_RECIPES, "recipe")
            planned = tuple(cases(range(first, first + generated), arches, recipes))
        else:
            planned = units(PROGRAMS.values(), arches, matching(RECIPES, (recipe or "*",), "recipe"))
        if not planned:
            raise UsageError("no program is built that way (testbed list recipes)")
        with _builds_kept(generated is None):
            proofs = _of_units(planned, jobs)
    added = total(proofs)
    if as_json:
        from testbed.report.json_forms import ProofsForm
        from testbed.store.codec import encoded

        json.dump(encoded(ProofsForm, {"proofs": proofs, "added": added}), sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        for line in _lines(proofs, added, time.monotonic() - begun):
            click.echo(line)
    if added.failed or added.disagreed or added.unfollowed or not added.steps:
        sys.exit(1)


def _of_program(program: str, arch: str | None, recipe: str | None, seed: int, budget: int) -> UnitProof:
    with status(f"running {program}"):
        run = named_run(corpus(names=[program]), program, arch, recipe, seed=seed, budget=budget, fresh=False)
        if run.failure:
            raise TestbedError(f"{run}: {run.failure}")
        return prove_unit(Unit(run.program.name, run.arch.name, run.recipe.name), run.watched)


def _of_process(program: str, seed: int, budget: int, options: ProcessOptions) -> list[UnitProof]:
    """A proof per thread. Says how many steps of each have no single right answer."""
    if options.sample is not None or options.stdout is not None:
        raise UsageError("--sample and --stdout are of testbed run: nothing is judged here")
    process = watched_process(program, seed, budget_of(budget), options)
    proofs = []
    for thread in process.threads:
        unit = Unit(process.run.path.name, process.run.arch.name, f"thread-{thread.number}")
        with status(f"following the values of thread {thread.number}"):
            proofs.append(prove_unit(unit, thread.watched))
        click.echo(
            f"{unit}: {thread.transition:,} of {thread.steps:,} steps in transition, {thread.undecided:,} undecided",
            err=True,
        )
    return proofs


def _of_units(planned: Sequence[Unit], jobs: int) -> list[UnitProof]:
    """All proofs in the order of the units, with a progress bar."""
    found: dict[Unit, UnitProof] = {}
    with long_work("proving", "runs", len(planned)) as progress:
        for proof in judge_units(
            planned, _work, jobs=min(jobs, len(planned)), died=lambda unit: UnitProof(unit, failed=DIED)
        ):
            found[proof.unit] = proof
            progress.advance(f"proving {proof.unit}")
    return [found[unit] for unit in planned]


def _work(unit: Unit) -> UnitProof:
    """One unit in a worker process; what goes wrong is a value."""
    try:
        if is_generated(unit.program):
            program = generated_program(unit.program)
            run = run_unit(replace(unit, program=program.name), {program.name: program})
        else:
            run = run_unit(unit, PROGRAMS)
        return prove_unit(unit, run.watched)
    except ToolchainMissing as missing:
        return UnitProof(unit, skipped=str(missing))
    except TestbedError as error:
        return UnitProof(unit, failed=str(error))
    except Exception:  # a bug of the testbed: it is this unit's, the others go on
        return UnitProof(unit, failed=f"it cannot be proven\n{traceback.format_exc()}")


@contextmanager
def _builds_kept(kept: bool) -> Iterator[None]:
    """Nobody builds generated programs twice: without ``kept`` what is built here is gone afterwards."""
    if kept:
        yield
        return
    before = os.environ.get("TESTBED_CACHE")
    with WorkFolder("prove") as folder:
        os.environ["TESTBED_CACHE"] = str(folder)
        try:
            yield
        finally:
            os.environ.pop("TESTBED_CACHE") if before is None else os.environ.update(TESTBED_CACHE=before)


def _lines(proofs: Sequence[UnitProof], added: Sum, seconds: float) -> Iterator[str]:
    left = _LEFT
    for each in proofs:
        if each.failed:
            yield f"{each.unit} failed: {each.failed}"
        dissents = each.proof.dissents if each.proof else ()
        for dissent in dissents[: min(_SHOWN, left)]:
            yield f"{each.unit} {dissent}"
        left = max(0, left - len(dissents[:_SHOWN]))
    runs = f"{added.units} runs" if added.units != 1 else str(proofs[0].unit)
    skipped = f", {added.skipped} skipped (a tool is missing)" if added.skipped else ""
    failed = f", {added.failed} failed" if added.failed else ""
    yield (
        f"{runs}{skipped}{failed}: {added.steps:,} steps compared, {added.agreed:,} agree, "
        f"{added.disagreed:,} disagree"
        + (f", {added.transition:,} differ where no single answer is right" if added.transition else "")
        + (f", {added.undecided:,} differ where no effect decides" if added.undecided else "")
        + (f", {added.unfollowed:,} returns could not be followed" if added.unfollowed else "")
        + f"; {seconds:.1f} s"
    )
