"""How values look in a notebook. The values know nothing of it: the formats are registered with IPython by name.

`import testbed` in a notebook registers them. Each is one HTML output without a script.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from testbed.campaign.results import Matrix
from testbed.contract.frames import Backtrace, behind_call
from testbed.contract.rows import RowTable
from testbed.image import describe
from testbed.naming.symbolize import NamedBacktrace, Origin, with_places
from testbed.report.markup import chip, heading, marked, page, paragraph, table
from testbed.report.phrases import count, share
from testbed.report.table_text import LEGEND, cfa_text, rule_text
from testbed.report.timeline import changes, true_stacks
from testbed.runs.run import Run
from testbed.trace import Snapshot
from testbed.truth import CallStack
from testbed.verdicts.one import Verdict

MAX_ROWS = 60
MAX_DEPTH = 40


def run_html(run: Run) -> str:
    """A run: what it is, and the truth's call depth over its steps."""
    return page(
        Markup("<b>{}</b>").format(str(run)),
        paragraph(run.program.summary),
        _flame(run),
        paragraph(marked(f"seed {run.trace.seed}, {count(len(run.trace.writes), 'write')}", "dim")),
    )


_BAR = Markup(
    "<g><title>{name}, steps {start} to {end}</title>"
    '<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{high}" fill="hsl({hue} 60% 80%)" stroke="#fff8"/>'
    '<text x="{text:.1f}" y="{base}" font-size="11" fill="#222">{label}</text></g>'
)


def _flame(run: Run) -> Markup:
    """The calls as an icicle chart: time to the right, the root on top."""
    width, height, deepest = 900, 17, 0
    open_: list[int] = []
    bars: list[Markup] = []
    hues: dict[str, int] = {}
    scale = width / max(len(run), 1)
    for change in changes(iter(true_stacks(run))):
        if change.opens:
            open_.append(change.step)
            continue
        start, depth = open_.pop(), len(open_)
        wide = (change.step - start) * scale
        if wide < 0.5 or depth >= MAX_DEPTH:
            continue
        deepest = max(deepest, depth)
        bars.append(
            _BAR.format(
                name=change.name,
                start=start,
                end=change.step - 1,
                x=start * scale,
                y=depth * height,
                wide=wide,
                high=height - 1,
                hue=hues.setdefault(change.name, len(hues)) * 137 % 360,
                text=start * scale + 4,
                base=depth * height + 12,
                label=change.name if wide > 7 * len(change.name) + 6 else "",
            )
        )
    tall = (deepest + 1) * height
    return Markup(
        '<svg viewBox="0 0 {} {}" width="{}" style="max-width:100%" font-family="monospace" role="img" '
        'aria-label="call depth over the steps">{}</svg>'
    ).format(width, tall, width, Markup("").join(bars))


def snapshot_html(snapshot: Snapshot) -> str:
    """A snapshot: where it is, and its registers."""
    names = [register.name for register in snapshot.arch.registers if register.name in snapshot.registers]
    values = [(name, f"{snapshot.registers[name]:#x}") for name in names]
    per = -(-len(values) // 4)
    rows = [[part for name, value in values[i::per] for part in (marked(name, "dim"), value)] for i in range(per)]
    return page(Markup("<b>{}</b>").format(str(snapshot)), table((), rows))


def call_stack_html(stack: CallStack) -> str:
    """The true frames, innermost first."""
    rows = [
        (str(i), describe(stack.images, frame.pc, caller=frame.calling), _hex(frame.pc), _hex(frame.cfa))
        for i, frame in enumerate(stack.frames)
    ]
    return page(heading("the true call stack"), table(("#", "where", "pc", "CFA"), rows))


def backtrace_html(said: Backtrace) -> str:
    """What a strategy says, and how it ends."""
    rows = [
        (
            str(i),
            describe(said.images, frame.pc, caller=behind_call(said.frames, i)),
            _hex(frame.pc),
            _hex(frame.cfa),
            frame.found_by,
        )
        for i, frame in enumerate(said.frames[:MAX_ROWS])
    ]
    end = (
        "claims that the last frame is the root"
        if said.stopped is None
        else f"stops: {said.stopped.reason}, {with_places(said.images, str(said.stopped))}"
    )
    return page(heading("a backtrace"), table(("#", "where", "pc", "CFA", "found by"), rows), paragraph(end))


def _hex(address: int | None) -> str:
    return "" if address is None else f"{address:#x}"


def named_backtrace_html(named: NamedBacktrace) -> str:
    """The calls that a reader of the source expects, those without a frame marked, and where that is unsure."""
    rows = [
        (
            str(frame.physical) if frame.origin is Origin.PHYSICAL else "",
            frame.place if frame.origin is Origin.PHYSICAL else marked(str(frame), "dim"),
            f"{frame.line.name}:{frame.line.line}" if frame.line else "",
        )
        for frame in named.frames[:MAX_ROWS]
    ]
    unsure = Markup("").join(paragraph(f"above frame {one.physical}: {one}") for one in named.unsure)
    return page(heading("a backtrace in names"), table(("#", "where", "source"), rows), unsure)


def verdict_html(verdict: Verdict) -> str:
    """The outcome, what differs first, and the clause that fails."""
    return page(
        Markup("{} {}").format(chip(verdict.outcome), "; ".join(filter(None, (verdict.difference, verdict.clause))))
    )


def matrix_html(matrix: Matrix) -> str:
    """The share of exact sites, a row per unit and a column per strategy."""
    names = matrix.unwinders
    shown = [result for result in matrix.results if result.cells][:MAX_ROWS]
    rows = []
    for result in shown:
        cells = {cell.unwinder: cell for cell in result.cells}
        row: list[str | Markup] = [result.unit.program, result.unit.arch, result.unit.recipe]
        for name in names:
            cell = cells.get(name)
            text = share(cell.exact, cell.judged) if cell else ""
            row.append(marked(f"{text} ?", "bad") if cell and cell.unexplained else text)
        rows.append(row)
    more = len([result for result in matrix.results if result.cells]) - len(shown)
    total = sum(cell.sites for cell in matrix.cells)
    words = f"{count(len(matrix.results), 'unit')}, {count(total, 'site')}; the share of exact sites"
    return page(
        paragraph(words + (f"; {more} more units in to_pandas()" if more > 0 else "")),
        table(("program", "arch", "recipe", *names), rows),
    )


def row_table_html(rows: RowTable) -> str:
    """The first rows of a table."""
    named = sorted({name for row in rows for name in row.registers})
    body = [
        (
            f"{row.start:#x}",
            cfa_text(row.cfa),
            *(rule_text(row.registers[n]) if n in row.registers else "" for n in named),
        )
        for row in rows.rows[:MAX_ROWS]
    ]
    return page(
        Markup("<b>{} of {}</b>").format(count(len(rows), "row"), rows.source),
        table(("loc", "CFA", *named), body),
        paragraph(marked(LEGEND, "dim")),
    )


FORMATS: dict[type, Callable[[Any], str]] = {
    Run: run_html,
    Snapshot: snapshot_html,
    CallStack: call_stack_html,
    Backtrace: backtrace_html,
    NamedBacktrace: named_backtrace_html,
    Verdict: verdict_html,
    Matrix: matrix_html,
    RowTable: row_table_html,
}


def register(shell: Any) -> None:
    """Tell an IPython shell how values of ours look."""
    formatter = shell.display_formatter.formatters["text/html"]
    for kind, html in FORMATS.items():
        formatter.for_type(kind, html)
