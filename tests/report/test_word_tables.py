"""Lists of names and words on terminals of any width: what has to be typed or opened is there, whole."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from programs import PROGRAMS
from testbed.referee import REFEREES
from testbed.report.catalogue_text import catalogue_table, shown_traps, traps_table
from testbed.report.narrow_tables import WordTable
from unwinders import UNWINDERS

WIDTHS = [200, 100, 80, 60, 40]


def console(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False, markup=False)


def printed(to: Console) -> str:
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
    text = printed(to)
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
    assert printed(wide).splitlines()[0].split() == ["name", "needs", "what"]
    assert printed(narrow).splitlines() == [
        *("one", "  a b c", "two", "  needs: x"),
        "  https://host.example/" + 40 * "y",
    ]
