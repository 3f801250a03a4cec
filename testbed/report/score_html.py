"""The score card as one self-contained page: where an unwinder stands, by architecture, phase and trap. No network."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from testbed.campaign.score_card import ScoreCard
from testbed.report.badge import badge
from testbed.report.page import page_text, render_page
from testbed.report.score_data import Commands, score_data
from testbed.report.score_text import percent


def score_html(card: ScoreCard, commands: Commands, *, everything: bool) -> str:
    """The page as text."""
    data = score_data(card, commands, everything=everything)
    return render_page(
        "score.html",
        css=page_text("page.css") + page_text("score.css"),
        data=data,
        names=card.names,
        arches=card.arches,
        badges={name: Markup(badge(card.overall(name))) for name in card.names},
        percent=_percent,
    )


def _percent(said: dict[str, Any], kind: str) -> str:
    return percent(said[kind], said["sites"])
