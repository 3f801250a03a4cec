"""Everybody who is known, as tables of Markdown: docs/scoreboard.md."""

from __future__ import annotations

from testbed.campaign.score_card import ScoreCard
from testbed.report.score_text import percent
from testbed.truth.phases import Phase


def score_markdown(card: ScoreCard) -> str:
    """A table of who they are, one of each architecture, and one of lies by phase."""
    known = card.known.known
    lines = ["| name | what it is | version |", "|---|---|---|"]
    lines += [f"| `{k.name}` | {k.summary} | {k.tool.partition(' (')[0] or 'ours'} |" for k in known.values()]
    for arch in card.arches:
        lines += ["", f"## {arch}", ""]
        phases = " | ".join(phase.value for phase in Phase)
        lines += [f"| place | name | points | exact % | stop % | lie % | {phases} |", "|---" * (6 + len(Phase)) + "|"]
        for placed in card.ranking(arch):
            share = placed.share
            each = (percent(part, share.sites) for part in (share.exact, share.stopped, share.lying))
            by_phase = (_exact_and_lies(card, placed.name, arch, phase) for phase in Phase)
            row = (str(placed.place), f"`{placed.name}`", f"{share.points:.1f}", *each, *by_phase)
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def _exact_and_lies(card: ScoreCard, name: str, arch: str, phase: Phase) -> str:
    """``97.3 / 0.2``."""
    placed = card.place(name, arch, phase=phase)
    if placed is None or not placed.share.sites:
        return "-"
    return f"{percent(placed.share.exact, placed.share.sites)} / {percent(placed.share.lying, placed.share.sites)}"
