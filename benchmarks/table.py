"""A benchmark's result: numbers in columns and sentences about them; and the page of all, as Markdown."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.rounds import Spread

TableValue = str | int | float | None


@dataclass(frozen=True, slots=True)
class FigureTable:
    """Rows of numbers under named columns; a column's name says its unit. ``notes`` say what is missing, and why."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TableValue, ...], ...]
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        for row in self.rows:
            assert len(row) == len(self.columns), (self.title, row)

    def column(self, name: str) -> list[TableValue]:
        i = self.columns.index(name)
        return [row[i] for row in self.rows]

    def markdown(self) -> str:
        """A Markdown table under its title, the notes below."""
        texts = [[text_of(value) for value in row] for row in self.rows]
        lines = [f"## {self.title}", "", _line(self.columns)]
        numeric = [all(not isinstance(value, str) for value in self.column(name)) for name in self.columns]
        lines.append("|" + "|".join("---:" if right else "---" for right in numeric) + "|")
        lines += [_line(row) for row in texts]
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines) + "\n"


def spread(*spreads: Spread) -> Iterator[TableValue]:
    """The median and the range of each, as two columns."""
    for each in spreads:
        yield each.median
        yield f"{text_of(each.least)} to {text_of(each.most)}"


def text_of(value: TableValue) -> str:
    """A number with three significant digits or five decimals, and no exponent; "-" for none."""
    if value is None:
        return "-"
    if isinstance(value, str | int):
        return f"{value:,}" if isinstance(value, int) else value
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 0.1 or value == 0:
        return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
    return f"{value:.5f}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


_PACKAGES = ("unicorn", "numpy", "numba", "capstone", "ziglang")
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


def as_markdown(tables: Sequence[FigureTable], *, date: str, rounds: int, options: str) -> str:
    """The page that is committed as RESULTS.md."""
    head = _HEAD.format(options=options, date=date, machine=described_machine(), rounds=rounds)
    return "\n".join([head, *(table.markdown() for table in tables)])


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
