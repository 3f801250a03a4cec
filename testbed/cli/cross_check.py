"""``--cross-check``: the truth, proven by a second witness that shares nothing with it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial

import click

from programs import PROGRAMS
from testbed.campaign.cells import Unit, run_unit
from testbed.campaign.matrix import DIED, judge_units
from testbed.campaign.prove import Sum, UnitProof, prove_unit, total
from testbed.cli.options import NamedRun, RunOptions, refuse_others
from testbed.cli.process_options import ProcessOptions
from testbed.cli.process_run import budget_of, watched_process
from testbed.cli.program_files import is_process
from testbed.cli.terminal import in_order, status
from testbed.generate.program import generated_program
from testbed.generate.seeds import is_generated
from testbed.words.errors import TestbedError, ToolchainMissing

_SHOWN = 3  # disagreements of one run that are printed
_LEFT = 20  # and of all runs


def check_named(options: RunOptions, own: ProcessOptions) -> int:
    """Compare the witnesses in the run of a program, or of a process; the exit status."""
    ours = ("cross_check", "arch", "recipe", "seed", "budget", "conventions", "as_json")
    refuse_others("--cross-check", *ours, *(each.name for each in fields(own) if each.name not in ("sample", "stdout")))
    program = options.program
    if program is None:
        raise click.UsageError("PROGRAM is missing (testbed list programs)")
    if is_process(program, own):
        return _tell(partial(_of_process, options, own), as_json=options.as_json)
    how = {"seed": options.seed, "budget": options.budget}
    named = NamedRun(program=program, arch=options.arch, recipe=options.recipe, **how)
    return _tell(partial(_of_program, named), as_json=options.as_json)


def check_units(planned: Sequence[Unit], jobs: int, *, as_json: bool) -> int:
    """Compare the witnesses in every unit; the exit status."""
    return _tell(partial(_of_units, planned, jobs), as_json=as_json)


def _tell(prove: Callable[[], Sequence[UnitProof]], *, as_json: bool) -> int:
    begun = time.monotonic()
    proofs = prove()
    added = total(proofs)
    if as_json:
        from testbed.report.json_forms import ProofsForm
        from testbed.store.codec import json_of

        click.echo(json_of(ProofsForm, {"proofs": proofs, "added": added}), nl=False)
    else:
        for line in _lines(proofs, added, time.monotonic() - begun):
            click.echo(line)
    return int(bool(added.failed or added.disagreed or added.unfollowed or not added.steps))


def _of_program(named: NamedRun) -> list[UnitProof]:
    with status(f"running {named.program}"):
        run = named.run()
        if run.failure:
            raise TestbedError(f"{run}: {run.failure}")
        return [prove_unit(Unit(run.program.name, run.arch.name, run.recipe.name), run.watched)]


def _of_process(options: RunOptions, own: ProcessOptions) -> list[UnitProof]:
    """A proof per thread. Says how many steps of each have no single right answer."""
    process = watched_process(options, own, budget_of(options.budget))
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
    proofs = judge_units(planned, _work, jobs=min(jobs, len(planned)), died=lambda unit: UnitProof(unit, failed=DIED))
    return in_order("proving", planned, proofs)


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
