"""``testbed edit``: an editor beside the stepper, in a browser on this machine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from programs import PROGRAMS
from testbed.arch import ARCHES, arch_named
from testbed.build.recipes import recipes_for
from testbed.campaign.cells import Cell, cell_of
from testbed.cli.options import arch_option, budget_of_edits, port_option, unwinders_option
from testbed.cli.unwinders import telling, unwinders_named
from testbed.program.model import Program, read_program
from testbed.report.answers import answers_of
from testbed.report.json_data import counts
from testbed.report.stepper import stepper_html
from testbed.runs.by_name import SOURCES, named_arch, named_program
from testbed.runs.run import Run, run_built, run_program
from testbed.serve.edited_source import EditedSource
from testbed.serve.server import EditorServer
from testbed.serve.work_process import WorkProcess
from testbed.trace import Exited
from testbed.words.errors import TestbedError, UsageError

# What `testbed edit` does for a change, in a process of its own: build, run, judge, and draw the stepper.

Question = tuple[EditedSource, Path | None]
UNENDING = 300  # steps that are shown of a run that does not end
_BESIDE = ("fragments", "parts")  # what sources of the corpus include


def judge_edits(names: Sequence[str], budget: int) -> Callable[[Question], dict[str, Any]]:
    """The function that judges edits by the unwinders of these names, or by the telling ones."""
    chosen = unwinders_named(names) if names else []

    def judge(question: Question) -> dict[str, Any]:
        edit, folder = question
        started = time.perf_counter()
        run = _run(edit, folder, budget)
        unwinders = [each for each in chosen or telling(run.built.image, 0) if each.applies_to(run.built.image)]
        answers = answers_of(run, unwinders)
        cells = [cell_of(run, each.unwinder, each.verdicts) for each in answers.each]
        return {
            "page": stepper_html(run, answers, cells),
            "steps": len(run),
            "ending": run.ending,
            "recipe": run.recipe.name,
            "notes": list(_notes(run, cells)),
            "cells": [{"name": cell.unwinder, **counts(cell)} for cell in cells],
            "seconds": round(time.perf_counter() - started, 3),
        }

    return judge


def _run(edit: EditedSource, folder: Path | None, budget: int) -> Run:
    """The source built and run; of one that does not end, its beginning."""
    with _written(edit, folder) as path:
        run = run_program(read_program(path, own=True), arch_named(edit.arch), edit.recipe or None, budget=budget)
    return run if isinstance(run.trace.end, Exited) else run_built(run.built, budget=min(budget, UNENDING))


def _notes(run: Run, cells: Sequence[Cell]) -> Iterator[str]:
    """What a reader has to know before believing the page."""
    if run.failure:
        yield run.failure
    for said in run.disagreements:
        yield said.rpartition("/")[2]
    for cell in cells:
        if cell.first_unexplained is not None:
            yield cell.first_unexplained.sentence


@contextmanager
def _written(edit: EditedSource, folder: Path | None) -> Iterator[Path]:
    """The source as a file in a folder of its own, with the corpus's fragments and parts beside it."""
    with tempfile.TemporaryDirectory(prefix="testbed-edit-") as temporary:
        for name in _BESIDE:
            if folder is not None and (folder / name).is_dir():
                (Path(temporary) / name).symlink_to(folder / name)
        path = Path(temporary, f"{edit.program}{edit.suffix}")
        path.write_text(edit.text, encoding="utf-8")
        try:
            yield path
        except TestbedError as error:  # a place in a folder that is gone again says nothing
            raise TestbedError(str(error).replace(f"{temporary}/", "")) from error


SECONDS = 20.0  # after which a change is given up; it takes some tenths
BUDGET = 5_000  # steps


@click.command("edit")
@click.argument("program", required=False, default="leaf_call")
@arch_option
@unwinders_option
@port_option
@budget_of_edits
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
def command(program: str, arch: str | None, names: tuple[str, ...], port: int, budget: int, opens: bool) -> None:
    """Edit PROGRAM in a browser on this machine, and see rows, outcomes and verdicts change.

    PROGRAM is a name from `testbed list programs`, or the path of a source; the file is not written to. The server
    listens on this machine alone (127.0.0.1), for whoever has the address that is printed.
    """
    first = named_program(PROGRAMS, program)
    chosen = named_arch(first, arch).name
    server, work = editor_server(first, chosen, names, port=port, budget=budget)
    try:
        click.echo(f"{server.guard.url}\nCtrl-C ends it.")
        if opens:
            click.launch(server.guard.url)
        server.serve_forever()
    except KeyboardInterrupt:
        click.echo("")
    finally:
        server.server_close()
        work.stop()


def editor_server(
    first: Program, arch: str, names: tuple[str, ...] = (), *, port: int = 0, budget: int = BUDGET
) -> tuple[EditorServer, WorkProcess]:
    """A server that is not serving yet, and the process that works for it, starting."""
    from testbed.report.page import editor_html

    # Hand-written ones, and small C: not what is generated.
    editable = {
        name: each
        for name, each in PROGRAMS.items()
        if all(source.path.suffix in SOURCES and source.path.is_file() for source in each.sources.values())
    }
    programs = {first.name: first, **editable}
    work = WorkProcess(partial(judge_edits, names, budget), seconds=SECONDS)
    try:
        server = EditorServer(
            lambda: editor_html(
                {name: [each.name for each in program.arches()] for name, program in programs.items()}, first.name, arch
            ),
            lambda name, asked: _source(programs, name, asked),
            lambda edit: work.ask((edit, _folder(programs, edit))),
            port=port,
        )
    except OSError as error:
        raise UsageError(f"port {port} of 127.0.0.1 cannot be had: {error.strerror or error}") from error
    work.start()
    return server, work


def _source(programs: dict[str, Program], name: str, arch: str) -> dict[str, Any]:
    """A program's source for an architecture, and the recipes that can build it."""
    if name not in programs or arch not in ARCHES:
        raise UsageError("no such program or architecture")
    program = programs[name]
    recipes = recipes_for(program, ARCHES[arch], everything=True)
    built = recipes[0].source_of(program, ARCHES[arch]) if recipes else None
    source = built or next(iter(program.sources.values()))
    return {
        "program": program.name,
        "suffix": source.path.name.removeprefix(program.name),
        "text": source.text,
        "summary": program.summary,
        "recipes": [recipe.name for recipe in recipes if recipe.source_of(program, ARCHES[arch]) is source],
    }


def _folder(programs: dict[str, Program], edit: EditedSource) -> Path | None:
    """Where the files are that a program includes."""
    known = programs.get(edit.program)
    return None if known is None else next(iter(known.sources.values())).path.resolve().parent
