"""Small mistakes in the tables of the corpus' assembly: each row deleted, late by an instruction, with another CFA."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from programs import PROGRAMS
from testbed.arch import Arch
from testbed.build.recipes import recipes_for
from testbed.checks.row_checks import check_rows
from testbed.cli.table_readers import evaluate_rule
from testbed.contract.frames import Frame, FrameKind
from testbed.contract.rows import RegisterPlus, RowTable, UnwindRow
from testbed.conventions import platform
from testbed.runs.run import Run, run_program
from testbed.trace import Trace
from testbed.words.errors import UnwindError
from tests.checks.watched_tables import TABLE, loaded_of, table_of
from unwinders.rows.apply import apply


@dataclass(frozen=True)
class Mutant:
    """A table with one mistake; it says something else for the pcs ``[start, end)``."""

    kind: str
    table: RowTable
    start: int
    end: int


@dataclass
class Counts:
    """How many mutants were made of rows that cover executed instructions, and what became of them, by kind.

    ``changed``: the frame comes out otherwise at some visit, as `unwinders.rows.apply` evaluates rows, which shares no
    code with what is tested. ``unseen`` are those of them that no visit is blamed for.
    """

    made: Counter[str]
    changed: Counter[str]
    noticed: Counter[str]
    unseen: list[str]
    evidence: Counter[str] = field(default_factory=Counter)  # of those that were noticed

    @property
    def share(self) -> float:
        return self.noticed.total() / max(self.changed.total(), 1)


def assembly_runs(arch: Arch, part: slice) -> Iterator[Run]:
    """Runs of the corpus' assembly programs whose tables are right."""
    for program in list(PROGRAMS.values())[part]:
        sources = [source for source in program.sources.values() if source.isa]
        if arch not in program.arches() or not sources or any(source.header.wrong for source in sources):
            continue
        if any(recipe.name == "keystone" for recipe in recipes_for(program, arch)):
            run = run_program(program, arch, "keystone")
            if not run.failure:
                yield run


def mutants(table: RowTable, arch: Arch, sizes: Mapping[int, int]) -> Iterator[Mutant]:
    """Every mistake of each kind; ``sizes`` are those of instructions by their link-time pc."""
    rows = table.rows
    for i, row in enumerate(rows):
        before = rows[i - 1] if i and rows[i - 1].end == row.start and rows[i - 1].found_by == row.found_by else None
        others = [*rows[: i - (before is not None)]], [*rows[i + 1 :]]

        def made(
            kind: str, start: int, end: int, *its: UnwindRow, others: tuple[list[UnwindRow], ...] = others
        ) -> Mutant:
            return Mutant(kind, replace(table, rows=(*others[0], *its, *others[1])), start, end)

        kept = () if before is None else (before,)
        yield made("deleted", row.start, row.end, *(replace(each, end=row.end) for each in kept))
        late = row.start + sizes.get(row.start, 0)
        if before is not None and row.start < late:
            rest = (replace(row, start=late),) if late < row.end else ()
            yield made("late", row.start, late, replace(before, end=late), *rest)
        if isinstance(row.cfa, RegisterPlus):
            cfa = replace(row.cfa, offset=row.cfa.offset + arch.word)
            yield made("shifted", row.start, row.end, *kept, replace(row, cfa=cfa))
            for other in (arch.sp, *arch.frame_pointers):
                if other != row.cfa.register:
                    cfa = replace(row.cfa, register=other)
                    yield made("other base", row.start, row.end, *kept, replace(row, cfa=cfa))


def counted(run: Run, counts: Counts) -> None:
    """Try every mutant of a run's table."""
    table, own = table_of(run, TABLE[run.arch.name]), loaded_of(run)
    pc = run.trace.pc.astype(np.int64) - own.bias
    sizes = dict(zip(pc.tolist(), run.trace.sizes.tolist(), strict=True))
    for mutant in mutants(table, run.arch, sizes):
        steps = (pc >= mutant.start) & (pc < mutant.end) & ~run.watched.transition
        if not steps.any() or all(_alike(mutant.table.at(int(at)), table.at(int(at))) for at in np.unique(pc[steps])):
            continue
        counts.made[mutant.kind] += 1
        checks = check_rows(run.watched, mutant.table, own, steps=steps, evaluate=evaluate_rule)
        noticed = bool(checks.wrong.any())
        if not noticed and claims_only_more(run.trace, table, mutant.table, np.flatnonzero(steps), own.bias):
            continue  # the value that it gives a register which the table calls lost is the right one
        if not means_the_same(run.trace, table, mutant.table, np.flatnonzero(steps), own.bias):
            counts.changed[mutant.kind] += 1
            counts.noticed[mutant.kind] += noticed
            counts.evidence["executed"] += noticed
            if not noticed:
                counts.unseen.append(
                    f"{run.program.name} {run.arch} {mutant.kind} {run.where(mutant.start + own.bias)}"
                )
        else:
            assert not noticed, (
                f"{run}: {mutant.kind} {run.where(mutant.start + own.bias)} finds the same, and is blamed"
            )


def _alike(a: UnwindRow | None, b: UnwindRow | None) -> bool:
    if a is None or b is None:
        return a is b
    return (a.cfa, a.registers, a.return_address) == (b.cfa, b.registers, b.return_address)


def means_the_same(trace: Trace, one: RowTable, other: RowTable, steps: NDArray[np.int64], bias: int) -> bool:
    """Whether two tables give the same frame at every one of some steps."""
    return all(_frame(trace, one, k, bias) == _frame(trace, other, k, bias) for k in steps.tolist())


def claims_only_more(trace: Trace, one: RowTable, other: RowTable, steps: NDArray[np.int64], bias: int) -> bool:
    """Whether ``other`` gives the same frames, but for values of registers that ``one`` calls lost somewhere."""
    more = False
    for step in steps.tolist():
        first, second = (_frame(trace, table, step, bias) for table in (one, other))
        if first == second:
            continue
        if not (isinstance(first, tuple) and isinstance(second, tuple)):
            return False
        kept, claimed = first[2], second[2]
        if first[:2] + first[3:] != second[:2] + second[3:] or any(
            kept[name] not in (None, claimed[name]) for name in kept
        ):
            return False
        more = True
    return more


def _frame(trace: Trace, table: RowTable, step: int, bias: int) -> object:
    """The CFA and the caller that a table gives, by the unwinders' evaluator; of an outermost frame only that it is.

    A sign state counts, though who takes signatures off without authenticating does not see it.
    """
    at = trace.snapshot(step)
    row = table.at(at.pc - bias)
    if row is None:
        return "no row"
    frame = Frame(FrameKind.INTERRUPTED, at.pc, at.registers)
    try:
        cfa, caller = apply(row, frame, at, bias)
    except UnwindError as why:
        return type(why)
    if caller is None:
        return "outermost"
    kept = {name: caller.registers.get(name) for name in platform(trace.arch).preserved}
    return cfa, caller.pc, kept, row.is_signed
