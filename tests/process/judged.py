"""`python -m tests.process.judged FOLDER`: docs/processes-shares.md, every program and build, every strategy's shares.

The programs and builds of `tests.process.equal`: each is run, its output compared with that of a native run or of
qemu-user, and judged: strategies of rows at every step, the others at 100 steps that the seed chooses. One that takes
more than 4 million steps is judged in pieces, by those of rows. Every row is kept in the folder, and the page written
after it: this may be stopped, or asked for parts. Exit status 1 where a strategy has a step that nothing explains.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from testbed.cli.expressions import evaluate_rule
from testbed.process import run_process
from testbed.process.pieces import run_in_pieces
from testbed.profiling.judge import judge_process, watch_process
from testbed.profiling.long import judge_in_pieces
from testbed.profiling.result import CountedProcess, StrategyShare, WatchedProcess
from testbed.report.phrases import share
from testbed.words.free_memory import free_garbage
from tests.process.equal import NAMED
from tests.process.equal_builds import BUILDS, TARGETS, RunnableProgram, here, there, wanted
from unwinders import UNWINDERS

PAGE = Path(__file__).parents[2] / "docs" / "processes-shares.md"
STRATEGIES = (
    *("fp_chain", "fp_chain_entry", "lr_leaf", "eh_frame", "debug_frame", "ehabi"),
    *("stack_scan", "stack_scan_strict"),
)
READERS = ("eh_frame", "debug_frame", "ehabi")
MOST_HELD, BUDGET, ASKED = 4_000_000, 20_000_000, 100


@dataclass(frozen=True, slots=True)
class SharesRow:
    """One program of one build. ``shares`` are, by strategy: counted, exact, whole, stops, lies, unexplained steps."""

    name: str
    target: str
    build: str
    steps: int
    threads: int
    ending: str
    equal: str
    transition: int
    shares: dict[str, tuple[int, ...]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.process.judged", description=__doc__)
    parser.add_argument("folder", type=Path, help="where sources and packages are kept")
    parser.add_argument("--program", action="append", help="only this one; repeatable")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this one; repeatable")
    parser.add_argument("--build", action="append", choices=(*BUILDS, "Debian"), help="only this one; repeatable")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--again", action="store_true", help="judge also what is kept")
    given = parser.parse_args()
    kept = given.folder / "shares.json"
    listed = [SharesRow(**each) for each in json.loads(kept.read_text())] if kept.exists() else []
    rows = {f"{row.name} {row.target} {row.build}": row for row in listed}
    for program, why in wanted(given.folder.resolve(), given.program, given.target, given.build):
        if why or (str(program) in rows and not given.again):
            continue
        assert isinstance(program, RunnableProgram)
        row = rows[str(program)] = _row(program)
        free_garbage()
        kept.write_text(json.dumps([asdict(each) for each in rows.values()], indent=0))
        told = ", ".join(f"{name} {numbers[-1]} unexplained" for name, numbers in row.shares.items() if numbers[-1])
        print(
            f"{program}: {row.steps:,} steps, output {row.equal}; {told or 'all explained'}",
            file=sys.stderr,
            flush=True,
        )
        given.page.write_text("\n".join(_page(rows, given.folder)) + "\n", encoding="utf-8")
    given.page.write_text("\n".join(_page(rows, given.folder)) + "\n", encoding="utf-8")
    return int(any(numbers[-1] for row in rows.values() for numbers in row.shares.values()))


def _row(program: RunnableProgram) -> SharesRow:
    run = run_process(program.path, program.arguments, budget=MOST_HELD, **here(program))
    process: WatchedProcess | CountedProcess
    if run.status is None and run.steps == MOST_HELD:
        del run
        process, shares = _in_pieces(program)
    else:
        process, shares = _whole(watch_process(run))
    own = process.run.status if process.run.status is not None else -process.run.signal
    equal = "equal" if (process.run.stdout, own) == there(program) else "differs"
    return SharesRow(
        *(program.name, program.target, program.build, process.steps, len(process.threads), process.run.ending),
        "named" if equal == "differs" and program.emulated and program.name in NAMED else equal,
        sum(thread.transition for thread in process.threads),
        {each.name: (each.counted, each.exact, each.whole, each.stops, each.lies, each.unexplained) for each in shares},
    )


def _whole(process: WatchedProcess) -> tuple[WatchedProcess, list[StrategyShare]]:
    images = [loaded.image for loaded in process.run.images]
    readers = [UNWINDERS[name] for name in READERS]
    return process, [
        judge_process(process, UNWINDERS[name], evaluate=evaluate_rule, sample=ASKED, readers=readers)
        for name in STRATEGIES
        if any(UNWINDERS[name].applies_to(image) for image in images)
    ]


def _in_pieces(program: RunnableProgram) -> tuple[CountedProcess, list[StrategyShare]]:
    long = run_in_pieces(program.path, program.arguments, budget=BUDGET, **here(program))
    images = [loaded.image for loaded in long.run.images]
    chosen = [UNWINDERS[name] for name in STRATEGIES if UNWINDERS[name].soon_judged]
    return judge_in_pieces(long, [each for each in chosen if any(map(each.applies_to, images))], evaluate=evaluate_rule)


_INTRODUCTION = """# Real programs and builds, every strategy

Made by `python -m tests.process.judged FOLDER`: the programs and builds of [processes-equal.md](processes-equal.md),
each run as a process and judged. A cell has the shares of steps, in percent: *exact / honest / lies*, where honest are
stops and whole stacks of which it was not said that the last caller is the root; steps at which no answer is right
(*transition*) are not counted. Strategies of rows are judged at every step (but `prologue_analysis`, which begins at
functions' symbols: most of these files have few), the scans at 100 steps that the seed
chooses, and not at all where a program takes more than 4 million steps. *-*: no file has what the strategy needs.
*Open*: steps, of all strategies, that nothing explains.
"""


def _page(by_name: Mapping[str, SharesRow], folder: Path) -> Iterator[str]:
    builds, rows = ("Debian", *BUILDS), by_name.values()
    ordered = sorted(rows, key=lambda row: (builds.index(row.build), TARGETS.index(row.target)))
    yield _INTRODUCTION
    steps, opened = sum(row.steps for row in rows), sum(n[-1] for row in rows for n in row.shares.values())
    yield f"{len(rows)} programs and builds, {steps:,} steps, {opened:,} that nothing explains.\n"
    yield from _left(by_name, folder / "rows.json")
    names = [name for name in STRATEGIES if any(name in row.shares for row in rows)]
    head = ["program", "target", "build", "steps", "threads", "transition", "output", *names, "open"]
    yield f"| {' | '.join(head)} |"
    yield f"|---|---|---|---:|---:|---:|---|{'---|' * len(names)}---:|"
    for row in ordered:
        what = f"{row.name} | {row.target} | {row.build} | {row.steps:,} | {row.threads} | {row.transition:,}"
        cells = " | ".join(_cell(row.shares.get(name)) for name in names)
        yield f"| {what} | {row.equal} | {cells} | {sum(n[-1] for n in row.shares.values()):,} |"


def _left(rows: Mapping[str, SharesRow], compared: Path) -> Iterator[str]:
    """What `tests.process.equal` ran, and this has not judged: how many builds of each program, and their steps."""
    builds: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    for row in json.loads(compared.read_text()) if compared.exists() else []:
        if f"{row['name']} {row['target']} {row['build']}" not in rows:
            builds[row["name"]] += 1
            steps[row["name"]] += row["steps"]
    if builds:
        yield f"Compared there, and not judged: {sum(builds.values())} of together {sum(steps.values()):,} steps.\n"
        yield from (f"- {name}: {count} builds, {steps[name]:,} steps" for name, count in builds.items())
        yield ""


def _cell(numbers: Sequence[int] | None) -> str:
    if numbers is None:
        return "-"
    counted, exact, whole, stops, lies, _ = numbers
    return " / ".join(share(n, counted).removesuffix(" %") for n in (exact, whole + stops, lies))


if __name__ == "__main__":
    sys.exit(main())
