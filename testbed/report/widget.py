"""A slider over the steps of a run, for notebooks; where there are no widgets, the chosen step alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from testbed.contract.unwinder import Unwinder
from testbed.report.markup import step_html
from testbed.report.step_view import step_view
from testbed.report.stepper_moves import Move, moved
from testbed.runs.run import Run

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
