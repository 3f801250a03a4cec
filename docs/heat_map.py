"""docs/heat-map.svg: the share of sites at which each unwinder is exact, by instruction set, from the golden counts."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def shares() -> dict[tuple[str, str], float]:
    """The percentage of exact sites outside transitions, by unwinder and instruction set."""
    sys.path.insert(0, str(ROOT))
    from testbed.arch import ARCHES
    from testbed.build.recipes import RECIPES
    from tests.golden import OURS, all_cells

    exact: dict[tuple[str, str], int] = {}
    sites: dict[tuple[str, str], int] = {}
    for unit, name, counts in all_cells(OURS):
        isa = RECIPES[unit.recipe].isa_on(ARCHES[unit.arch])
        assert isa is not None
        key = name, isa.name
        exact[key] = exact.get(key, 0) + counts["exact"]
        sites[key] = sites.get(key, 0) + counts["sites"] - counts["transition"] - counts.get("undecided", 0)
    return {key: 100 * exact[key] / sites[key] for key in sites if sites[key]}


def draw(path: Path) -> None:
    """Write the picture: a row per unwinder, a column per instruction set, the share in each cell."""
    import matplotlib

    matplotlib.use("Agg", force=False)
    from matplotlib import pyplot as plt
    from matplotlib.patches import Rectangle

    from unwinders import UNWINDERS

    found = shares()
    isas = list(dict.fromkeys(isa for _, isa in found))
    isas.sort(key=("x86_64", "arm64", "a32", "thumb").index)
    figure, axes = plt.subplots(figsize=(7.2, 0.27 * len(UNWINDERS) + 0.5), layout="constrained")
    colours = plt.get_cmap("cividis")
    for y, name in enumerate(UNWINDERS):
        for x, isa in enumerate(isas):
            share = found.get((name, isa))
            if share is None:
                axes.text(x + 0.5, y + 0.5, "–", ha="center", va="center", fontsize=8, color="#888")
                continue
            axes.add_patch(Rectangle((x + 0.02, y + 0.06), 0.96, 0.88, color=colours(share / 100)))
            text = "100 %" if share == 100 else f"{min(share, 99.9):.1f} %"
            tone = "white" if share < 55 else "black"
            axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=8, color=tone)
    axes.set_xlim(0, len(isas))
    axes.set_ylim(len(UNWINDERS), 0)
    axes.set_xticks([x + 0.5 for x in range(len(isas))], isas)
    axes.set_yticks([y + 0.5 for y in range(len(UNWINDERS))], list(UNWINDERS), family="monospace", fontsize=8)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    plt.rcParams.update({"svg.hashsalt": "testbed", "svg.fonttype": "none"})
    figure.savefig(path, metadata={"Date": None}, facecolor="white")
    plt.close(figure)


if __name__ == "__main__":
    if sys.argv[1:]:
        print(f"python docs/heat_map.py writes {__doc__}")
        sys.exit(0 if {"-h", "--help"} & {*sys.argv[1:]} else 2)
    draw(ROOT / "docs" / "heat-map.svg")
