"""Write results/random-flags.md: what runs of `testbed fuzz --flags random` found, kept in results/random-flags.json.

    python docs/random_flags.py
    python docs/random_flags.py --append "a note" --minutes 45 --first 20261123000 -j1

The second one makes a run with these options, which takes that long, and appends it to the file. The file is a list of
runs: the date, the command, minutes and seconds of CPU, a note, what the command printed with ``--json``, and for each
finding what became of it: ``open`` until somebody has looked at it.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from testbed.report.phrases import markdown_table  # noqa: E402

DOCS = ROOT / "docs" / "results"


def runs_table(runs: Sequence[dict[str, Any]]) -> str:
    """A line for each run, and their sum."""
    rows = [
        (
            run["date"],
            f"`{run['command']}`",
            " to ".join(map(str, run["result"]["seeds"])),
            f"{run['result']['units']:,}",
            f"{run['result']['skipped']:,}",
            f"{run['result']['sites']:,}",
            f"{run['minutes']:,}",
            "not measured" if run["cpu_seconds"] is None else f"{run['cpu_seconds']:,} s",
            str(len(run["result"]["findings"])),
            run["note"],
        )
        for run in runs
    ]

    def total(of: str) -> str:
        return f"{sum(run['result'][of] for run in runs):,}"

    measured = f"{sum(run['cpu_seconds'] or 0 for run in runs):,} s of those measured"
    found = str(sum(len(run["result"]["findings"]) for run in runs))
    minutes = f"{sum(run['minutes'] for run in runs):,}"
    rows.append(("all", "", "", total("units"), total("skipped"), total("sites"), minutes, measured, found, ""))
    head = ("date", "command", "seeds", "units", "skipped", "sites judged", "minutes", "CPU", "unexplained", "")
    return markdown_table(head, rows)


def page(introduction: str, runs: Sequence[dict[str, Any]]) -> str:
    """The whole page."""
    from testbed.campaign.fuzz import KNOWN_DEFECTS

    results = [(run, run["result"]) for run in runs]
    units = sum((Counter(result["mistakes"]) for _, result in results), Counter[str]())
    found = [
        (each["program"], each["arch"], each["recipe"], each["unwinder"] or "the build", each["sentence"], became)
        for run, result in results
        for each, became in zip(result["findings"], run["became"], strict=True)
    ]
    return introduction.format(
        runs=runs_table(runs),
        findings=markdown_table(
            ("program", "architecture", "recipe", "of", "what was not explained", "what became of it"), found
        )
        if found
        else "Nothing that is not explained.",
        mistakes=markdown_table(
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


def run_of(options: Sequence[str], note: str) -> dict[str, Any]:
    """A run made now. Raises RuntimeError with what the command said where it did not come to an end."""
    command = ["fuzz", "--flags", "random", *options]
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    call = [sys.executable, "-m", "testbed.cli", *command, "--json"]
    done = subprocess.run(call, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError(f"testbed {' '.join(command)} came back with {done.returncode}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = json.loads(done.stdout)
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "command": f"testbed {' '.join(command)}",
        "minutes": round((time.monotonic() - began) / 60),
        "cpu_seconds": round(used.ru_utime - before.ru_utime + used.ru_stime - before.ru_stime),
        "note": note,
        "result": result,
        "became": ["open"] * len(result["findings"]),
    }


def append(run: dict[str, Any]) -> None:
    """Keep a run behind those that are kept."""
    kept = DOCS / "random-flags.json"
    runs = [*json.loads(kept.read_text(encoding="utf-8")), run]
    kept.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] not in ([], ["--append"]) or sys.argv[2:3] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0 if {"-h", "--help"} & {*sys.argv[1:]} else 2)
    if sys.argv[1:2] == ["--append"]:
        append(run_of(sys.argv[3:], sys.argv[2]))
    (DOCS / "random-flags.md").write_text(made(), encoding="utf-8")
