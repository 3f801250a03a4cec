"""Watched runs of the corpus with the tables that they carry, and tables that are damaged at random."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.checks.watched_run import TableLint, lint
from testbed.cli.table_readers import evaluate_rule, table_readers
from testbed.contract.rows import (
    RA_SIGNED,
    AtRegister,
    Constant,
    Offset,
    RegisterPlus,
    RowTable,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
    ValOffset,
)
from testbed.conventions import platform
from testbed.image import LoadedImage
from testbed.runs.run import Run, run_program
from unwinders import UNWINDERS

TABLE = {"x86_64": "eh_frame", "arm64": "eh_frame", "arm32": "debug_frame"}


@cache
def ran(program: str, arch: str, recipe: str | None = None) -> Run:
    return run_program(PROGRAMS[program], ARCHES[arch], recipe)


def loaded_of(run: Run) -> LoadedImage:
    return next(loaded for loaded in run.trace.images if loaded.image is run.built.image)


def table_of(run: Run, name: str) -> RowTable:
    rows = UNWINDERS[name].rows
    assert rows is not None
    return rows(run.built.image)


def tables_of(run: Run) -> Iterator[tuple[str, RowTable]]:
    for name, unwinder in UNWINDERS.items():
        if unwinder.rows is not None and name != "prologue_analysis" and unwinder.applies_to(run.built.image):
            yield name, unwinder.rows(run.built.image)


def damaged(table: RowTable, arch: Arch, rng: random.Random) -> RowTable:
    """The table with other rules in most rows: some of them right by luck, some that no format says."""
    rows = (replace_rules(row, arch, rng) for row in table if rng.random() < 0.95)
    return replace(table, rows=tuple(rows))


def replace_rules(row: UnwindRow, arch: Arch, rng: random.Random) -> UnwindRow:
    names = [register.name for register in arch.registers]
    registers = dict(row.registers)
    for _ in range(rng.randrange(3)):
        registers[rng.choice([*names, row.return_address, *platform(arch).preserved])] = any_rule(arch, rng)
    if rng.random() < 0.2:
        registers[RA_SIGNED] = Constant(rng.randrange(2))
    if rng.random() < 0.1:
        registers.pop(row.return_address, None)
    cfa = any_rule(arch, rng) if rng.random() < 0.2 else row.cfa
    zero = rng.choice(arch.frame_pointers) if rng.random() < 0.1 else None
    signal = rng.random() < 0.1
    return replace(row, cfa=cfa, registers=registers, outermost_if_zero=zero, signal_frame=signal)


def any_rule(arch: Arch, rng: random.Random) -> Rule:
    offset = arch.word * rng.randrange(-6, 6) + rng.choice((0, 0, 0, 1))
    base = rng.choice((arch.sp, *arch.frame_pointers, arch.registers[0].name, "not a register"))
    rules: tuple[Rule, ...] = (Offset(offset), ValOffset(offset), AtRegister(base, offset), RegisterPlus(base, offset))
    return rng.choice((*rules, SameValue(), SameValue(), Undefined(), Constant(rng.randrange(1 << 64))))


def linted(run: Run, name: str) -> TableLint:
    """An unwinder's table of a run's program beside the run, as `testbed check --executed` reads it."""
    (reader,) = table_readers(run.built.image, (name,))
    return lint(run, reader, evaluate_rule)
