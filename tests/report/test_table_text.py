"""Rows of tables on terminals of any width: nothing is cut, and what differs looks different."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.referee import REFEREES
from testbed.report.catalogue_text import catalogue_table, shown_traps, traps_table
from testbed.report.narrow_tables import WordTable
from testbed.report.table_text import cfa_text, rule_text, table_page
from unwinders import UNWINDERS


def printed(strategy: str, width: int, program: str = "leaf_call", arch: str = "arm64") -> str:
    image = build(PROGRAMS[program], ARCHES[arch], RECIPES["keystone"]).image
    rows = UNWINDERS[strategy].rows
    assert rows is not None
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    console.print(table_page(strategy, image, rows(image)))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def told(text: str) -> dict[tuple[str, str], str]:
    """By (loc, column) what the tables say, and of registers told below them by (function's first loc, register)."""
    out: dict[tuple[str, str], str] = {}
    heads: list[str] = []
    locs: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["loc"]:
            heads, locs = words, []
        elif (found := re.match(r"(\S+) in all these rows: (.*)", line)) is not None:
            out |= {(loc, name): found[1] for loc in locs for name in found[2].split(", ")}
        elif heads and len(words) == len(heads) and re.fullmatch("[0-9a-f]+", words[0]):
            locs.append(words[0])
            out |= {(words[0], head): word for head, word in zip(heads[1:], words[1:], strict=True)}
    return out


@pytest.mark.parametrize("width", [100, 80, 60, 40])
@pytest.mark.parametrize("strategy", ["sframe", "eh_frame", "fp_chain", "prologue_analysis"])
def test_every_rule_is_told_at_any_width(strategy: str, width: int) -> None:
    unwinder = UNWINDERS[strategy]
    image = build(PROGRAMS["leaf_call"], ARCHES["arm64"], RECIPES["keystone"]).image
    if unwinder.rows is None:
        pytest.skip(f"{strategy} has no rows")
    text = printed(strategy, width)
    assert "…" not in text and max(map(len, (line.rstrip() for line in text.splitlines()))) <= width
    if width == 40:  # lists of names may wrap there
        return
    said = told(re.sub(r", *\n", ", ", text))
    for row in unwinder.rows(image):
        loc = f"{row.start:x}"
        assert said[loc, "CFA"] == cfa_text(row.cfa)
        for name, rule in row.registers.items():
            assert said[loc, "ra" if name == row.return_address else name] == rule_text(rule)


def test_no_caller_and_still_in_its_register_look_different() -> None:
    text = printed("eh_frame", 80)
    said = told(text)
    image = build(PROGRAMS["leaf_call"], ARCHES["arm64"], RECIPES["keystone"]).image
    at = {symbol.name: f"{symbol.address:x}" for symbol in image.symbols}
    assert said[at["_start"], "ra"] == "u"  # .cfi_undefined: the root
    assert said[at["leaf"], "ra"] == "-"  # the first instruction: x30 has it
    legend = " ".join(text.split())
    assert "-: no rule, the register is unchanged" in legend and "u: lost; of ra: no caller" in legend


# Lists of names and words on terminals of any width: what has to be typed or opened is there, whole.

WIDTHS = [200, 100, 80, 60, 40]


def console(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False, markup=False)


def shown_on(to: Console) -> str:
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


@pytest.mark.parametrize("width", WIDTHS)
def test_every_word_is_there_in_one_piece(width: int) -> None:
    words = {
        *PROGRAMS,
        *UNWINDERS,
        *(each.name for referee in REFEREES.values() for each in referee.unwinders),
        *(word for referee in REFEREES.values() for word in referee.package.split() if referee.find() is None),
        *(word for referee in REFEREES.values() if (found := referee.find()) for word in found.path.split()),
        *(reference for trap in shown_traps(PROGRAMS) for reference in trap.references),
    }
    to = console(width)
    listed = {"programs": PROGRAMS, "unwinders": UNWINDERS, "referees": REFEREES}
    tables = (*(catalogue_table(what, known.values()) for what, known in listed.items()), traps_table(PROGRAMS))
    for table in tables:
        to.print(table, crop=False)
    text = shown_on(to)
    there = {word.strip(",()") for word in text.split()}
    assert {word for word in words if word.strip(",()") not in there} == set()
    assert "…" not in text


def test_a_wide_terminal_has_columns_and_a_narrow_one_paragraphs() -> None:
    table = WordTable(
        ("name", "needs", "what"), (("one", "-", "a b c"), ("two", "x", "https://host.example/" + 40 * "y"))
    )
    wide, narrow = console(100), console(30)
    wide.print(table)
    narrow.print(table, crop=False)
    assert shown_on(wide).splitlines()[0].split() == ["name", "needs", "what"]
    assert shown_on(narrow).splitlines() == [
        *("one", "  a b c", "two", "  needs: x"),
        "  https://host.example/" + 40 * "y",
    ]
