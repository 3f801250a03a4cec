"""`python -m tests.process.judged FOLDER`: docs/processes-shares.md, every program and build, every strategy's shares.

The programs and builds of `tests.process.equal`: each is run, its output compared with that of a native run or of
qemu-user, and judged: strategies of rows at every step, the others at 100 steps that the seed chooses; one that takes
more than 4 million steps in pieces. Those with the fewest steps come first, each in a process of its own, which ends
after `--seconds`. Every row is kept in the folder, and the page written after it: this may be stopped, or asked for
parts. Exit status 1 where a strategy has a step that nothing explains.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path

from testbed.cli.table_readers import evaluate_rule
from testbed.contract.unwinder import Unwinder
from testbed.process import ProcessRun, run_process
from testbed.process.pieces import run_in_pieces
from testbed.profiling.judge import judge_process, watch_process
from testbed.profiling.long import judge_in_pieces
from testbed.profiling.result import CountedProcess, StrategyShare, WatchedProcess
from testbed.report.phrases import share
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
KEPT = "shares.json"


@dataclass(frozen=True, slots=True)
class SharesRow:
    """One program of one build. ``shares`` are, by strategy: counted, exact, whole, stops, lies, unexplained steps.

    ``opened`` are the places of the last: strategy, function and library, steps, what is first executed there.
    """

    name: str
    target: str
    build: str
    steps: int
    threads: int
    ending: str
    equal: str
    transition: int
    shares: dict[str, tuple[int, ...]]
    opened: tuple[tuple[str, str, int, str], ...] = ()

    @property
    def unexplained(self) -> int:
        return sum(numbers[-1] for numbers in self.shares.values())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.process.judged", description=__doc__)
    parser.add_argument("folder", type=Path, help="where sources and packages are kept")
    parser.add_argument("--program", action="append", help="only this one; repeatable")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this one; repeatable")
    parser.add_argument("--build", action="append", choices=(*BUILDS, "Debian"), help="only this one; repeatable")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--again", action="store_true", help="judge also what is kept")
    parser.add_argument("--open", action="store_true", help="judge again what has a step that nothing explains")
    parser.add_argument("--seconds", type=float, default=3600, help="for one program and build; then it is left out")
    given = parser.parse_args()
    rows = _kept(given.folder / KEPT)
    programs = wanted(given.folder.resolve(), given.program, given.target, given.build)
    chosen = [program for program, why in programs if not why and isinstance(program, RunnableProgram)]
    steps = {name: row.steps for name, row in rows.items()} | _compared(given.folder)
    for program in sorted(chosen, key=lambda each: steps.get(str(each), 0)):
        known = rows.get(str(program))
        if known is not None and not (given.again or (given.open and known.unexplained)):
            continue
        row = _in_time(program, given.seconds)
        if row is None:
            print(f"{program}: no row in {given.seconds:g} seconds", file=sys.stderr, flush=True)
            continue
        rows = _kept(given.folder / KEPT) | {str(program): row}
        _write(rows, given.folder, given.page)
        told = ", ".join(f"{name} {numbers[-1]} unexplained" for name, numbers in row.shares.items() if numbers[-1])
        print(
            f"{program}: {row.steps:,} steps, output {row.equal}; {told or 'all explained'}",
            file=sys.stderr,
            flush=True,
        )
    _write(rows, given.folder, given.page)
    return int(any(row.unexplained for row in rows.values()))


def _kept(path: Path) -> dict[str, SharesRow]:
    listed = [SharesRow(**each) for each in json.loads(path.read_text())] if path.exists() else []
    return {f"{row.name} {row.target} {row.build}": row for row in listed}


def _compared(folder: Path) -> dict[str, int]:
    """How many steps there were, of what `tests.process.equal` ran."""
    path = folder / "rows.json"
    listed = json.loads(path.read_text()) if path.exists() else []
    return {f"{row['name']} {row['target']} {row['build']}": row["steps"] for row in listed}


def _write(rows: Mapping[str, SharesRow], folder: Path, page: Path) -> None:
    (folder / KEPT).write_text(json.dumps([asdict(each) for each in rows.values()], indent=0))
    page.write_text("\n".join(_page(rows, folder)) + "\n", encoding="utf-8")


def _in_time(program: RunnableProgram, seconds: float) -> SharesRow | None:
    """The row, made by a process that ends then; None where it is not there in time."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    judging = context.Process(target=lambda: there.send(_row(program)))
    judging.start()
    there.close()
    try:
        row: SharesRow | None = here.recv() if here.poll(seconds) else None
    except EOFError:  # it has said why
        row = None
    finally:
        judging.kill()
        judging.join()
    return row


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
        {each.name: (each.judged, each.exact, each.whole, each.stops, each.lying, each.unexplained) for each in shares},
        tuple(
            (each.name, str(place), place.steps, place.where)
            for each in shares
            for place in each.places
            if not place.explained
        ),
    )


def _whole(process: WatchedProcess) -> tuple[WatchedProcess, list[StrategyShare]]:
    readers = [UNWINDERS[name] for name in READERS]
    return process, [
        judge_process(process, each, evaluate=evaluate_rule, sample=ASKED, readers=readers)
        for each in _applicable(process.run)
    ]


def _in_pieces(program: RunnableProgram) -> tuple[CountedProcess, list[StrategyShare]]:
    long = run_in_pieces(program.path, program.arguments, budget=BUDGET, **here(program))
    readers = [UNWINDERS[name] for name in READERS]
    return judge_in_pieces(long, _applicable(long.run), evaluate=evaluate_rule, sample=ASKED, readers=readers)


def _applicable(run: ProcessRun) -> list[Unwinder]:
    images = [loaded.image for loaded in run.images]
    return [UNWINDERS[name] for name in STRATEGIES if any(map(UNWINDERS[name].applies_to, images))]


_INTRODUCTION = """# Real programs and builds, every strategy

Made by `python -m tests.process.judged FOLDER`: the programs and builds of [processes-equal.md](processes-equal.md),
each run as a process and judged. A cell has the shares of steps, in percent: *exact / honest / lies*, where honest are
stops and whole stacks of which it was not said that the last caller is the root; steps at which no answer is right
(*transition*) are not counted. Strategies of rows are judged at every step (but `prologue_analysis`, which begins at
functions' symbols: most of these files have few), the scans and `lr_leaf` at 100 steps that the seed
chooses. What takes more than 4 million steps is judged in pieces. *-*: no file has what the strategy needs.
*Open*: steps, of all strategies, that nothing explains.
"""


def _page(by_name: Mapping[str, SharesRow], folder: Path) -> Iterator[str]:
    builds, rows = ("Debian", *BUILDS), by_name.values()
    ordered = sorted(rows, key=lambda row: (builds.index(row.build), TARGETS.index(row.target)))
    yield _INTRODUCTION
    yield from head_of(ordered, folder)
    names = [name for name in STRATEGIES if any(name in row.shares for row in rows)]
    head = ["program", "target", "build", "steps", "threads", "transition", "output", *names, "open"]
    yield f"| {' | '.join(head)} |"
    yield f"|---|---|---|---:|---:|---:|---|{'---|' * len(names)}---:|"
    for row in ordered:
        what = f"{row.name} | {row.target} | {row.build} | {row.steps:,} | {row.threads} | {row.transition:,}"
        cells = " | ".join(_cell(row.shares.get(name)) for name in names)
        yield f"| {what} | {row.equal} | {cells} | {row.unexplained:,} |"


def head_of(rows: Sequence[SharesRow], folder: Path) -> Iterator[str]:
    """What stands in front of the table: how many there are, what nothing explains, what is not judged."""
    steps, opened = sum(row.steps for row in rows), sum(row.unexplained for row in rows)
    yield f"{len(rows)} programs and builds, {steps:,} steps, {opened:,} that nothing explains.\n"
    yield from _unexplained(rows)
    yield from _left({f"{row.name} {row.target} {row.build}" for row in rows}, _compared(folder))


def _unexplained(rows: Sequence[SharesRow]) -> Iterator[str]:
    """Where nothing explains what a strategy said: how often in which builds."""
    places: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        for strategy, place, steps, _ in row.opened:
            places[strategy, place][f"{row.name} {row.target} {row.build}"] += steps
    before = [row for row in rows if row.unexplained and not row.opened]
    if before:
        steps = sum(row.unexplained for row in before)
        yield (
            f"{len(before)} of these builds, with {steps:,} such steps, were judged before newer limits were declared, "
            "and not again: `--open` judges them.\n"
        )
    if places:
        yield "Nothing explains what is said at frames of:\n"
        for (strategy, place), found in sorted(places.items(), key=lambda each: -each[1].total()):
            yield f"- {place}, by `{strategy}`: {found.total():,} steps in {len(found)} builds, as {min(found)}"
        yield ""


def _left(judged: Set[str], compared: Mapping[str, int]) -> Iterator[str]:
    """What `tests.process.equal` ran, and this has not judged: how many builds of each program, and their steps."""
    builds: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    for name, count in compared.items():
        if name not in judged:
            program = re.split(rf" ({'|'.join(TARGETS)}) ", name)[0]
            builds[program] += 1
            steps[program] += count
    if builds:
        yield f"Compared there, and not judged: {builds.total()} of together {steps.total():,} steps.\n"
        yield from (f"- {name}: {count} builds, {steps[name]:,} steps" for name, count in builds.items())
        yield ""


def _cell(numbers: Sequence[int] | None) -> str:
    if numbers is None:
        return "-"
    counted, exact, whole, stops, lies, _ = numbers
    return " / ".join(share(n, counted).removesuffix(" %") for n in (exact, whole + stops, lies))


if __name__ == "__main__":
    sys.exit(main())
