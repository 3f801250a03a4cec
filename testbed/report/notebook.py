"""How values look in a notebook. The values know nothing of it: the formats are registered with IPython by name.

`import testbed` in a notebook registers them. Each is one HTML output without a script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

from markupsafe import Markup, escape

from testbed.campaign.cells import Matrix
from testbed.contract.rows import RowTable
from testbed.contract.unwinder import Backtrace, Unwinder, behind_call
from testbed.image import describe
from testbed.naming.beside import Alignment
from testbed.naming.symbolize import NamedBacktrace, Origin, with_places
from testbed.report.phrases import count, share
from testbed.report.stack_drawing import WordKind
from testbed.report.step_text import AFTER, BEFORE
from testbed.report.step_view import Move, StepAnswer, StepView, moved, step_view
from testbed.report.table_text import LEGEND, cfa_text, rule_text
from testbed.report.timeline import changes, true_stacks
from testbed.runs.run import Run
from testbed.trace import Snapshot
from testbed.truth import CallStack
from testbed.verdicts.verdict import Verdict
from testbed.words.outcome import Outcome

# One step and the values of a run as pieces of HTML, for notebooks: no script, colours that fit light and dark.

WORDS = 32  # of the stack that are shown
TableCell = str | Markup

_STYLE = Markup(
    "<style>.tb{font:13px/1.45 system-ui,sans-serif;max-width:72rem}"
    ".tb table{border-collapse:collapse;margin:.3em 0 .8em;font:12px/1.45 ui-monospace,monospace}"
    ".tb th,.tb td{text-align:left;padding:1px 12px 1px 0;background:none;white-space:nowrap;border:0}"
    ".tb thead th{border-bottom:1px solid #8886;font-weight:600}"
    ".tb .here{background:#5b8def33}.tb .dim{opacity:.6}.tb .bad{color:#d1426a;font-weight:700}"
    ".tb .chip{border-radius:4px;padding:0 .5em;color:#1f1d1a;font-weight:600}"
    ".tb .cols{display:flex;flex-wrap:wrap;gap:0 3em}.tb h4{margin:.5em 0 0;font-size:13px}</style>"
)
_COLOURS = {
    Outcome.EXACT: "#d5e8d8",
    Outcome.REFUSED: "#f5e2a0",
    Outcome.STOPPED: "#eecb6a",
    Outcome.ENDED_EARLY: "#f0a35c",
    Outcome.SKIPPED: "#e8777a",
    Outcome.PHANTOM: "#bd86cb",
    Outcome.WRONG_REGISTER: "#7aa5e6",
    Outcome.WRONG: "#c8607a",
    Outcome.CRASHED: "#a8a29a",
    Outcome.HUNG: "#c4beb5",
}


def page(*parts: Markup) -> str:
    """Pieces as one output."""
    return _STYLE + Markup('<div class="tb">') + Markup("").join(parts) + Markup("</div>")


def heading(text: str) -> Markup:
    """A heading of a notebook's output."""
    return Markup("<h4>{}</h4>").format(text)


def paragraph(text: TableCell) -> Markup:
    """A paragraph of a notebook's output."""
    return Markup("<div>{}</div>").format(text)


def chip(outcome: Outcome) -> Markup:
    """An outcome, in capitals where it is a lie."""
    word = outcome.value.upper() if outcome.lying else outcome.value
    return Markup('<span class="chip" style="background:{}" title="{}">{}</span>').format(
        _COLOURS[outcome], outcome.meaning, word
    )


def marked(text: TableCell, kind: str) -> Markup:
    """Text of one of the style's classes."""
    return Markup('<span class="{}">{}</span>').format(kind, text)


def table(head: Sequence[TableCell], rows: Iterable[Sequence[TableCell]], *, here: int = -1) -> Markup:
    """A table; the row ``here`` is marked."""
    top = Markup("").join(Markup("<th>{}</th>").format(cell) for cell in head)
    body = [
        Markup('<tr class="here">' if i == here else "<tr>")
        + Markup("").join(Markup("<td>{}</td>").format(cell) for cell in row)
        + Markup("</tr>")
        for i, row in enumerate(rows)
    ]
    thead = Markup("<thead><tr>{}</tr></thead>").format(top) if head else Markup("")
    return Markup("<table>{}<tbody>{}</tbody></table>").format(thead, Markup("").join(body))


def step_html(view: StepView) -> str:
    """Everything about one step: what ``testbed run --machine`` prints."""
    words = ", ".join(word for word, _ in view.words)
    changed = ", ".join(f"{name} = {now:#x}" for name, _, now in view.changed)
    side = Markup('<div class="cols"><div>{}{}</div><div>{}{}</div></div>').format(
        heading("code"), _code(view), heading("stack, highest address first"), _stack(view)
    )
    registers = view.frame + (f"; the step before changed {changed}" if changed else "")
    return page(
        Markup("<b>{}</b>").format(view.number + (f"   ({words})" if words else "")),
        side,
        paragraph(registers),
        _rows(view),
        heading("who called"),
        _frames(view),
    )


def _code(view: StepView) -> Markup:
    lines = view.code(BEFORE, AFTER)
    here = next(i for i, line in enumerate(lines) if line.pc == view.pc)
    return table((), [(line.where, line.text, marked(line.source_text, "dim")) for line in lines], here=here)


def _stack(view: StepView) -> Markup:
    drawing = view.stack.nearest(WORDS)
    rows: list[tuple[TableCell, ...]] = []
    if drawing.left_out:
        rows.append(("", "", f"{drawing.left_out} words further out", ""))
    for word in reversed(drawing.words):
        value = "" if word.value is None or word.kind is WordKind.UNTOUCHED else f"{word.value:#x}"
        label: TableCell = f"{word.kind.mark} {word.label}"
        if word.kind in (WordKind.UNTOUCHED, WordKind.BELOW, WordKind.EDGE):
            label = marked(label, "dim")
        arrows = Markup("<b>← {}</b>").format(", ".join(word.marks)) if word.marks else ""
        rows.append((marked(f"{word.address:x}", "dim"), value, label, arrows))
    return table((), rows)


def _rows(view: StepView) -> Markup:
    if not view.rows:
        return Markup("")
    rows = [(", ".join(row.names), *row[1:]) for row in view.rows]
    return heading("row in force") + table(("format", "from", "CFA", "rules"), rows)


def _frames(view: StepView) -> Markup:
    """The truth and each different answer, a column each."""
    columns: dict[tuple[object, ...], list[StepAnswer]] = {}
    reasons: dict[Markup, list[str]] = {}
    for answer in view.answers:
        columns.setdefault((answer.verdict.outcome, answer.frames, answer.end), []).append(answer)
        if not answer.verdict.exact:
            words = escape("; ".join(filter(None, (answer.difference, answer.why))))
            reasons.setdefault(words, []).append(answer.unwinder.name)
    true: list[TableCell] = [
        Markup("").join([*(marked(call, "dim") + Markup("<br>") for call in inlined), escape(place)])
        for place, inlined in zip(view.true_places, view.inlined, strict=True)
    ]
    cells = zip_longest([*true, "(root)"], *(_aligned(same[0]) for same in columns.values()), fillvalue="")
    heads = (
        Markup("{}<br>{}").format(", ".join(each.unwinder.name for each in same), chip(same[0].verdict.outcome))
        for same in columns.values()
    )
    why = [paragraph(Markup("<b>{}</b>: {}").format(", ".join(names), words)) for words, names in reasons.items()]
    return table(["#", "truth", *heads], [(str(i), *row) for i, row in enumerate(cells)]) + Markup("").join(why)


def _aligned(answer: StepAnswer) -> list[TableCell]:
    """An answer's cells beside the true frames: what is missing is a gap, what never was stands above its next one."""
    cells: list[TableCell] = []
    false: list[Markup] = []
    for alignment, place in answer.frames:
        if alignment is Alignment.FALSE:
            false.append(marked(f"≠ {place}", "bad"))
            continue
        own = marked("missing", "dim") if alignment is Alignment.MISSING else escape(place)
        cells.append(Markup("<br>").join([*false, own]))
        false.clear()
    return [*cells, *([Markup("<br>").join(false)] if false else []), answer.end]


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
    """What an unwinder says, and how it ends."""
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
    """The share of exact sites, a row per unit and a column per unwinder."""
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


# A slider over the steps of a run, for notebooks; where there are no widgets, the chosen step alone.

_BUTTONS = {
    Move.BACK: "◀ back",
    Move.NEXT: "next ▶",
    Move.NEXT_CALL: "next call",
    Move.OUT: "out",
    Move.NEXT_DIFFERENCE: "next difference",
}


class Stepper:
    """One step of a run, shown whole, and a slider for the others.

    The output has two forms, and the front-end takes what it can: the widget, or HTML of ``step``.
    """

    def __init__(self, run: Run, unwinders: Sequence[Unwinder], step: int = 0) -> None:
        self.run = run
        self.unwinders = tuple(unwinders)
        self.step = step
        self._widget = _widget_of(self)

    def __repr__(self) -> str:
        return f"<step {self.step} of {self.run}>"

    def html(self) -> str:
        """The step as HTML."""
        return step_html(step_view(self.run, self.step, self.unwinders))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": repr(self), "text/html": self.html()}
        if self._widget is not None:
            # The static form stays: a front-end without widgets takes it.
            bundle = {**dict(self._widget._repr_mimebundle_(**options)), **bundle}
        return bundle


def _widget_of(stepper: Stepper) -> Any:
    """A slider, buttons and the step's HTML; None without ipywidgets."""
    try:
        import ipywidgets
    except ImportError:
        return None
    slider = ipywidgets.IntSlider(
        stepper.step, 0, len(stepper.run) - 1, description="step", layout=ipywidgets.Layout(width="60%")
    )
    shown = ipywidgets.HTML(stepper.html())

    def go(change: Any) -> None:
        stepper.step = change["new"]
        shown.value = stepper.html()

    def button(move: Move, label: str) -> Any:
        made = ipywidgets.Button(description=label, tooltip=move.does, layout=ipywidgets.Layout(width="auto"))

        def pressed(_: Any) -> None:
            slider.value = moved(stepper.run, slider.value, move, stepper.unwinders)

        made.on_click(pressed)
        return made

    slider.observe(go, "value")
    buttons = ipywidgets.HBox([button(move, label) for move, label in _BUTTONS.items()])
    return ipywidgets.VBox([ipywidgets.HBox([slider]), buttons, shown])
