"""Interpreted unwind rows on the terminal, in the shape of `readelf --debug-dump=frames-interp`, for any format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from testbed.contract.rows import (
    AtRegister,
    Constant,
    ExpressionRule,
    Offset,
    RegisterPlus,
    RowTable,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
    ValExpression,
    ValOffset,
)
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage
from testbed.image.symbols import readable, symbol_for
from testbed.report.narrow_tables import ruled_table
from testbed.words.errors import UnwindError

_GAP = 3  # between two columns: a cell's padding, and the box's line of spaces
LEGEND = (
    "c-8: stored at CFA-8   v-8: is CFA-8   rsp+8: a register and an offset   [rbp+8]: stored there   "
    "s: same value   -: no rule, the register is unchanged   u: lost; of ra: no caller, the outermost frame   "
    "exp, vexp: a DWARF expression"
)


def table_page(name: str, image: Image, table: RowTable) -> RenderableType:
    """All rows that an unwinder claims for an image, a table per function."""
    parts: list[RenderableType] = [Text(f"{image}: {len(table)} rows of {table.source} ({name})", style="bold")]
    for title, rows in _by_function(image, table):
        parts += [Text(f"\n{title}"), _rows(rows)]
    unread = [f"{_name(image, part.start)}, {part.start:x} to {part.end:x}: {part.why}" for part in table.broken]
    if table.unplaced is not None:
        unread.append(f"a function that is not known: {table.unplaced}")
    if unread:
        parts += [Text("\nno rows, because of their entries:", style="bold"), *map(Text, unread)]
    return Group(*parts, Text())


def row_cells(unwinder: Unwinder, loaded: LoadedImage | None, pc: int) -> tuple[UnwindRow | None, str, str]:
    """The row in force at a run-time pc, its CFA and its rules; without one, why there is none instead of the rules."""
    if unwinder.rows is None or loaded is None:
        return None, "", "no image covers this pc"
    try:
        table = unwinder.rows(loaded.image)
    except UnwindError as why:
        return None, "", str(why)
    row = table.at(pc - loaded.bias)
    if row is None:
        return None, "", str(table.stop_at(pc - loaded.bias) or "no row covers this pc")
    return (
        row,
        cfa_text(row.cfa),
        "  ".join(f"{name}={rule_text(rule)}" for name, rule in sorted(row.registers.items())),
    )


def _by_function(image: Image, table: RowTable) -> Iterator[tuple[str, list[UnwindRow]]]:
    """Consecutive rows under the name of the function that they cover."""
    title, rows = "", list[UnwindRow]()
    for row in table:
        name = _name(image, row.start)
        if name != title and rows:
            yield title, rows
            rows = []
        title = name
        rows.append(row)
    if rows:
        yield title, rows


def _name(image: Image, address: int) -> str:
    symbol = symbol_for(image, address)
    return readable(symbol) if symbol else f"{address:#x}"


def _rows(rows: list[UnwindRow]) -> _RowsAsTold:
    own = rows[0].return_address
    named = sorted({name for row in rows for name in row.registers} - {own})
    cells = tuple(
        (f"{row.start:x}", cfa_text(row.cfa), *(rule_text(row.registers.get(name)) for name in (*named, own)))
        for row in rows
    )
    return _RowsAsTold(("loc", "CFA", *named, "ra"), cells)


@dataclass(frozen=True, slots=True)
class _RowsAsTold:
    """A function's rows for whatever width they are printed at: loc and CFA first, ra last.

    Where they are too wide, a register with the same rule in all rows is told below them instead of in a column; what
    still does not fit beside the others stands in a table of its own, behind loc again. Nothing is cut.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        columns = list(zip(self.heads, *self.rows, strict=True))
        loc, cfa, *registers, ra = range(len(columns))
        widths = [max(map(len, column)) + _GAP for column in columns]
        same: dict[str, list[str]] = {}
        if sum(widths) - _GAP > options.max_width:
            for i in registers:
                if len(set(columns[i][1:])) == 1:
                    same.setdefault(columns[i][1], []).append(self.heads[i])
            told = {name for names in same.values() for name in names}
            registers = [i for i in registers if self.heads[i] not in told]
        blocks = [[cfa]]
        for i in (*registers, ra):
            if widths[loc] + sum(widths[at] for at in blocks[-1]) + widths[i] - _GAP > options.max_width:
                blocks.append([])
            blocks[-1].append(i)
        for number, block in enumerate(blocks):
            if number:
                yield Text()
            yield self._table((loc, *block))
        for rule, names in same.items():
            yield Text(f"{rule} in all these rows: {', '.join(names)}", style="dim")

    def _table(self, chosen: tuple[int, ...]) -> Table:
        heads = (Column(self.heads[i], no_wrap=True) for i in chosen)
        return ruled_table(heads, ((row[i] for i in chosen) for row in self.rows), padding=(0, _GAP - 1, 0, 0))


def cfa_text(rule: Rule | None) -> str:
    """A CFA rule in the legend's few letters."""
    return "exp" if isinstance(rule, ValExpression) else rule_text(rule)


def rule_text(rule: Rule | None) -> str:
    """A register rule in the legend's few letters; None is a register without a rule.

    A return address without one is still in its register (arm64: x30 at a function's first instruction). One that is
    undefined (``.cfi_undefined``) cannot be recovered: there is no caller.
    """
    match rule:
        case None:
            return "-"
        case Undefined():
            return "u"
        case Offset(offset):
            return f"c{offset:+d}"
        case ValOffset(offset):
            return f"v{offset:+d}"
        case RegisterPlus(register, offset):
            return f"{register}{offset:+d}" if offset else register
        case AtRegister(register, offset):
            return f"[{register}{offset:+d}]"
        case SameValue():
            return "s"
        case Constant(value):
            return f"{value:#x}"
        case ExpressionRule():
            return "exp"
        case ValExpression():
            return "vexp"
        case _:
            assert_never(rule)
