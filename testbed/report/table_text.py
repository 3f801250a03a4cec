"""Interpreted unwind rows on the terminal, in the shape of `readelf --debug-dump=frames-interp`, for any format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from testbed.contract.rows import (
    AtCfa,
    AtExpression,
    AtRegister,
    CfaPlus,
    Constant,
    IsExpression,
    RegisterPlus,
    RowTable,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
)
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage
from testbed.image.symbols import readable, symbol_for
from testbed.words.errors import UnwindError

LEGEND = (
    "c-8: stored at CFA-8   v-8: is CFA-8   rsp+8: a register and an offset   [rbp+8]: stored there   "
    "s: same value   u: unknown   exp, vexp: a DWARF expression"
)


def table_page(name: str, image: Image, table: RowTable) -> RenderableType:
    """All rows that a strategy claims for an image, a table per function."""
    parts: list[RenderableType] = [Text(f"{image}: {len(table)} rows of {table.source} ({name})", style="bold")]
    for title, rows in _by_function(image, table):
        parts += [Text(f"\n{title}"), _rows(rows)]
    unread = [f"{_name(image, part.start)}, {part.start:x} to {part.end:x}: {part.why}" for part in table.broken]
    if table.unplaced is not None:
        unread.append(f"a function that is not known: {table.unplaced}")
    if unread:
        parts += [Text("\nno rows, because of their entries:", style="bold"), *map(Text, unread)]
    return Group(*parts, Text(f"\n{LEGEND}", style="dim"))


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


def _rows(rows: list[UnwindRow]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 2, 0, 0), show_edge=False, pad_edge=False)
    own = rows[0].return_address
    named = sorted({name for row in rows for name in row.registers} - {own})
    for column in ("loc", "CFA", *named, "ra"):
        table.add_column(column)
    for row in rows:
        rules = (rule_text(row.registers.get(name)) for name in (*named, own))
        table.add_row(f"{row.start:x}", cfa_text(row.cfa), *rules)
    return table


def cfa_text(rule: Rule | None) -> str:
    """A CFA rule in the legend's few letters."""
    return "exp" if isinstance(rule, IsExpression) else rule_text(rule)


def rule_text(rule: Rule | None) -> str:
    """A register rule in the legend's few letters; None is a return address without a rule."""
    match rule:
        case None | Undefined():
            return "u"
        case AtCfa(offset):
            return f"c{offset:+d}"
        case CfaPlus(offset):
            return f"v{offset:+d}"
        case RegisterPlus(register, offset):
            return f"{register}{offset:+d}" if offset else register
        case AtRegister(register, offset):
            return f"[{register}{offset:+d}]"
        case SameValue():
            return "s"
        case Constant(value):
            return f"{value:#x}"
        case AtExpression():
            return "exp"
        case IsExpression():
            return "vexp"
        case _:
            assert_never(rule)
