"""A benchmark's result: numbers in columns, and sentences about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.rounds import Spread

TableValue = str | int | float | None


@dataclass(frozen=True, slots=True)
class FigureTable:
    """Rows of numbers under named columns; a column's name says its unit. ``notes`` say what is missing, and why."""

    key: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TableValue, ...], ...]
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        for row in self.rows:
            assert len(row) == len(self.columns), (self.key, row)

    def column(self, name: str) -> list[TableValue]:
        i = self.columns.index(name)
        return [row[i] for row in self.rows]

    def data(self) -> dict[str, Any]:
        """Plain data for JSON: a mapping per row."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, "notes": list(self.notes)}

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
