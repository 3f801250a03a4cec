"""Limits on the terminal: what each strategy cannot know, and how much that would hide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:  # what is printed is given
    from rich.console import RenderableType

    from testbed.campaign.shares import Share
    from testbed.contract.unwinder import Limit, Unwinder


def limits_overview(unwinders: Iterable[Unwinder]) -> Table:
    """A row per strategy: how many limits it declares, counted as `limits_told` tells them, and about what: the first
    trait of each, with how many there are of it if several."""
    table = Table("strategy", "limits", "about", box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.columns[0].no_wrap = True
    table.columns[1].justify = "right"
    for unwinder in unwinders:
        told = _told_once(unwinder)
        about = Counter(limits[0].trait.name for limits in told.values())
        shown = ", ".join(name if count == 1 else f"{name}×{count}" for name, count in about.most_common())
        table.add_row(unwinder.name, str(len(told)), shown or "none")
    return table


def limits_told(unwinder: Unwinder) -> Iterator[RenderableType]:
    """One strategy's limits: each mechanism with its reason once, where it shows as which outcomes, who says so."""
    alike = _told_once(unwinder)
    yield Text(f"{unwinder.name}: {len(alike)} {'limit' if len(alike) == 1 else 'limits'}", style="bold")
    for (mechanism, because, reference), limits in alike.items():
        yield Padding(Text(mechanism), (1, 0, 0, 2))
        yield Padding(Text(because), (0, 0, 0, 4))
        for limit in limits:
            where = ", ".join(sorted(limit.arches)) if limit.arches else "everywhere"
            shown = ", ".join(sorted(outcome.value for outcome in limit.outcomes))
            yield Padding(Text(f"{where}: {shown}"), (0, 0, 0, 4))
        yield Padding(Text(reference, overflow="fold"), (0, 0, 0, 4))
    yield Text()


def _told_once(unwinder: Unwinder) -> dict[tuple[str, str, str], list[Limit]]:
    """A strategy's limits by what they say: one may be declared for each architecture apart, and is one."""
    alike: dict[tuple[str, str, str], list[Limit]] = {}
    for limit in unwinder.limits:
        alike.setdefault((limit.mechanism, limit.because, limit.reference), []).append(limit)
    return alike


def shares_table(found: Mapping[tuple[str, str], Share], names: Sequence[str], arches: Sequence[str]) -> Table:
    """The share of all sites at which a made-up lie would be explained, and of those without declared tables; of these,
    where the strategy really lies, and where it is not right ("-": it is not installed)."""
    table = Table("", *arches, box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.columns[0].no_wrap = True
    table.title = "% of sites: a lie explained / the same, tables right / a lie told / a lie told, or no answer"
    for name in names:
        each = [found.get((name, arch)) for arch in arches]
        if any(each):
            table.add_row(name, *(_shares(share) if share else "" for share in each))
    return table


def _shares(share: Share) -> str:
    return " / ".join(_percent(each) for each in (share.of_all, share.of_plain, share.of_judged, share.not_right))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
