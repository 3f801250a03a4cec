"""One step and the values of a run as pieces of HTML, for notebooks: no script, colours that fit light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from markupsafe import Markup, escape

from testbed.naming.beside import Alignment
from testbed.report.stack_drawing import WordKind
from testbed.report.step_text import AFTER, BEFORE
from testbed.report.step_view import StepAnswer, StepView
from testbed.words.outcome import Outcome

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
    words = ", ".join(word.name for word in view.words)
    changed = ", ".join(f"{name} = {now:#x}" for name, _, now in view.changed)
    side = Markup('<div class="cols"><div>{}{}</div><div>{}{}</div></div>').format(
        heading("code"), _code(view), heading("stack, highest address first"), _stack(view)
    )
    registers = f"sp = {view.sp}, fp = {view.fp}" + (f"; the step before changed {changed}" if changed else "")
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
