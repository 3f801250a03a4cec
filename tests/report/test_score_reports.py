"""The score card as text of any width, as JSON, as a page and as a badge."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from testbed.campaign.score_card import ScoreCard
from testbed.report.narrow_tables import ColumnBlocks, NumberedRow, numbered_table
from testbed.report.phrases import percent
from testbed.report.score_text import badge, score_data, score_html, score_markdown, score_page
from testbed.verdicts.counts import Counts, SiteKind
from testbed.words.outcome import Outcome
from tests.campaign.scored import card_of, counts
from tests.golden.whole import golden


def card(mine: Any = None) -> ScoreCard:
    others = {f"tool_{i}": counts(20 - i, i // 2) for i in range(12)}
    return card_of(others, mine=mine or counts(11, 5))


def printed(width: int, mine: Any = None) -> str:
    out = io.StringIO()
    page = score_page(card(mine), {"mine": "-u mine"}, everything=False, width=width)
    Console(width=width, file=out, highlight=False, markup=False).print(page)
    return out.getvalue()


@pytest.mark.parametrize("width", [140, 100, 80, 60, 44, 30])
def test_no_number_is_cut_however_narrow_it_is(width: int) -> None:
    text = printed(width)
    assert all(len(line) <= width for line in text.splitlines())
    joined = " ".join(text.split())
    for number in ("55.0", "25.0", "20.0", "35.0", "55/25/20"):
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.])", joined), number
    assert "testbed run leaf_call -a x86_64 -r keystone --at @3 -u mine" in joined
    assert "10 of 13" in joined


SHARES = {"green": (1000, 0, 0), "fair": (900, 95, 5), "bad": (900, 0, 100)}


def of(exact: int, stopped: int, wrong: int) -> Counts:
    kinds = map(SiteKind, (Outcome.EXACT, Outcome.STOPPED, Outcome.WRONG))
    return Counts(dict(zip(kinds, (exact, stopped, wrong), strict=True)))


COMMANDS = {"mine": "--unwinder-cmd './my unwinder'"}
OUTPUTS: Mapping[str, Callable[[], str]] = {
    "140.txt": partial(printed, 140),
    "60.txt": partial(printed, 60),
    "never_lies.txt": partial(printed, 100, counts(15, 5)),
    "exact.txt": partial(printed, 100, counts(20, 0)),
    "data.json": lambda: json.dumps(score_data(card(), COMMANDS, everything=False), indent=1),
    "ranking.md": lambda: score_markdown(card()),
    **{f"{name}.svg": partial(badge, of(*numbers)) for name, numbers in SHARES.items()},
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_score_is_told_as_it_was(name: str, request: pytest.FixtureRequest) -> None:
    golden(f"score/{name}", str(OUTPUTS[name]()), request)


def test_a_badge_is_a_picture_whatever_its_label() -> None:
    assert ElementTree.fromstring(badge(of(1, 0, 0), '<&"')).attrib["aria-label"].startswith('<&"')


def test_a_table_becomes_paragraphs_where_it_does_not_fit() -> None:
    rows = [NumberedRow(("a long name",), ("1,234,567", "3 of 9"))]
    out = io.StringIO()
    console = Console(width=20, file=out)
    console.print(numbered_table(("name",), ("sites", "place"), rows, 20))
    assert "1,234,567" in out.getvalue() and "place 3 of 9" in " ".join(out.getvalue().split())


def test_the_page_is_whole_and_fetches_nothing() -> None:
    page = score_html(card(), {"mine": "--unwinder-cmd './<script>'"}, everything=True)
    assert page.count("<section") == page.count("</section>") == 3
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", page)
    assert "./<script>" not in page and "&lt;script&gt;" in page
    assert "10 of 13" in page and "tool_11" in page


def test_a_share_is_0_or_100_only_if_it_is() -> None:
    assert [percent(part, 10_000) for part in (0, 1, 5_000, 9_999, 10_000)] == ["0", "0.1", "50.0", "99.9", "100"]
    assert percent(0, 0) == "-"


@pytest.mark.parametrize("width", [24, 40, 60, 100])
def test_columns_that_do_not_fit_stand_below_behind_the_words_again(width: int) -> None:
    numbers = tuple(f"{i}{i},{i * 111:03}" for i in range(1, 9))
    table = ColumnBlocks(
        ("strategy", "arch"), tuple(f"head\n{i}" for i in range(8)), (("fp_chain", "arm64", *numbers),)
    )
    out = io.StringIO()
    Console(width=width, file=out).print(table)
    lines = out.getvalue().splitlines()
    assert all(len(line) <= width for line in lines) and "…" not in out.getvalue()
    told = [line for line in lines if line.startswith("fp_chain  arm64 ")]
    assert [word for line in told for word in line.split()[2:]] == list(numbers)
    assert (len(told) == 1) == (width == 100)
