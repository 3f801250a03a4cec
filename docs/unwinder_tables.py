"""The tables of docs/techniques.md and README.md: what there is, and how it fares, from the counts that are kept."""

from __future__ import annotations

from collections import defaultdict

from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.score_card import ScoreCard, ScoredUnit, known_scores
from testbed.report.phrases import markdown_table, percent, share
from tests.golden import OURS, all_cells
from unwinders import UNWINDERS


def unwinders() -> str:
    """The catalogue of unwinders as a table."""
    rows = []
    for unwinder in UNWINDERS.values():
        where = ", ".join(sorted(unwinder.arches)) if unwinder.arches else "all"
        needs = f", files with {', '.join(sorted(unwinder.needs))}" if unwinder.needs else ""
        rows.append((f"`{unwinder.name}`", unwinder.summary, where + needs))
    return markdown_table(("unwinder", "what it is", "exists for"), rows)


def precision() -> str:
    """Every unwinder by instruction set, from the golden counts that the tests keep: exact, precision, recall."""
    found: defaultdict[tuple[str, str], list[tuple[int, ...]]] = defaultdict(list)
    for unit, name, counts in all_cells(OURS):
        isa = RECIPES[unit.recipe].isa_on(ARCHES[unit.arch])
        assert isa is not None
        judged = counts["sites"] - counts["transition"] - counts.get("undecided", 0)
        found[name, isa.name].append((counts["exact"], judged, *counts["callers"]))
    isas = [isa.name for arch in ARCHES.values() for isa in arch.isas]
    rows = []
    for name in UNWINDERS:
        words = []
        for isa in isas:
            exact, judged, said, true, right = map(sum, zip(*found[name, isa] or [(0,) * 5], strict=True))
            shares = (share(*pair).removesuffix(" %") for pair in ((exact, judged), (right, said), (right, true)))
            words.append(" / ".join(shares) if judged else "")
        rows.append((f"`{name}`", *words))
    return markdown_table(("exact / precision / recall, %", *isas), rows)


SHOWN = (
    *("gdb", "lldb", "drgn", "libdw", "symbolic", "libunwind", "libunwindstack", "perf", "llvm_libunwind"),
    *("eh_frame", "stack_scan", "fp_chain"),
)


def tools() -> str:
    """Debuggers, libraries and three techniques: percent exact by architecture, from the known scores."""
    known = known_scores()
    card = ScoreCard(tuple(ScoredUnit(unit, known.sites[unit]) for unit in known.sample), (), known, {})
    rows = []
    for name in SHOWN:
        placed = [card.place(name, arch) for arch in ARCHES]
        each = [percent(p.share.exact, p.share.judged) if p else "" for p in placed]
        version = known.known[name].tool.partition(" (")[0] or f"`{name}`"
        rows.append((version, *each))
    return markdown_table(("exact, %", *ARCHES), rows)
