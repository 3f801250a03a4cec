"""Tables of words and numbers for terminals of any width: words wrap, numbers are never cut.

Where not even the longest words and the numbers fit beside each other, each row becomes a paragraph: its words, then
each number behind the name of its column.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import PaddingDimensions
from rich.table import Column, Table
from rich.text import Text

_WORDS = 30  # columns that the words of a table have at least
KEPT = "\xa0"  # a space at which no line ends
_GAP = 2  # columns between two cells: a cell's padding, and the box's line of spaces


def kept(text: str) -> str:
    """Text in which a number stays beside its sign, also where lines end."""
    return text.replace(" %", f"{KEPT}%")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences. No word is split, and a number stays beside its sign, as all stays together that ``KEPT`` joins."""

    text: str
    style: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        lines = textwrap.wrap(kept(self.text), options.max_width, break_long_words=False, break_on_hyphens=False)
        yield Text("\n".join(lines).replace(KEPT, " "), self.style, no_wrap=True, overflow="ignore")


@dataclass(frozen=True, slots=True)
class NumberedRow:
    """Words, then numbers, each a cell; a cell of numbers may have several lines."""

    words: tuple[str, ...]
    numbers: tuple[str, ...]
    style: str = ""


@dataclass(frozen=True, slots=True)
class NumberedTable:
    """The same for whatever width it is printed at."""

    words: tuple[str, ...]
    numbers: tuple[str, ...]
    rows: tuple[NumberedRow, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield numbered_table(self.words, self.numbers, self.rows, options.max_width)


TableText = str | Text


@dataclass(frozen=True, slots=True)
class ColumnBlocks:
    """Words and many columns of numbers: what does not fit beside the others stands below, behind the words again.

    Names over numbers are broken at their underscores where the whole ones do not fit. Where that is not enough, words
    that are long together stand in one narrow column, one below the other.
    """

    words: tuple[str, ...]
    numbers: tuple[TableText, ...]
    rows: tuple[tuple[TableText, ...], ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        many = len(self.words)
        widths = self._widths()
        if sum(widths) + _GAP * (len(widths) - 1) > options.max_width:
            narrow = tuple("\n".join(map(_broken, str(head).splitlines())) for head in self.numbers)
            if narrow != self.numbers:
                yield replace(self, numbers=narrow)
                return
        taken = sum(widths[:many]) + _GAP * many
        if taken - _GAP > _WORDS and sum(widths) + _GAP * (len(widths) - 1) > options.max_width:
            room = max(_WORDS, options.max_width - sum(_GAP + width for width in widths[many:]))
            below = tuple((_below(row[:many], room), *row[many:]) for row in self.rows)
            yield ColumnBlocks((" ".join(self.words).strip(),), self.numbers, below)
            return
        block: list[int] = []
        for i in range(many, len(widths)):
            if block and taken + sum(widths[at] + _GAP for at in block) + widths[i] > options.max_width:
                yield from (self._block(block), Text())
                block = []
            block.append(i)
        yield self._block(block)

    def _widths(self) -> list[int]:
        columns = zip((*self.words, *self.numbers), *self.rows, strict=True)
        return [max(_longest(str(cell).splitlines()) for cell in column) for column in columns]

    def _block(self, chosen: Sequence[int]) -> Table:
        heads, many = (*self.words, *self.numbers), len(self.words)
        columns = [Column(head, overflow="fold") for head in self.words]
        columns += [Column(heads[i], justify="right", no_wrap=True) for i in chosen]
        return ruled_table(columns, ((*row[:many], *(row[i] for i in chosen)) for row in self.rows))


def _below(words: Sequence[TableText], room: int) -> str:
    """Words as one cell of so many columns: all that is not the beginning of the first one is indented."""
    indents = ("", *("  " for _ in words[1:]))
    lines = [
        textwrap.wrap(str(word), room, initial_indent=indent, subsequent_indent="  ", break_on_hyphens=False)
        for word, indent in zip(words, indents, strict=True)
    ]
    return "\n".join(line for each in lines for line in each)


@dataclass(frozen=True, slots=True)
class WordTable:
    """Names first, then words. A name is never cut or split, nor is a path, an address or any other long word.

    Where the longest words do not fit beside each other, each row becomes a paragraph under its name. A word that is
    longer than a line stands in a line of its own, whole: a terminal shows it in two, and copies it as one.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        columns = list(zip(self.heads, *self.rows, strict=True))
        least = [_longest(columns[0]), *(_longest([w for c in column for w in c.split()]) for column in columns[1:])]
        if sum(least) + (_GAP + 1) * (len(least) - 1) > options.max_width:
            yield from (self._paragraph(row, options.max_width) for row in self.rows)
            return
        heads = [Column(self.heads[i], min_width=width, no_wrap=not i) for i, width in enumerate(least)]
        yield ruled_table(heads, self.rows, padding=(0, 1))

    def _paragraph(self, row: tuple[str, ...], width: int) -> Text:
        lines = [row[0]]
        for head, cell in zip(self.heads[1:], row[1:], strict=True):
            for part in cell.splitlines() if cell not in ("", "-") else ():
                told = part if head == self.heads[-1] else f"{head}: {part}"
                lines += textwrap.wrap(
                    told,
                    width,
                    initial_indent="  ",
                    subsequent_indent="    ",
                    break_long_words=False,
                    break_on_hyphens=False,
                )
        return Text("\n".join(lines), no_wrap=True, overflow="ignore")


def ruled_table(
    columns: Iterable[Column | str],
    rows: Iterable[Iterable[RenderableType]] = (),
    *,
    padding: PaddingDimensions = (0, 1, 0, 0),
) -> Table:
    """Rows under the heads of their columns, with a line below the heads and none elsewhere."""
    table = Table(*columns, box=SIMPLE_HEAD, padding=padding, show_edge=False, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    return table


def numbered_table(
    words: Sequence[str], numbers: Sequence[str], rows: Sequence[NumberedRow], width: int
) -> RenderableType:
    """Rows under the heads of their columns, laid out for a terminal of so many columns."""
    lines = [NumberedRow(tuple(words), tuple(numbers)), *rows]
    longest = [max(_longest(row.words[i].split()) for row in lines) for i in range(len(words))]
    widest = [max(_longest(row.numbers[i].splitlines()) for row in lines) for i in range(len(numbers))]
    if sum(longest) + sum(widest) + _GAP * (len(longest) + len(widest)) > width:
        return Group(*(_paragraph(numbers, row) for row in rows))
    columns = [
        *(Column(head, overflow="fold", min_width=least) for head, least in zip(words, longest, strict=True)),
        *(
            Column(head, justify="right", no_wrap=True, min_width=least)
            for head, least in zip(numbers, widest, strict=True)
        ),
    ]
    table = ruled_table(columns)
    for row in rows:
        table.add_row(*row.words, *row.numbers, style=row.style)
    return table


def _broken(name: str) -> str:
    """A long name on lines, broken behind underscores; what is broken already stays so."""
    if len(name) <= 9 or "_" not in name[1:-1]:
        return name
    cut = 1 + (max(name.rfind("_", 1, 9), 0) or name.find("_", 1))
    return f"{name[:cut]}\n{_broken(name[cut:])}"


def _longest(words: Sequence[str]) -> int:
    return max(map(len, words), default=0)


def _paragraph(heads: Sequence[str], row: NumberedRow) -> Paragraph:
    told = (KEPT.join(f"{head} {number}".split()) for head, number in zip(heads, row.numbers, strict=True))
    words = " ".join(word for word in row.words if word)
    return Paragraph(f"{words}: {', '.join(told)}" if words else ", ".join(told), row.style)
