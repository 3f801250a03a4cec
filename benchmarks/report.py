"""The results of one run of the suite: as JSON, as Markdown, as a picture."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.table import FigureTable, text_of

_PACKAGES = ("unicorn", "numpy", "numba", "capstone", "ziglang")
_HASH_SALT = "testbed"  # matplotlib names the parts of a picture at random without one
_HEAD = """# Results of the benchmarks

Written by `python -m benchmarks {options}`, {date}; not edited by hand.

{machine}

A ratio is the median of paired rounds: the things compared were timed in turns in one process tree, in an order that
rotates, and each round gives one ratio. A range is the least and the most of the rounds. Absolute times are of this
machine, and of that day. Rounds: {rounds}.
"""


def described_machine() -> str:
    """The machine and the versions, in words."""
    parts = (f"{package} {_version(package)}" for package in _PACKAGES)
    return (
        f"{os.cpu_count()} cores, {_processor()}, {_memory():.0f} GB of memory, {platform.system()} "
        f"{platform.release().partition('-')[0]}. {platform.python_implementation()} {platform.python_version()}, "
        f"{', '.join(parts)}."
    )


def as_data(tables: Sequence[FigureTable], *, date: str, rounds: int) -> dict[str, Any]:
    """Everything measured, as plain data."""
    return {
        "date": date,
        "machine": described_machine(),
        "rounds": rounds,
        "tables": {table.key: table.data() for table in tables},
    }


def as_markdown(tables: Sequence[FigureTable], *, date: str, rounds: int, options: str, picture: str | None) -> str:
    """The page that is committed as RESULTS.md."""
    head = _HEAD.format(options=options, date=date, machine=described_machine(), rounds=rounds)
    shown = [f"![Recording, and cost per step over the length of a run]({picture})\n"] if picture else []
    return "\n".join([head, *shown, *(table.markdown() for table in tables)])


def write_picture(tables: Sequence[FigureTable], path: Path) -> None:
    """An SVG: how many times slower than the emulator alone, and the cost per step as runs grow.

    Raises ImportError where matplotlib is not installed.
    """
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    by_key = {table.key: table for table in tables}
    settings: Any = {
        "svg.hashsalt": _HASH_SALT,
        "svg.fonttype": "none",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with matplotlib.rc_context(settings):
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
        _slowdowns(left, by_key["recording"])
        _scaling(right, by_key["scaling"])
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)


def _slowdowns(axes: Any, table: FigureTable) -> None:
    columns = zip(*(table.column(name) for name in ("target", "way", "× unhooked")), strict=True)
    ratios = {(str(target), str(way)): float(ratio or 0) for target, way, ratio in columns}
    targets, ways = (list(dict.fromkeys(key[i] for key in ratios)) for i in (0, 1))
    width = 0.8 / max(1, len(ways) - 1)
    for i, way in enumerate(ways[1:]):  # the first is the emulator alone: 1
        at = [j + (i - (len(ways) - 2) / 2) * width for j in range(len(targets))]
        bars = axes.bar(at, [ratios[target, way] for target in targets], width * 0.94, label=way)
        axes.bar_label(bars, fmt=text_of, fontsize=7)
    _from_one(axes, max(ratios.values()))
    axes.set_xticks(range(len(targets)), targets)
    axes.set_title("Recording: times slower than the emulator alone", fontsize=9, loc="left")
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3)


def _scaling(axes: Any, table: FigureTable) -> None:
    columns = zip(*(table.column(name) for name in ("part", "steps", "ns per step")), strict=True)
    points = [(str(part), float(steps or 0), float(cost or 0)) for part, steps, cost in columns]
    for part in dict.fromkeys(point[0] for point in points):
        here = [point[1:] for point in points if point[0] == part]
        axes.plot(*zip(*here, strict=True), marker="o", label=part)
    axes.set_xscale("log")
    _from_one(axes, max(cost for _, _, cost in points))
    axes.set_xlabel("steps of the run")
    axes.set_title("ns per step", fontsize=9, loc="left")
    axes.legend(frameon=False)


def _from_one(axes: Any, most: float) -> None:
    """A logarithmic scale that starts at one, with plain numbers: a flat line is not blown up to a slope."""
    axes.set_yscale("log")
    axes.set_ylim(1, 3 * most)
    axes.yaxis.set_major_formatter("{x:,.0f}")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    name = facts.get("model name", platform.machine())
    family, speed = facts.get("cpu family"), facts.get("cpu MHz")
    more = [f"family {family}"] if family else []
    more += [f"{float(speed) / 1000:.1f} GHz"] if speed else []
    more += ["a virtual machine"] if "hypervisor" in facts.get("flags", "") else []
    return f"{name} ({', '.join(more)})" if more else name


def _memory() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9 if sys.platform == "linux" else 0.0


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
