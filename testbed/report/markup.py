"""One step and the values of a run as pieces of HTML, for notebooks: no script, colours that fit light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from testbed.contract.frames import Frame
from testbed.contract.unwinder import Unwinder
from testbed.image import image_covering
from testbed.naming.beside import Alignment, beside
from testbed.report.listing import listing
from testbed.report.phrases import frame_pointer, stack_pointer
from testbed.report.show_text import AFTER, BEFORE, word_words
from testbed.report.stack_drawing import WordKind, changed_registers, draw_stack
from testbed.report.table_text import row_cells
from testbed.runs.judging import judge
from testbed.runs.run import Run
from testbed.truth import CallStack, TrueFrame
from testbed.verdicts.one import Verdict
from testbed.words.outcome import Outcome

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
    return Markup("<h4>{}</h4>").format(text)


def paragraph(text: TableCell) -> Markup:
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


def step_html(run: Run, step: int, unwinders: Sequence[Unwinder]) -> str:
    """Everything about one step: what ``testbed show`` prints."""
    pc = int(run.trace.pc[step])
    words = ", ".join(sorted(word.name for word in run.words(step)))
    title = f"step {step} of 0 to {len(run) - 1}: {run.where(pc)}" + (f"   ({words})" if words else "")
    side = Markup('<div class="cols"><div>{}{}</div><div>{}{}</div></div>').format(
        heading("code"), _code(run, step, pc), heading("stack, highest address first"), _stack(run, step)
    )
    return page(
        Markup("<b>{}</b>").format(title),
        side,
        paragraph(_registers(run, step)),
        _rows(run, pc, unwinders),
        heading("who called"),
        _frames(run, step, unwinders),
    )


def _code(run: Run, step: int, pc: int) -> Markup:
    lines = listing(run).around(pc, BEFORE, AFTER)
    here = next(i for i, line in enumerate(lines) if line.pc == pc)
    return table((), [(line.where, line.text, marked(line.source_text, "dim")) for line in lines], here=here)


def _registers(run: Run, step: int) -> str:
    changed = ", ".join(f"{name} = {now:#x}" for name, _, now in changed_registers(run, step))
    return f"sp = {stack_pointer(run, step)}, fp = {frame_pointer(run, step)}" + (
        f"; the step before changed {changed}" if changed else ""
    )


def _stack(run: Run, step: int) -> Markup:
    drawing = draw_stack(run, step, limit=32)
    rows: list[tuple[TableCell, ...]] = []
    if drawing.left_out:
        rows.append(("", "", f"{drawing.left_out} words further out", ""))
    for word in reversed(drawing.words):
        value = "" if word.value is None or word.kind is WordKind.UNTOUCHED else f"{word.value:#x}"
        label: TableCell = f"{word.kind.mark} {word_words(run, word)}"
        if word.kind in (WordKind.UNTOUCHED, WordKind.BELOW, WordKind.EDGE):
            label = marked(label, "dim")
        arrows = Markup("<b>← {}</b>").format(", ".join(word.marks)) if word.marks else ""
        rows.append((marked(f"{word.address:x}", "dim"), value, label, arrows))
    return table((), rows)


def _rows(run: Run, pc: int, unwinders: Sequence[Unwinder]) -> Markup:
    loaded = image_covering(run.trace.images, pc)
    same: dict[tuple[str, str, str], list[str]] = {}
    for unwinder in unwinders:
        if unwinder.rows is None or loaded is None:
            continue
        row, cfa, rules = row_cells(unwinder, loaded, pc)
        said = (run.where(row.start + loaded.bias) if row else "", cfa, rules)
        same.setdefault(said, []).append(unwinder.name)
    if not same:
        return Markup("")
    return heading("row in force") + table(
        ("format", "from", "CFA", "rules"), [(", ".join(names), *said) for said, names in same.items()]
    )


def _frames(run: Run, step: int, unwinders: Sequence[Unwinder]) -> Markup:
    """The truth and each different answer, a column each."""
    snapshot, truth = run[step], run.truth(step)
    columns: dict[tuple[object, ...], tuple[list[str], Verdict, tuple[Frame, ...], str]] = {}
    reasons: dict[Markup, list[str]] = {}
    for unwinder in unwinders:
        said = unwinder.unwind(snapshot)
        verdict = judge(run, step, said, unwinder)
        pcs = tuple(frame.pc for frame in said.frames)
        end = "(root)" if said.stopped is None else f"stops: {said.stopped.reason}"
        columns.setdefault((verdict.outcome, pcs, end), ([], verdict, said.frames, end))[0].append(unwinder.name)
        if not verdict.exact:
            reasons.setdefault(verdict_words(verdict, run, step), []).append(unwinder.name)
    answers = [_aligned(run, truth, frames, end) for _, _, frames, end in columns.values()]
    true = [*(_calls(run, frame) for frame in truth.frames), "(root)"]
    rows: list[list[TableCell]] = [
        [str(i), true[i] if i < len(true) else "", *(answer[i] if i < len(answer) else "" for answer in answers)]
        for i in range(max(len(true), *map(len, answers)) if answers else len(true))
    ]
    head = [
        "#",
        "truth",
        *(Markup("{}<br>{}").format(", ".join(names), chip(v.outcome)) for names, v, _, _ in columns.values()),
    ]
    why = [paragraph(Markup("<b>{}</b>: {}").format(", ".join(names), words)) for words, names in reasons.items()]
    return table(head, rows) + Markup("").join(why)


def _aligned(run: Run, truth: CallStack, frames: Sequence[Frame], end: str) -> list[TableCell]:
    """An answer's cells beside the true frames: what is missing is a gap, what never was stands above its next one."""
    cells: list[TableCell] = []
    false: list[Markup] = []
    for each in beside(truth.pcs, [frame.pc for frame in frames]):
        if each.alignment is Alignment.FALSE:
            false.append(marked(f"≠ {run.place(frames[each.said or 0])}", "bad"))
            continue
        own = marked("missing", "dim") if each.said is None else escape(run.place(frames[each.said]))
        cells.append(Markup("<br>").join([*false, own]))
        false.clear()
    return [*cells, *([Markup("<br>").join(false)] if false else []), end]


def _calls(run: Run, frame: TrueFrame) -> Markup:
    """A true frame's place, below the calls that were inlined there."""
    *inlined, _ = run.calls(frame)
    return Markup("").join([*(marked(str(call), "dim") + Markup("<br>") for call in inlined), escape(run.place(frame))])


def verdict_words(verdict: Verdict, run: Run | None = None, step: int = 0) -> Markup:
    """What differs, and why; with its run, addresses by name."""
    parts = (run.difference(verdict), run.why(verdict, step)) if run else (verdict.difference, verdict.clause)
    return escape("; ".join(part for part in parts if part))
