"""Write docs/random-flags.md: what runs of `testbed fuzz --flags random` found, kept in docs/random-flags.json.

    python docs/random_flags.py

The file is a list of runs: the date, the command, a note, what the command printed with ``--json``, and for each
finding what became of it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

DOCS = ROOT / "docs"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def page(introduction: str, runs: Sequence[dict[str, Any]]) -> str:
    """The whole page."""
    from testbed.campaign.compiler_defects import KNOWN_DEFECTS

    results = [(run, run["result"]) for run in runs]
    units = sum((Counter(result["mistakes"]) for _, result in results), Counter[str]())
    found = [
        (each["program"], each["arch"], each["recipe"], each["unwinder"] or "the build", each["sentence"], became)
        for run, result in results
        for each, became in zip(result["findings"], run["became"], strict=True)
    ]
    return introduction.format(
        runs=table(
            ("date", "command", "seeds", "units", "skipped", "sites judged", "unexplained", ""),
            (
                (
                    run["date"],
                    f"`{run['command']}`",
                    " to ".join(map(str, result["seeds"])),
                    f"{result['units']:,}",
                    f"{result['skipped']:,}",
                    f"{result['sites']:,}",
                    str(len(result["findings"])),
                    run["note"],
                )
                for run, result in results
            ),
        ),
        findings=table(
            ("program", "architecture", "recipe", "of", "what was not explained", "what became of it"), found
        )
        if found
        else "Nothing that is not explained.",
        mistakes=table(
            ("compiler", "instruction sets", "flags that begin so", "what is wrong", "program", "units"),
            (
                (
                    known.tool.name.lower(),
                    ", ".join(sorted(known.isas)),
                    ", ".join(f"`{flag}`" for flag in known.flags),
                    known.mistake,
                    f"`{known.program}`",
                    f"{units[known.program]:,}",
                )
                for known in KNOWN_DEFECTS
            ),
        ),
    )


def made() -> str:
    """The page as it should be."""
    runs = json.loads((DOCS / "random-flags.json").read_text(encoding="utf-8"))
    return page((DOCS / "random-flags.intro.md").read_text(encoding="utf-8"), runs)


if __name__ == "__main__":
    (DOCS / "random-flags.md").write_text(made(), encoding="utf-8")
