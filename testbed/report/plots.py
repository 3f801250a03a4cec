"""Plots of a run and of a matrix, by matplotlib (the extra ``plot``), written as SVG or PNG.

A run: SP and CFA over the steps with the activations behind them, the outcome strips, and how often each unwinder is
right in each phase (`testbed.truth.phases`). A matrix: the share of exact sites as a heat map.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.campaign.results import Matrix
from testbed.report.phrases import activation_name
from testbed.report.step_lines import Judged
from testbed.runs.run import Run
from testbed.truth.phases import Phase, phases
from testbed.verdicts.trace import counts_of
from testbed.words.errors import UsageError
from testbed.words.outcome import Outcome

SUFFIXES = (".svg", ".png")
_COLOURS = {
    Outcome.EXACT: "#d5e8d8",
    Outcome.REFUSED: "#f5e2a0",
    Outcome.STOPPED: "#eecb6a",
    Outcome.ENDED_EARLY: "#f0a35c",
    Outcome.SKIPPED: "#e8777a",
    Outcome.PHANTOM: "#bd86cb",
    Outcome.WRONG_REGISTER: "#7aa5e6",
    Outcome.WRONG: "#a2304c",
    Outcome.CRASHED: "#6f6a63",
    Outcome.HUNG: "#9c968d",
}
_HATCHES = {
    Outcome.EXACT: "",
    Outcome.REFUSED: "---",
    Outcome.STOPPED: "...",
    Outcome.ENDED_EARLY: "///",
    Outcome.SKIPPED: "\\\\\\",
    Outcome.PHANTOM: "xxx",
    Outcome.WRONG_REGISTER: "|||",
    Outcome.WRONG: "+++",
    Outcome.CRASHED: "***",
    Outcome.HUNG: "ooo",
}
_TRANSITION = "#d9d6cf"


def plot_run(run: Run, judged: Judged, path: Path) -> None:
    """Write the plots of a run. Raises UsageError for a suffix that is neither, or without matplotlib."""
    plt = _pyplot(path)
    rows = max(len(judged), 1)
    heights = [4.0, 0.32 * rows + 0.3, 2.6]
    figure, (stack, strips, bars) = plt.subplots(
        3, 1, figsize=(11, sum(heights) + 1.2), height_ratios=heights, layout="constrained"
    )
    figure.suptitle(str(run), x=0.01, ha="left", weight="bold")
    _stack(run, stack)
    _strips(judged, strips)
    _phases(run, judged, bars)
    strips.sharex(stack)
    _save(plt, figure, path)


def plot_matrix(matrix: Matrix, path: Path) -> None:
    """Write the heat map of a matrix: programs and recipes down, unwinders across, an empty cell does not apply."""
    plt = _pyplot(path)
    names = list(matrix.unwinders)
    units = list(dict.fromkeys(cell.unit for cell in matrix.cells))
    shares: NDArray[np.float64] = np.full((max(len(units), 1), max(len(names), 1)), np.nan)
    marks: dict[tuple[int, int], str] = {}
    row_of = {unit: i for i, unit in enumerate(units)}
    for cell in matrix.cells:
        at = row_of[cell.unit], names.index(cell.unwinder)
        shares[at] = 100 * cell.exact / cell.judged if cell.judged else np.nan
        marks[at] = "?" if cell.unexplained else "" if cell.exact == cell.judged else f"{np.floor(shares[at]):.0f}"
    size = 3.6 + 0.5 * len(names), 3.2 + 0.17 * len(units)
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    image = axes.imshow(shares, cmap="cividis", vmin=0, vmax=100, aspect="auto", interpolation="nearest")
    axes.set_xticks(range(len(names)), names, rotation=60, ha="left", rotation_mode="anchor", fontsize=8)
    axes.xaxis.tick_top()
    labels = [f"{unit.program}  {unit.arch}  {unit.recipe}" for unit in units]
    axes.set_yticks(range(len(units)), labels, fontsize=6)
    for (y, x), mark in marks.items():
        tone = "white" if shares[y, x] < 55 else "black"
        axes.text(x, y, mark, ha="center", va="center", fontsize=5.5, color=tone)
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.6, pad=0.01)
    bar.set_label("exact sites, %  (no number: all; ?: unexplained)", fontsize=8)
    _save(plt, figure, path)


def _pyplot(path: Path) -> Any:
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: a plot ends in {' or '.join(SUFFIXES)}")
    try:
        import matplotlib
    except ImportError as missing:
        raise UsageError("plots need matplotlib: pip install 'unwind-testbed[plot]'") from missing
    matplotlib.use("Agg", force=False)
    from matplotlib import pyplot as plt

    return plt


def _save(plt: Any, figure: Any, path: Path) -> None:
    # Without a date and with fixed ids the same run gives the same file.
    plt.rcParams["svg.hashsalt"] = "testbed"
    figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else {})
    plt.close(figure)


def _stack(run: Run, axes: Any) -> None:
    """SP and the CFA of the innermost frame, as depth below the first SP; each activation a rectangle behind them."""
    top = int(run.trace.sp[0])
    node, count = run.watched.node, len(run)
    bounds = np.flatnonzero(np.diff(node, prepend=-2))
    last = dict(zip(node.tolist(), range(count), strict=True))  # the last step of each activation
    for activation in reversed(run.watched.activations):
        parent = activation.parent
        if parent is not None:
            last[parent] = max(last.get(parent, 0), last.get(activation.index, 0))
    deep = [top - int(sp) for sp in run.trace.sp]
    limit = max(deep) or 1
    names = {
        name: i for i, name in enumerate(dict.fromkeys(activation_name(run, a.index) for a in run.watched.activations))
    }
    for activation in run.watched.activations[:2000]:
        start, end = activation.opened, last.get(activation.index, activation.opened) + 1
        name = activation_name(run, activation.index)
        high = 0 if activation.cfa is None else top - activation.cfa
        axes.fill_between(
            [start, end],
            high,
            limit,
            step="post",
            color=f"C{names[name] % 10}",
            alpha=0.13,
            lw=0,
        )
        if end - start > count / 40:
            axes.text(start, high, f" {name}", fontsize=7, va="top", clip_on=True)
    axes.stairs(deep, range(count + 1), color="#2456c9", lw=1.4, label="SP", baseline=None)
    cfas = []
    for k in bounds.tolist():
        cfa = run.watched.activations[int(node[k])].cfa
        cfas.append(np.nan if cfa is None else top - cfa)
    axes.stairs(cfas, [*bounds.tolist(), count], color="#c2410c", lw=1.2, ls="--", label="CFA", baseline=None)
    axes.set_ylim(limit * 1.04, -limit * 0.04)
    axes.set_xlim(0, count)
    axes.set_ylabel("bytes below the first SP")
    axes.legend(loc="lower right", fontsize=8)


def _strips(judged: Judged, axes: Any) -> None:
    for row, (_, verdicts) in enumerate(judged):
        kinds = [None if verdict.transition else verdict.outcome for verdict in verdicts]
        start = 0
        for step in range(1, len(kinds) + 1):
            if step == len(kinds) or kinds[step] is not kinds[start]:
                kind = kinds[start]
                face, hatch = (_TRANSITION, "") if kind is None else (_COLOURS[kind], _HATCHES[kind])
                axes.broken_barh(
                    [(start, step - start)], (row - 0.42, 0.84), facecolor=face, hatch=hatch, edgecolor="#0006", lw=0
                )
                start = step
    axes.set_yticks(range(len(judged)), [cell.unwinder for cell, _ in judged], fontsize=8)
    axes.set_ylim(len(judged) - 0.4, -0.6)
    axes.set_xlabel("step")


def _phases(run: Run, judged: Judged, axes: Any) -> None:
    """For each phase and unwinder a bar of 100 %, cut by outcome."""
    from matplotlib.patches import Patch

    width = 0.8 / max(len(judged), 1)
    seen: set[Outcome] = set()
    phase_of_step = phases(run.watched)
    for i, (_, verdicts) in enumerate(judged):
        counts = counts_of(verdicts, phase_of_step)
        for x, phase in enumerate(Phase):
            here, done = counts.within(phase), 0.0
            for outcome, number in here.outcomes.items():
                part = 100 * number / here.judged
                seen.add(outcome)
                axes.bar(
                    x - 0.4 + (i + 0.5) * width, part, width * 0.9, bottom=done,
                    color=_COLOURS[outcome], hatch=_HATCHES[outcome], edgecolor="#0006", lw=0,
                )  # fmt: skip
                done += part
            axes.text(x - 0.4 + (i + 0.5) * width, 101, str(i + 1), ha="center", fontsize=6)
    axes.set_xticks(range(len(Phase)), [phase.value for phase in Phase])
    axes.set_ylabel("% of steps")
    axes.set_ylim(0, 108)
    handles = [
        Patch(facecolor=_COLOURS[o], hatch=_HATCHES[o], edgecolor="#0006", label=o.value) for o in Outcome if o in seen
    ]
    axes.legend(handles=handles, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    key = "   ".join(f"{i} {cell.unwinder}" for i, (cell, _) in enumerate(judged, 1))
    axes.set_xlabel(key, fontsize=8)
