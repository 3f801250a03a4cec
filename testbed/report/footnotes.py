"""Reasons as footnotes: a letter where a reason applies, its sentence once, below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from testbed.campaign.results import Cell
from testbed.contract.assumption import CLAUSES
from testbed.verdicts.assumptions.along import Accord


class Footnotes:
    """The footnotes of a report: letters for sentences, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def letter(self, because: str) -> str:
        """``[a]``, then ``[b]``; after ``[z]`` comes ``[aa]``."""
        return f"[{self._letters.setdefault(because, _letters(len(self._letters)))}]"

    def lines(self) -> Iterator[RenderableType]:
        """A heading and every cause; nothing where there are none."""
        if not self._letters:
            return
        yield Text("\nwhy", "bold")
        table = Table.grid(padding=(0, 1, 0, 0))
        for because, letter in self._letters.items():
            table.add_row(Text(f"[{letter}]"), Text(because))
        yield table


def clauses_failed(cells: Iterable[Cell]) -> list[tuple[str, str]]:
    """The clauses that fail in these cells, by name, and what each of them says when it holds."""
    names = {clause for cell in cells for clause, _ in cell.shown if clause}
    return [(name, f"the clause that fails: {CLAUSES[name].holds}") for name in sorted(names)]


def unclaimed(cells: Iterable[Cell]) -> str:
    """Of which tools no explanation is claimed, as a sentence; "" where of all something is."""
    names = dict.fromkeys(
        cell.unwinder
        for cell in cells
        for kind in cell.kinds
        if kind.accord is Accord.UNCLAIMED and not kind.exact and not kind.clause
    )
    return f"Of {', '.join(names)} no explanation is claimed: the outcomes are counted." if names else ""


def _letters(number: int) -> str:
    return (_letters(number // 26 - 1) if number >= 26 else "") + chr(ord("a") + number % 26)
