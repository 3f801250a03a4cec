"""What was compared, as the tables of docs/analysis-of-libraries.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tests.unwinders.analysis.compared_functions import BEHIND, EQUAL, LANDING, REFUSED, Compared
from tests.unwinders.analysis.judged_causes import CAUSES, OTHERS, cause_of

MOST_OTHERS = 40


def refused(found: Compared) -> int:
    return sum(count for how, count in found.counts.items() if how.startswith(REFUSED))


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def libraries_table(found: Mapping[str, Compared]) -> str:
    rows = [
        (
            title,
            f"{one.functions:,}",
            f"{one.total:,}",
            f"{one.counts[EQUAL]:,}",
            f"{100 * one.counts[EQUAL] / one.total:.3f} %",
            f"{100 * refused(one) / one.total:.3f} %",
            _outside(one),
        )
        for title, one in found.items()
        if one.total
    ]
    return markdown(("library and table", "functions", "instructions", "equal", "share", "refused", "elsewhere"), rows)


def _outside(found: Compared) -> str:
    """The share of what is equal among the instructions to which control gets without an exception."""
    equal, total = found.counts[EQUAL] - found.landing[EQUAL], found.total - found.landing.total()
    return f"{100 * equal / total:.3f} % of {total:,}" if total else "none"


def causes_table(found: Mapping[str, Compared]) -> str:
    counts: Counter[tuple[str, str]] = Counter()
    titles: dict[tuple[str, str], set[str]] = {}
    for title, one in found.items():
        for (function, how), count in one.different.items():
            key = cause_of(function, how).name, how.removesuffix(LANDING).removesuffix(BEHIND)
            counts[key] += count
            titles.setdefault(key, set()).add(title)
    order = [cause.name for cause in (*CAUSES, OTHERS)]
    keys = sorted(counts, key=lambda key: (order.index(key[0]), -counts[key]))
    rows = [(name, how, f"{counts[name, how]:,}", ", ".join(sorted(titles[name, how]))) for name, how in keys]
    return markdown(("cause", "what differs", "instructions", "where"), rows)


def judgements() -> str:
    return "\n".join(f"- **{cause.name}**: {cause.judgement}" for cause in CAUSES)


def others_table(found: Mapping[str, Compared]) -> str:
    rest = [
        (count, title, function, how)
        for title, one in found.items()
        for (function, how), count in one.different.items()
        if cause_of(function, how) is OTHERS
    ]
    rest.sort(reverse=True)
    rows = [(f"`{function}`", title, how, str(count)) for count, title, function, how in rest[:MOST_OTHERS]]
    table = markdown(("function", "library", "what differs", "instructions"), rows)
    return table + (f"\n\nand {len(rest) - MOST_OTHERS} more." if len(rest) > MOST_OTHERS else "")


def page(introduction: str, found: Mapping[str, Compared], sample: str = "") -> str:
    """The whole page."""
    return introduction.format(
        libraries=libraries_table(found),
        causes=causes_table(found),
        judgements=judgements(),
        others=others_table(found),
        sample=sample,
    )
