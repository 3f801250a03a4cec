"""One step of a run on one screen: code, stack, rows, who called, and where in the run one is. Each part is as wide and
as high as it is told, so that all of them fit; what does not is counted, never cut silently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from textwrap import wrap

import numpy as np
from rich.text import Text

from testbed.contract.unwinder import Unwinder
from testbed.report.phrases import STYLES, count
from testbed.report.stack_drawing import StackWord
from testbed.report.step_lines import TRANSITION, UNEXPLAINED, Marks, marks_of, shown_mark
from testbed.report.step_text import WORD_STYLES, said_line
from testbed.report.step_view import CodeLine, StepAnswer, StepView
from testbed.runs.run import Run
from testbed.verdicts.trace import EXACT, LYING
from testbed.verdicts.verdict import Verdict

Lines = list[Text]
StepNumbers = Sequence[int]


@dataclass(frozen=True)
class ScreenRun:
    """A run that is looked at: its unwinders, and what each is at every step."""

    run: Run
    unwinders: tuple[Unwinder, ...]
    verdicts: tuple[Sequence[Verdict], ...] = field(repr=False)

    @cached_property
    def marks(self) -> tuple[Marks, ...]:
        return tuple(marks_of(each) for each in self.verdicts)

    @cached_property
    def view(self) -> Callable[[int], StepView]:
        """What a step shows, of the last ones that were looked at."""
        return lru_cache(16)(self._view)

    def _view(self, step: int) -> StepView:
        snapshot = self.run.trace.snapshot(step)
        verdicts = (each[step] for each in self.verdicts)
        said = (
            StepAnswer(self.run, step, unwinder, unwinder.unwind(snapshot), verdict)
            for unwinder, verdict in zip(self.unwinders, verdicts, strict=True)
        )
        return StepView(self.run, step, tuple(said))

    def differs(self, focus: int) -> Sequence[int]:
        """The steps at which an unwinder begins to be not exact, or begins to be so in another way."""
        marks = np.where(self.marks[focus] >= TRANSITION, EXACT, self.marks[focus]).astype(np.int64)
        found: list[int] = np.flatnonzero((marks != EXACT) & (np.diff(marks, prepend=-1) != 0)).tolist()
        return found

    def lies(self, focus: int) -> Sequence[int]:
        """Those of `differs` at which it claims something false."""
        return [step for step in self.differs(focus) if LYING[self.marks[focus][step] % UNEXPLAINED]]

    def visits(self, pc: int) -> Sequence[int]:
        """The steps at an address."""
        found: list[int] = np.flatnonzero(self.run.trace.pc == np.uint64(pc)).tolist()
        return found


def title_line(screen: ScreenRun, step: int, width: int) -> Text:
    """Which run, which step, which instruction."""
    view = screen.view(step)
    return fitted(Text.assemble(view.title, f"   {view.number}   ", (view.instruction, "bold"), style="bold"), width)


def fitted(text: Text, width: int) -> Text:
    """A line that is no longer than ``width``; an ellipsis where it was."""
    text.truncate(max(width, 1), overflow="ellipsis")
    return text


def code_lines(screen: ScreenRun, step: int, focus: int, width: int, height: int) -> tuple[Lines, list[int]]:
    """The function around pc with the focused unwinder's mark at each instruction's visit; and the pc of each line."""
    view, above = screen.view(step), max(height // 2 - 1, 0)
    around = view.code(above, height)
    at = next(k for k, line in enumerate(around) if line.pc == view.pc)
    shown = around[max(0, min(at - above, len(around) - height)) :][:height]
    names = max((len(line.where) for line in shown), default=0)
    return [_code_line(screen, step, focus, line, min(names, width // 2), width) for line in shown], [
        line.pc for line in shown
    ]


def _code_line(screen: ScreenRun, step: int, focus: int, line: CodeLine, names: int, width: int) -> Text:
    here = line.pc == int(screen.run.trace.pc[step])
    visit = step if here else _visit(screen, line.pc, step)
    mark, style = (" ", "") if visit is None else shown_mark(int(screen.marks[focus][visit]))
    text = Text("→" if here else " ", "bold")
    text.append(f"{mark:<2}", style)
    text.append(f"{line.where:<{names}}  {line.text}", "bold" if here else "" if line.executed else "dim")
    if line.source_text:
        text.append(f"  {line.source_text}", "dim")
    return fitted(text, width)


def _visit(screen: ScreenRun, pc: int, step: int) -> int | None:
    """The visit of an instruction that is nearest to a step."""
    visits = screen.visits(pc)
    return min(visits, key=lambda visit: abs(visit - step)) if visits else None


def stack_lines(screen: ScreenRun, step: int, width: int, height: int) -> Lines:
    """The stack, highest address first, down to what lies below SP."""
    drawing = screen.view(step).stack.nearest(max(height - 1, 2))
    words = list(reversed(drawing.words))
    left_out = drawing.left_out + max(len(words) - (height - 1), 0)
    words = words[max(len(words) - (height - 1), 0) :] if left_out else words[:height]
    lines = [Text(f"{count(left_out, 'word')} further out", "dim")] if left_out else []
    digits = max((len(f"{word.value:x}") for word in words if word.value is not None), default=1)
    return [*lines, *(fitted(_word(word, digits), width) for word in words)]


def _word(word: StackWord, digits: int) -> Text:
    value = "" if word.value is None else f"{word.value:0{digits}x}"
    marks = (" ← " + ", ".join(word.marks), "bold") if word.marks else ""
    label = Text(word.label, WORD_STYLES[word.kind])
    head = f"{word.address & 0xFFFFFF:06x} {word.kind.mark} {value:<{digits}} "
    return Text.assemble(head, label, marks, style="dim")


def register_lines(screen: ScreenRun, step: int, focus: int, width: int) -> Lines:
    """SP and FP, what the step before changed, and the row in force of the focused unwinder, or of the first table."""
    view = screen.view(step)
    changed = ", ".join(f"{name} = {now:#x}" for name, _, now in view.changed)
    changes = (f"   changed: {changed}", "dim") if changed else ""
    lines = [fitted(Text.assemble(view.frame, changes), width)]
    if view.rows:
        name = screen.unwinders[focus].name
        row = next((row for row in view.rows if name in row.names), view.rows[0])
        told = name if name in row.names else row.names[0]
        since = f" from {row.start}" if row.start else ""
        lines.append(fitted(Text(f"{told} row{since}: CFA = {row.cfa}   {row.rules}"), width))
    return lines


def answer_lines(screen: ScreenRun, step: int, focus: int, width: int) -> Lines:
    """The true stack, and every unwinder's frames beside it; the focused one is marked."""
    view = screen.view(step)
    names = max(len(each.name) for each in screen.unwinders) + 2
    true = f"{' < '.join(view.true_places)} (root)"
    lines = [Text.assemble(f"{'  truth':<{names}}           ", (true, "bold"))]
    for k, answer in enumerate(view.answers):
        mark, style = ("▶ ", "bold") if k == focus else ("  ", "")
        outcome = answer.verdict.outcome
        head = (f"{answer.unwinder.name:<{names - 2}} ", style), (f"{outcome.label:<9} ", STYLES[outcome])
        lines.append(Text.assemble(mark, *head, said_line(answer), style="bold"))
    return [fitted(line, width) for line in lines]


def why_text(screen: ScreenRun, step: int, focus: int) -> Text:
    """Why the focused unwinder is not exact here, whole, with who says so."""
    answer = screen.view(step).answers[focus]
    name, verdict = answer.unwinder.name, answer.verdict
    if verdict.transition:
        return Text(f"{name}: {answer.why}", "dim")
    if verdict.exact:
        return Text(f"{name} is exact here", "dim")
    return Text(f"{name}: {answer.difference}" + (f": {answer.why}" if answer.why else ""))


def why_lines(screen: ScreenRun, step: int, focus: int, width: int, height: int) -> Lines:
    """As `why_text`, in so many lines; where it needs more the last one says with which key they are seen."""
    why = why_text(screen, step, focus)
    said = wrap(why.plain, max(width, 20), max_lines=height, placeholder=" … (w: all)", break_on_hyphens=False)
    return [Text(line, why.style) for line in said]


def strip_line(screen: ScreenRun, step: int, focus: int, width: int) -> tuple[Text, int]:
    """The focused unwinder's marks at the steps around this one, a letter each; and the first step that is shown."""
    steps = len(screen.run)
    first = max(0, min(step - width // 2, steps - width))
    text = Text()
    for at in range(first, min(first + width, steps)):
        mark, style = shown_mark(int(screen.marks[focus][at]))
        text.append(mark[0], f"{style} reverse" if at == step else style)
    return text, first
