"""Limits on the terminal: what each strategy cannot know, and how much that would hide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table

if TYPE_CHECKING:  # what is printed is given
    from testbed.campaign.shares import Share
    from testbed.contract.unwinder import Unwinder


def limits_table(unwinders: Iterable[Unwinder]) -> Table:
    """A line per limit: the mechanism, where, as which outcomes, why."""
    table = Table(
        "strategy", "mechanism", "on", "shows as", "because", box=SIMPLE_HEAD, show_edge=False, pad_edge=False
    )
    for unwinder in unwinders:
        for limit in unwinder.limits:
            where = ", ".join(sorted(limit.arches)) if limit.arches else "all"
            shown = ", ".join(sorted(outcome.value for outcome in limit.outcomes))
            table.add_row(unwinder.name, limit.mechanism, where, shown, f"{limit.because} ({limit.reference})")
    return table


def shares_table(found: Mapping[tuple[str, str], Share], names: Sequence[str], arches: Sequence[str]) -> Table:
    """The share of all sites at which a made-up lie would be explained, of those without declared tables, and of all
    at which the strategy really lies ("-": it is not installed)."""
    table = Table("", *arches, box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.columns[0].no_wrap = True
    table.title = "% of sites: a lie explained / the same, tables right / a lie told"
    for name in names:
        each = [found.get((name, arch)) for arch in arches]
        if any(each):
            table.add_row(name, *(_shares(share) if share else "" for share in each))
    return table


def _shares(share: Share) -> str:
    return " / ".join(_percent(each) for each in (share.of_all, share.of_plain, share.of_judged))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
