"""``testbed run --step``: a full-screen program that moves about in a run; the report room draws its parts."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Footer, Input, Static

from testbed.report import step_screen as parts
from testbed.report.step_screen import ScreenRun
from testbed.report.step_view import Move, moved
from testbed.words.errors import UsageError

_HELP = """\
→ n space   next step;   ← b   step back
c  o        into the next call; out, to the caller
l  L        next, previous lie of the unwinder in focus
d  D        next, previous difference of it; both where
            it begins: steps with one mark are one
↓ ↑ tab     the next, previous unwinder gets the focus
0  $        first, last step
/           go to leaf, leaf+0x4, @17; #2: second visit
w           why: the whole sentence
?  q        this help; quit: escape, ctrl+c, ctrl+d too
mouse       an instruction: its nearest visit; an
            unwinder: the focus; the strip: its step

.           exact
-  s        refused, stopped: honest
CAPITALS    a lie;   ?: unexplained;   ~: not judged
[name]      a true caller that the answer lacks
≠name       a frame that never was"""
_SCROLL = {"down": 1, "up": -1, "pagedown": 8, "pageup": -8}


class _ScreenPart(Widget):
    """A part of the screen: drawn anew for its size whenever the state changes, and told where it is clicked."""

    def __init__(self, name: str, draw: Callable[[int, int], list[Text]], clicked: Callable[[int, int], None]) -> None:
        super().__init__(id=name)
        self._draw, self._clicked = draw, clicked

    def render(self) -> Text:
        return Text("\n").join(self._draw(self.size.width, self.size.height))

    def on_click(self, event: events.Click) -> None:
        self._clicked(event.x, event.y)


class _TextScreen(ModalScreen[None]):
    """A text over the screen, until a key is pressed; what does not fit is scrolled by arrows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False) as box:
            yield Static(self._text, markup=False)
        self._box = box

    def on_resize(self) -> None:
        self.call_after_refresh(self._say_if_more)

    def _say_if_more(self) -> None:
        self._box.border_subtitle = "↓ ↑ more" if self._box.max_scroll_y else None

    def on_key(self, event: events.Key) -> None:
        """The key is for this text alone: what lies below must not hear it, and end."""
        event.stop()
        event.prevent_default()
        if event.key in _SCROLL and self._box.max_scroll_y:
            self._box.scroll_relative(y=_SCROLL[event.key], animate=False)
        else:
            self.dismiss()

    def on_click(self) -> None:
        self.dismiss()


class StepScreen(App[None]):
    """A run, a step of it, and the unwinder that is looked at."""

    CSS = """
    #title { height: 1; background: $primary-background; }
    #upper { height: 1fr; }
    #code { width: 45fr; height: 1fr; border-right: solid $primary-background; }
    #stack { width: 55fr; height: 1fr; }
    #registers { height: 2; }
    #strip { height: 1; }
    #why { height: 2; }
    Input { display: none; height: 1; border: none; }
    Input.asked { display: block; }
    _TextScreen { align: center middle; }
    _TextScreen VerticalScroll { width: auto; max-width: 100%; height: auto; max-height: 100%; }
    _TextScreen VerticalScroll { padding: 0 1; border: round $primary; background: $surface; }
    _TextScreen Static { width: auto; max-width: 100%; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [  # a narrow screen shows the first of them
        Binding("question_mark", "help", "help"),
        Binding("q,ctrl+d", "quit", "quit"),
        Binding("right,n,space", "move('NEXT')", "next"),
        Binding("left,b", "move('BACK')", "back"),
        Binding("c", "move('NEXT_CALL')", "call"),
        Binding("o", "move('OUT')", "out"),
        Binding("l", "lie(1)", "lie"),
        Binding("d", "difference(1)", "difference"),
        Binding("down,tab", "focus_unwinder(1)", "unwinder", priority=True),
        Binding("slash", "ask", "go to"),
        Binding("w", "why", "why", show=False),  # the line that is cut names it
        Binding("ctrl+c", "quit", "quit", show=False, priority=True),
        Binding("up,shift+tab", "focus_unwinder(-1)", "unwinder", show=False, priority=True),
        Binding("L", "lie(-1)", "previous lie", show=False),
        Binding("D", "difference(-1)", "previous difference", show=False),
        Binding("0,home", "move('FIRST')", "first", show=False),
        Binding("dollar_sign,end", "move('LAST')", "last", show=False),
        Binding("escape", "leave", "leave", show=False),
    ]
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = ""  # keys are moves; the line that asks where to go has them only while it asks

    def __init__(self, screen: ScreenRun, step: int) -> None:
        super().__init__()
        self.shown, self.step, self.focused_unwinder, self.told = screen, step, 0, ""
        self._pcs: list[int] = []

    def compose(self) -> ComposeResult:
        def nowhere(x: int, y: int) -> None:
            del x, y

        shown = self.shown
        yield _ScreenPart("title", lambda w, _: [parts.title_line(shown, self.step, w)], nowhere)
        with Horizontal(id="upper"):
            yield _ScreenPart("code", self._code, self._code_clicked)
            yield _ScreenPart("stack", lambda w, h: parts.stack_lines(shown, self.step, w, h), nowhere)
        with Vertical(id="lower"):
            yield _ScreenPart(
                "registers", lambda w, _: parts.register_lines(shown, self.step, self.focused_unwinder, w), nowhere
            )
            yield _ScreenPart("answers", self._answers, lambda _, y: self._focus(y - 1))
            yield _ScreenPart("why", self._why, nowhere)
            yield _ScreenPart("strip", self._strip, self._strip_clicked)
        yield Input(placeholder="go to: leaf, leaf+0x4, leaf+0x4#2, @17")
        yield Footer(compact=True)

    def on_mount(self) -> None:
        height = len(self.shown.unwinders) + 1
        self.query_one("#answers").styles.height = height
        self.query_one("#lower").styles.height = height + 5

    def _code(self, width: int, height: int) -> list[Text]:
        lines, self._pcs = parts.code_lines(self.shown, self.step, self.focused_unwinder, width - 1, height)
        return lines

    def _answers(self, width: int, _: int) -> list[Text]:
        return parts.answer_lines(self.shown, self.step, self.focused_unwinder, width)

    def _why(self, width: int, height: int) -> list[Text]:
        if self.told:
            return [parts.fitted(Text(self.told, "bold yellow"), width)]
        return parts.why_lines(self.shown, self.step, self.focused_unwinder, width, height)

    def _strip(self, width: int, _: int) -> list[Text]:
        return [parts.strip_line(self.shown, self.step, self.focused_unwinder, width)[0]]

    def _code_clicked(self, _: int, y: int) -> None:
        if y < len(self._pcs) and (visits := self.shown.visits(self._pcs[y])):
            self._go(min(visits, key=lambda visit: abs(visit - self.step)))

    def _strip_clicked(self, x: int, _: int) -> None:
        width = self.query_one("#strip").size.width
        first = parts.strip_line(self.shown, self.step, self.focused_unwinder, width)[1]
        self._go(min(first + x, len(self.shown.run) - 1))

    def _go(self, step: int, told: str = "") -> None:
        self.step, self.told = step, told
        for part in self.query(_ScreenPart):
            part.refresh()

    def _focus(self, unwinder: int) -> None:
        if 0 <= unwinder < len(self.shown.unwinders):
            self.focused_unwinder = unwinder
            self._go(self.step)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a text lies over the screen, arrows and tab are for the text."""
        return not (action == "focus_unwinder" and isinstance(self.screen, _TextScreen))

    def action_move(self, name: str) -> None:
        self._go(moved(self.shown.run, self.step, Move[name], self.shown.unwinders))

    def action_lie(self, way: int) -> None:
        self._go_to_next(self.shown.lies(self.focused_unwinder), way, "lie")

    def action_difference(self, way: int) -> None:
        self._go_to_next(self.shown.differs(self.focused_unwinder), way, "difference")

    def _go_to_next(self, steps: parts.StepNumbers, way: int, noun: str) -> None:
        at = bisect_right(steps, self.step) if way > 0 else bisect_left(steps, self.step) - 1
        if 0 <= at < len(steps):
            self._go(steps[at])
        else:
            name = self.shown.unwinders[self.focused_unwinder].name
            self._go(self.step, f"no {noun} of {name} {'after' if way > 0 else 'before'} this step")

    def action_focus_unwinder(self, way: int) -> None:
        self._focus((self.focused_unwinder + way) % len(self.shown.unwinders))

    def action_ask(self) -> None:
        asked = self.query_one(Input)
        asked.value = ""
        asked.add_class("asked")
        asked.focus()

    def action_leave(self) -> None:
        if self.query_one(Input).has_class("asked"):
            self._answered()
        else:
            self.exit()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._answered()
        try:
            self._go(self.shown.run.step_at(event.value.strip()))
        except UsageError as error:
            self._go(self.step, str(error))

    def _answered(self) -> None:
        self.query_one(Input).remove_class("asked")
        self.set_focus(None)

    def action_why(self) -> None:
        self.push_screen(_TextScreen(parts.why_text(self.shown, self.step, self.focused_unwinder).plain))

    def action_help(self) -> None:
        self.push_screen(_TextScreen(_HELP))
