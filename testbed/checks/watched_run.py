"""The tables of one program held against a run of it that was watched: what `testbed check --executed` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from testbed.build.expressions import Place
from testbed.build.link import source_lines
from testbed.build.recipes import Tool
from testbed.checks.alike import group_findings
from testbed.checks.code_words import CodeWords
from testbed.checks.local_calls import local_calls, rows_beside
from testbed.checks.model import Severity, TableFinding
from testbed.checks.native.codes import NO_ROW
from testbed.checks.own_sources import sources_of
from testbed.checks.pc_checks import NO_CHECKS, ResultsByPc, by_pc
from testbed.checks.row_checks import RowChecks
from testbed.checks.row_columns import Evaluate
from testbed.checks.table_findings import table_findings, unreadable, wrong_pcs
from testbed.checks.true_rows import true_rows
from testbed.contract.rows import RowTable
from testbed.image.debug import debug_info
from testbed.runs.run import Run
from testbed.words.errors import BuildError, UnwindError


@dataclass(frozen=True, eq=False)
class TableReader:
    """How an unwinder's table is read, and what it promises.

    ``at_calls``: its rows are right at calls only. ``advises``: it is made of `.cfi_*` directives.
    """

    unwinder: str
    read: Callable[[], RowTable]
    at_calls: bool = False
    advises: bool = True


@dataclass(frozen=True, eq=False)
class TableLint:
    """One table beside one run. ``table`` is its section; ``checks`` has each instruction that was compared."""

    unwinder: str
    table: str
    checks: ResultsByPc = field(repr=False)
    findings: tuple[TableFinding, ...]
    at_calls: bool = False

    @property
    def compared(self) -> int:
        """How many instructions were held against a row, or found to have none."""
        return len(self.checks)

    @property
    def without_row(self) -> int:
        return int((self.checks.some == NO_ROW).sum())

    @property
    def untried(self) -> int:
        """How many instructions have a rule that could not be tried at some visit."""
        return int((self.checks.untried > 0).sum())

    @property
    def wrong(self) -> int:
        """How many instructions have a row that is wrong or cannot be read."""
        return int(((self.checks.wrong > 0) & (self.checks.some != NO_ROW)).sum())

    @property
    def fails(self) -> bool:
        return any(finding.severity is not Severity.NOTE for finding in self.findings)


def lint(run: Run, reader: TableReader, evaluate: Evaluate | None = None) -> TableLint:
    """Hold a table of a run's program against the run, as far as that went.

    ``evaluate`` computes DWARF expressions. A table that cannot be read at all is a finding.
    """
    try:
        table = reader.read()
    except UnwindError as why:
        return TableLint(
            reader.unwinder, reader.unwinder, NO_CHECKS, (unreadable(reader.unwinder, why),), reader.at_calls
        )
    loaded = next(loaded for loaded in run.trace.images if loaded.image is run.built.image)
    local = local_calls(run.watched, np.full(len(run.trace), not run.failure))
    called = run.watched if local is None else local.truth
    steps = rows_beside(run.watched, local, table, loaded, at_calls=reader.at_calls, evaluate=evaluate)
    checks = by_pc(steps)
    pcs = wrong_pcs(checks, loaded.image)
    true = true_rows(called, steps, table, pcs)
    compared = np.flatnonzero(steps.compared)
    compared = compared[np.argsort(run.trace.sizes[compared], kind="stable")]  # where a signal arrives the size is 0
    sizes = dict(zip(steps.pc[compared].tolist(), run.trace.sizes[compared].tolist(), strict=True))
    advises, words = reader.advises and not reader.at_calls, code_words(run, steps)
    findings = table_findings(table, loaded.image, checks.masks, true, sizes, words, advises=advises)
    told = tuple(group_findings(findings, parts=reader.at_calls or not len(table)))
    return TableLint(reader.unwinder, table.source, checks, told, reader.at_calls)


def code_words(run: Run, steps: RowChecks) -> CodeWords:
    """How the code of a run's program is named."""
    loaded = next(loaded for loaded in run.trace.images if loaded.image is run.built.image)
    compared = np.flatnonzero(steps.compared & (run.trace.sizes > 0))
    first = dict(zip(steps.pc[compared][::-1].tolist(), compared[::-1].tolist(), strict=True))

    lines = cache(lambda: _assembly_lines(run))  # only where something is wrong

    def source(pc: int) -> tuple[str, int]:
        line = debug_info(loaded.image).line_at(pc)
        if line is not None and line.line:
            return line.file, line.line
        place = lines().get(pc)
        return (str(place.path), place.line) if place is not None else ("", 0)

    return CodeWords(
        where=lambda pc: run.where(pc + loaded.bias),
        instruction=lambda pc: run.instruction(first[pc]) if pc in first else "",
        source=source,
        sources=sources_of(run.built.source.path),
    )


def _assembly_lines(run: Run) -> Mapping[int, Place]:
    """The lines of a source in assembly. Where only another assembler understands it, none."""
    built = run.built
    if built.source.isa is None or built.recipe.tool not in _ASSEMBLERS:
        return {}
    try:
        return source_lines(built.source, built.arch, built.isa, built.image)
    except BuildError:
        return {}


_ASSEMBLERS = (Tool.KEYSTONE, Tool.CLANG_ASSEMBLY, Tool.GNU_ASSEMBLY)
