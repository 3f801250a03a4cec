"""A run on the terminal: steps with every unwinder's outcome, sums, what differs first and why, one last sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from testbed.campaign.cells import Cell, Difference
from testbed.contract.assumption import CLAUSES
from testbed.report.narrow_tables import NumberedRow, NumberedTable
from testbed.report.phrases import BESIDE, STYLES, besides, count, share
from testbed.report.step_lines import Judged, StepLines, differing, first_visits, mark_columns
from testbed.runs.run import Run
from testbed.verdicts.verdict import Accord
from testbed.words.outcome import Outcome

MOST_STEPS = 200  # of a longer run only instructions at which something differs are shown,
MOST_LINES = 40  # and so many of those
_DOES = {Outcome.CRASHED: "crashes", Outcome.HUNG: "hangs"}


def run_page(
    run: Run, judged: Judged, *, only_differences: bool = False, every_step: bool = False, explain: bool = False
) -> RenderableType:
    """A run: title, steps, marks, a summary per unwinder, the first difference of each, causes, the answer."""
    cells = [cell for cell, _ in judged]
    parts = [*_steps(run, judged, only_differences, every_step), *_summaries(cells, explain), answer(cells)]
    return Group(_title(run), *parts)


def summary_page(title: str, note: str, cells: Sequence[Cell], *, explain: bool = False) -> RenderableType:
    """A run without its steps: title, a summary per unwinder, the first difference of each, causes, the answer."""
    return Group(Text.assemble((title, "bold"), f"\n{note}\n"), *_summaries(cells, explain), answer(cells))


def _title(run: Run) -> Text:
    text = Text()
    text.append(f"{run.program.name} · {run.arch} · {run.recipe.name}", style="bold")
    text.append(f"   {count(len(run), 'step')}, {run.ending}, seed {run.trace.seed}\n")
    text.append(run.program.summary + "\n", style="italic")
    for said in filter(None, (run.undecided, *map("judged: {}".format, run.conventions))):
        text.append(f"{said}\n")
    return text


def _steps(run: Run, judged: Judged, only_differences: bool, every_step: bool) -> Iterator[RenderableType]:
    columns = mark_columns(judged)
    differ = differing(columns)
    if only_differences or every_step or len(run) <= MOST_STEPS:
        steps = differ.tolist() if only_differences else range(len(run))
        yield StepLines(run, columns, steps)
    else:
        visits = first_visits(run, columns, differ)
        some = dict(list(visits.items())[:MOST_LINES])
        yield StepLines(run, columns, list(some), some)
        yield Text(_left_out(run, len(differ), len(visits), len(some)), "dim")
    yield _marks([cell for cell, _ in judged])


def _left_out(run: Run, differ: int, kinds: int, shown: int) -> str:
    """What the lines of a long run stand for, and how to see the others."""
    if not differ:
        return f"No unwinder differs at any of the {count(len(run), 'step')}. --steps shows them all."
    first = f"the first {shown} of " if shown < kinds else ""
    return (
        f"A run of {count(len(run), 'step')}: shown are {first}the {count(kinds, 'instruction')} at which an unwinder "
        f"is not exact, once for each row of marks (×: at so many steps; {differ:,} in all).\n"
        "--differences shows each of these steps, --steps every step, -o FILE.html a page that steps through the run."
    )


def _marks(cells: Sequence[Cell]) -> RenderableType:
    """What the letters mean that occur, in a line."""
    occur = [outcome for outcome in Outcome if any(cell.outcomes.get(outcome) for cell in cells)]
    text = Text("\n")
    for outcome in occur:
        text.append(outcome.mark, STYLES[outcome] if outcome is not Outcome.EXACT else "")
        text.append(f" {outcome.words}   ", "dim")
    notes = ["CAPITALS: a lie"] if any(outcome.lying for outcome in occur) else []
    notes += ["?: unexplained"] if any(cell.unforetold for cell in cells) else []
    notes += (
        ["~: nobody is judged: in transition, or undecided"]
        if any(cell.transition + cell.undecided for cell in cells)
        else []
    )
    text.append("   ".join(notes), "dim")
    return text


def _summaries(cells: Sequence[Cell], explain: bool) -> Iterator[RenderableType]:
    if not cells:
        return
    yield Text()
    yield _summary(cells)
    yield from _differences(cells)
    if open_ := unclaimed(cells):
        yield Text(f"\n{open_}", "dim")
    if explain:
        yield _glossary(cells)


def _summary(cells: Sequence[Cell]) -> RenderableType:
    columns: dict[str, Callable[[Cell], int]] = {
        "exact": lambda cell: cell.exact,
        "honest stops": lambda cell: cell.stopped - cell.dead,
        "no answer": lambda cell: cell.dead,
        "lies": lambda cell: cell.lying,
        "in transition": lambda cell: cell.transition,
    }
    for name in ("no answer", "in transition"):
        if not any(columns[name](cell) for cell in cells):
            del columns[name]
    columns |= {name: attrgetter(name) for name in besides(cells)}
    rows = []
    for cell in cells:
        numbers = [f"{of(cell):,}" for of in columns.values()]
        exact = share(cell.exact, cell.judged)
        rows.append(NumberedRow((cell.unwinder,), (*numbers, exact), "bold red" if cell.unexplained else ""))
    return NumberedTable(("unwinder",), (*columns, "exact of all"), tuple(rows))


def _differences(cells: Sequence[Cell]) -> Iterator[RenderableType]:
    """The first difference of each unwinder, with a letter for its cause; each cause once, with its reference."""
    causes = Footnotes()
    for cell in cells:
        first = cell.first_unexplained or cell.first_lie or cell.first
        if first is None:
            continue
        head = f"{cell.unwinder} {_DOES.get(first.outcome, 'lies' if first.outcome.lying else 'stops')} first "
        if first.clause is None:
            yield _paragraph(Text.assemble((head, "bold"), first.seen, (f" {first.wrong}", "bold red")))
            continue
        letter = causes.letter(first.because)
        yield _paragraph(Text.assemble((head, "bold"), first.seen, f" {letter}{_by_cause(cell, causes)}"))
    yield from causes.lines()


def _by_cause(cell: Cell, causes: Footnotes) -> str:
    """Where an unwinder differs for more than one reason: how many steps each one has."""
    steps: Counter[str] = Counter()
    for cause in cell.causes:
        steps[causes.letter(cause.because)] += cause.steps
    if len(steps) < 2:
        return ""
    return " Its steps by cause: " + ", ".join(f"{number:,} {letter}" for letter, number in steps.most_common()) + "."


def _paragraph(text: Text) -> Text:
    return Text("\n") + text


def answer(cells: Sequence[Cell]) -> Text:
    """The run in one sentence: who is right everywhere, who lies first, where and why."""
    if not cells:
        return Text("\nNo unwinder was asked: nothing is judged.", "bold")
    right = sum(cell.exact == cell.judged for cell in cells)
    sites = count(max(cell.judged for cell in cells), "step")
    said = f"{right} of {count(len(cells), 'unwinder')} exact at all {sites}"
    if len(cells) == 1:
        said = f"{cells[0].unwinder} is exact at {f'{cells[0].exact:,} of' if not right else 'all'} {sites}"
    if open_ := [cell for cell in cells if cell.unforetold]:
        each = ", ".join(f"{cell.unwinder} at {cell.unforetold:,}" for cell in open_)
        first = min(filter(None, (cell.first_unexplained for cell in open_)), key=attrgetter("step"))
        return Text(f"\n{said}; UNEXPLAINED: {each}, first at {first.where} (step {first.step}).", "bold red")
    silent = ", ".join(f"{cell.unwinder} gives no answer at {cell.dead:,}" for cell in cells if cell.dead)
    failing = [cell for cell in cells if cell.unexplained]
    liars = [(cell.first_lie, cell) for cell in failing or cells if cell.first_lie is not None]
    if liars:
        lie, cell = min(liars, key=lambda each: each[0].step)
        name = cell.unwinder if len(cells) > 1 else "it"
        liar = f"{name} lies at {cell.lying:,}, first" if failing or len(cells) == 1 else f"{name} lies first,"
        dead = f"; {silent}" * bool(silent)
        return Text(f"\n{said}; {liar} at {lie.where} (step {lie.step}): {_clause(lie)}{dead}.", "bold")
    if silent:
        nobody = "" if any(cell.lying for cell in cells) else "nobody lies, and "
        return Text(f"\n{said}; {nobody}{silent}.", "bold")
    others = "the others stop honestly: nobody lies" if len(cells) > 1 else "it stops honestly at the others"
    return Text(f"\n{said}" + ("." if right == len(cells) else f"; {others}."), "bold")


def _clause(difference: Difference) -> str:
    """The clause that fails, without the place and what else is known; without one all that is known."""
    if difference.clause is None:
        return difference.because
    because = difference.because.removeprefix(f"at {difference.where} ")
    return re.split(r"[,:;(]", because)[0].strip()


def _glossary(cells: Sequence[Cell]) -> RenderableType:
    """What the words on this page mean; only those that occur."""
    table = Table.grid(padding=(0, 1, 0, 0))
    for outcome in Outcome:
        if any(cell.outcomes.get(outcome) for cell in cells):
            table.add_row(Text(outcome.words, style=STYLES[outcome]), outcome.mark, outcome.meaning)
    for name, meaning in [*((name, BESIDE[name]) for name in besides(cells)), *clauses_failed(cells)]:
        table.add_row(Text(name, style="bold"), "", meaning)
    note = (
        "sp, fp: relative to the CFA, which is the caller's SP; nothing: as in the line above; top: SP as the program "
        "began with it; caller's: fp as it was at the function's entry."
    )
    return Group(Text(), table, Text(note, style="dim"))


# Reasons as footnotes: a letter where a reason applies, its sentence once, below.


class Footnotes:
    """The footnotes of a report: letters for sentences, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def letter(self, because: str) -> str:
        """``[a]``, then ``[b]``; after ``[z]`` comes ``[aa]``."""
        return f"[{self._letters.setdefault(because, _letters(len(self._letters)))}]"

    def lines(self) -> Iterator[RenderableType]:
        """A heading and every cause; nothing where there are none."""
        if not self._letters:
            return
        yield Text("\nwhy", "bold")
        table = Table.grid(padding=(0, 1, 0, 0))
        for because, letter in self._letters.items():
            table.add_row(Text(f"[{letter}]"), Text(because))
        yield table


def clauses_failed(cells: Iterable[Cell]) -> list[tuple[str, str]]:
    """The clauses that fail in these cells, by name, and what each of them says when it holds."""
    names = {clause for cell in cells for clause, _ in cell.shown if clause}
    return [(name, f"the clause that fails: {CLAUSES[name].holds}") for name in sorted(names)]


def unclaimed(cells: Iterable[Cell]) -> str:
    """Of which tools no explanation is claimed, as a sentence; "" where of all something is."""
    names = dict.fromkeys(
        cell.unwinder
        for cell in cells
        for kind in cell.kinds
        if kind.accord is Accord.UNCLAIMED and not kind.exact and not kind.clause
    )
    return f"Of {', '.join(names)} no explanation is claimed: the outcomes are counted." if names else ""


def _letters(number: int) -> str:
    return (_letters(number // 26 - 1) if number >= 26 else "") + chr(ord("a") + number % 26)
