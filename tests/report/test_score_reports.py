"""The score card as text of any width, as JSON, as a page and as a badge."""

from __future__ import annotations

import io
import re
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


def card() -> ScoreCard:
    others = {f"tool_{i}": counts(20 - i, i // 2) for i in range(12)}
    return card_of(others, mine=counts(11, 5))


def printed(width: int) -> str:
    out = io.StringIO()
    page = score_page(card(), {"mine": "-u mine"}, everything=False, width=width)
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


def test_the_last_sentence_says_where_it_lies_most_and_what_to_begin_with() -> None:
    *_, said, command = printed(140).splitlines()
    assert re.fullmatch(r"mine lies at 20\.0 % of 20 sites, most at calls on x86_64 \(100 %\)\. Begin with:", said)
    assert command == "  testbed run leaf_call -a x86_64 -r keystone --at @3 -u mine"


def test_the_last_sentence_of_who_never_lies() -> None:
    for exact, said in (
        (20, "mine is exact at all 20 sites."),
        (15, "mine lies at none of 20 sites, and stops at 25.0 %."),
    ):
        out = io.StringIO()
        page = score_page(card_of({}, mine=counts(exact, 20 - exact)), {}, everything=False, width=100)
        Console(width=100, file=out, highlight=False, markup=False).print(page)
        assert out.getvalue().splitlines()[-1] == said


def test_the_neighbours_are_shown_and_the_others_counted() -> None:
    text = printed(100)
    shown = re.findall(r"^(?:> )?(tool_\d+|mine) +\d", text, re.M)
    assert shown == [*(f"tool_{i}" for i in (0, 1, 2, 3, 4, 7, 8)), "mine", "tool_9", "tool_10"]
    assert "3 others" in text


def test_a_table_becomes_paragraphs_where_it_does_not_fit() -> None:
    rows = [NumberedRow(("a long name",), ("1,234,567", "3 of 9"))]
    out = io.StringIO()
    console = Console(width=20, file=out)
    console.print(numbered_table(("name",), ("sites", "place"), rows, 20))
    assert "1,234,567" in out.getvalue() and "place 3 of 9" in " ".join(out.getvalue().split())


def test_json_has_every_phase_and_trap() -> None:
    data = score_data(card(), {"mine": "--unwinder-cmd './my unwinder'"}, everything=False)
    mine = data["unwinders"][0]
    whole = mine["arches"]["x86_64"]
    assert (whole["sites"], whole["exact"], whole["stopped"], whole["lying"], whole["points"]) == (20, 11, 5, 4, 35.0)
    assert sum(phase["sites"] for phase in whole["phases"].values()) == 20
    assert [trap["trap"] for trap in mine["traps"]] == [1, 14]
    assert mine["traps"][0]["arches"]["x86_64"]["phases"]["call"]["lying"] == 4
    assert mine["traps"][0]["command"].endswith("--at @3 --unwinder-cmd './my unwinder'")
    assert len(data["board"]["x86_64"]) == 13


def test_the_page_is_whole_and_fetches_nothing() -> None:
    page = score_html(card(), {"mine": "--unwinder-cmd './<script>'"}, everything=True)
    assert page.count("<section") == page.count("</section>") == 3
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", page)
    assert "./<script>" not in page and "&lt;script&gt;" in page
    assert "10 of 13" in page and "tool_11" in page


def test_the_markdown_has_a_row_for_everybody() -> None:
    text = score_markdown(card())
    assert len(re.findall(r"^\| \d+ \| `", text, re.M)) == 13
    assert re.search(r"^\| 10 \| `mine` \| 35\.0 \| 55\.0 \| 25\.0 \| 20\.0 \|", text, re.M)


@pytest.mark.parametrize(
    ("numbers", "text", "colour"),
    [
        ((1000, 0, 0), "100 % exact · 0 % lies", "#2f7d4f"),
        ((900, 95, 5), "90.0 % exact · 0.5 % lies", "#8a6d00"),
        ((900, 0, 100), "90.0 % exact · 10.0 % lies", "#b3263e"),
    ],
)
def test_a_badge_is_a_picture_with_its_words(numbers: tuple[int, int, int], text: str, colour: str) -> None:
    share = Counts(dict(zip(map(SiteKind, (Outcome.EXACT, Outcome.STOPPED, Outcome.WRONG)), numbers, strict=True)))
    picture = badge(share)
    root = ElementTree.fromstring(picture)
    assert root.attrib["aria-label"] == f"unwinding: {text}"
    assert colour in picture
    assert badge(share, '<&"').count("&lt;&amp;&#34;") == 3


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
