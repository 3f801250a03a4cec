"""`python -m tests.process.equal FOLDER`: processes-equal.md and processes-shares.md, programs and builds.

Programs of this folder, Lua and zlib's minigzip from Debian's sources, and bash, busybox, Lua and SQLite as Debian
packages have them; built by GCC and clang (of ziglang), static and dynamic glibc and static musl, with and without
frame pointers; run in the testbed, and natively (x86_64) or by qemu-user. With `--judge` also judged: strategies of
rows at every step, the others at 100 steps that the seed chooses; what takes more than 4 million steps in pieces.

Too long for the test suite, and it downloads sources and packages (nothing is installed). Those with the fewest steps
come first, each in a process of its own, which ends after `--seconds`. Every row is kept in the folder, and the pages
written after it: this may be stopped, or asked for parts: the pages show all rows that are kept. `--again` runs those
that are there. Exit status 1 where something differs that no sentence names, or a strategy has a step that nothing
explains.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from testbed.cli.table_readers import evaluate_rule
from testbed.contract.unwinder import Unwinder
from testbed.process import ProcessRun, run_process
from testbed.process.pieces import run_in_pieces
from testbed.profiling.judge import judge_process, watch_process
from testbed.profiling.long import judge_in_pieces
from testbed.profiling.result import CountedProcess, WatchedProcess
from testbed.report.phrases import share
from testbed.words.errors import TestbedError
from tests.process.builds import told
from tests.process.equal_builds import BUILDS, TARGETS, RunnableProgram, here, there, wanted
from unwinders import UNWINDERS

DOCS = Path(__file__).parents[2] / "docs" / "results"
STRATEGIES = (
    *("fp_chain", "fp_chain_entry", "lr_leaf", "eh_frame", "debug_frame", "ehabi"),
    *("stack_scan", "stack_scan_strict"),
)
MOST_HELD, BUDGET, ASKED = 4_000_000, 20_000_000, 100
NAMED = {  # what is known to differ, and why the testbed is right
    "vforked": "qemu-user makes a fork of vfork, so that the child's writes are lost; Linux shares the memory",
}


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """One program of one build: what it did in the testbed, and what differs elsewhere; "" for nothing.

    ``shares`` are, by strategy: counted, exact, whole, stops, lies, unexplained steps; empty where nothing was judged.
    ``opened`` are the places of the last: strategy, function and library, steps, what is first executed there.
    """

    name: str
    target: str
    build: str
    emulated: bool
    steps: int
    threads: int
    ending: str
    differs: str
    transition: int = 0
    shares: dict[str, tuple[int, ...]] = field(default_factory=dict)
    opened: tuple[tuple[str, str, int, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.target} {self.build}"

    @property
    def word(self) -> str:
        if not self.differs:
            return "equal"
        return "named" if self.emulated and self.name in NAMED else "differs"

    @property
    def unexplained(self) -> int:
        return sum(numbers[-1] for numbers in self.shares.values())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.process.equal", description=__doc__)
    parser.add_argument("folder", type=Path, help="where sources and packages are kept")
    parser.add_argument("--program", action="append", help="only this one; repeatable")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this one; repeatable")
    parser.add_argument("--build", action="append", choices=(*BUILDS, "Debian"), help="only this one; repeatable")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where the pages are written")
    parser.add_argument("--judge", action="store_true", help="judge them, too")
    parser.add_argument("--again", action="store_true", help="run also what is kept")
    parser.add_argument("--open", action="store_true", help="judge again what has a step that nothing explains")
    parser.add_argument("--seconds", type=float, default=3600, help="for one program and build; then it is left out")
    given = parser.parse_args()
    kept, missing = given.folder / "rows.json", list[str]()
    rows = {str(row): row for each in json.loads(kept.read_text() if kept.exists() else "[]") if (row := _read(each))}
    chosen = list[RunnableProgram]()
    for program, why in wanted(given.folder.resolve(), given.program, given.target, given.build):
        if isinstance(program, RunnableProgram):
            chosen.append(program)
        else:
            missing.append(f"{program}: {why}")
    for program in sorted(chosen, key=lambda each: rows[str(each)].steps if str(each) in rows else 0):
        known = rows.get(str(program))
        there_already = known is not None and (bool(known.shares) or not given.judge)
        if known is not None and there_already and not (given.again or (given.open and known.unexplained)):
            continue
        row = _in_time(program, given.seconds, judge=given.judge)
        if row is None:
            print(f"{program}: no row in {given.seconds:g} seconds", file=sys.stderr, flush=True)
            continue
        rows[str(row)] = row
        kept.write_text(json.dumps([asdict(each) for each in rows.values()], indent=0))
        print(f"{row}: {row.steps:,} steps, {row.word}, {row.unexplained} unexplained", file=sys.stderr, flush=True)
        _write(rows.values(), missing, given.docs)
    _write(rows.values(), missing, given.docs)
    return int(any(row.word == "differs" or row.unexplained for row in rows.values()))


def _read(row: dict[str, object]) -> ProgramRow:
    return ProgramRow(**row)  # type: ignore[arg-type]  # as `asdict` had it


def _write(rows: Iterable[ProgramRow], missing: Sequence[str], docs: Path) -> None:
    builds = ("Debian", *BUILDS)
    ordered = sorted(rows, key=lambda row: (builds.index(row.build), TARGETS.index(row.target)))
    (docs / "processes-equal.md").write_text("\n".join(_page(ordered, missing)) + "\n", encoding="utf-8")
    (docs / "processes-shares.md").write_text("\n".join(_shares_page(ordered)) + "\n", encoding="utf-8")


def _in_time(program: RunnableProgram, seconds: float, *, judge: bool) -> ProgramRow | None:
    """The row, made by a process that ends then; None where it is not there in time."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    making = context.Process(target=lambda: there.send(_row(program, judge=judge)))
    making.start()
    there.close()
    try:
        row: ProgramRow | None = here.recv() if here.poll(seconds) else None
    except EOFError:  # it has said why
        row = None
    finally:
        making.kill()
        making.join()
    return row


def _row(program: RunnableProgram, *, judge: bool) -> ProgramRow:
    what = (program.name, program.target, program.build, program.emulated)
    try:
        run = run_process(program.path, program.arguments, budget=MOST_HELD if judge else BUDGET, **here(program))
    except TestbedError as error:
        return ProgramRow(*what, 0, 0, str(error), str(error))
    if not judge:
        return ProgramRow(*what, run.steps, len(run.tracks), run.ending, _differs(program, run))
    process: WatchedProcess | CountedProcess
    if run.status is None and run.steps == MOST_HELD:
        del run
        long = run_in_pieces(program.path, program.arguments, budget=BUDGET, **here(program))
        process, shares = judge_in_pieces(long, _applicable(long.run), evaluate=evaluate_rule, sample=ASKED)
    else:
        process = watched = watch_process(run)
        shares = [judge_process(watched, each, evaluate=evaluate_rule, sample=ASKED) for each in _applicable(run)]
    return ProgramRow(
        *what,
        *(process.steps, len(process.threads), process.run.ending, _differs(program, process.run)),
        sum(thread.transition for thread in process.threads),
        {each.name: (each.judged, each.exact, each.whole, each.stops, each.lying, each.unexplained) for each in shares},
        tuple(
            (each.name, str(place), place.steps, place.where)
            for each in shares
            for place in each.places
            if not place.explained
        ),
    )


def _differs(program: RunnableProgram, run: ProcessRun) -> str:
    (stdout, status), (own_stdout, own) = there(program), told(run)
    if own != status:
        return f"status {own}, {status} there ({run.ending})"
    return "" if own_stdout == stdout else "its output"


def _applicable(run: ProcessRun) -> list[Unwinder]:
    images = [loaded.image for loaded in run.images]
    return [UNWINDERS[name] for name in STRATEGIES if any(map(UNWINDERS[name].applies_to, images))]


def _page(rows: Sequence[ProgramRow], missing: Sequence[str]) -> Iterator[str]:
    words = Counter(row.word for row in rows)
    yield "# The output of real programs\n"
    yield "Made by `python -m tests.process.equal FOLDER`. Each program is run in the testbed, and natively (x86_64)"
    yield "or by qemu-user (arm64, A32, Thumb). *Equal*: the same standard output and exit status. GCC is Debian's 12,"
    yield "clang is that of ziglang, which also makes musl; *fp*: with frame pointers; all with -O2. *Debian*: as its"
    yield "packages have it. ziglang brings no static glibc, so clang's programs with glibc are dynamic.\n"
    yield f"{words['equal']} of {len(rows)} are equal, {words['named']} differ as is named below."
    for name, why in NAMED.items():
        if any(row.word == "named" and row.name == name for row in rows):
            yield f"*Named*, {name}: {why}."
    if missing:
        yield "\nNot run:\n"
        yield from (f"- {each}" for each in missing)
    yield "\n| program | target | build | steps | threads | ended by | equal |"
    yield "|---|---|---|---:|---:|---|---|"
    for row in rows:
        what = f"{row.name} | {row.target} | {row.build} | {row.steps:,} | {row.threads}"
        said = {"equal": "yes", "differs": f"**no**: {row.differs}"}.get(row.word, row.word)
        yield f"| {what} | {row.ending} | {said} |"


_SHARES = """# Real programs and builds, every strategy

Made by `python -m tests.process.equal FOLDER --judge`: the programs and builds of
[processes-equal.md](processes-equal.md), each run as a process and judged. A cell has the shares of steps, in percent:
*exact / honest / lies*, where honest are
stops and whole stacks of which it was not said that the last caller is the root; steps at which no answer is right
(*transition*) are not counted. Strategies of rows are judged at every step (but `prologue_analysis`, which begins at
functions' symbols: most of these files have few), the scans and `lr_leaf` at 100 steps that the seed
chooses. What takes more than 4 million steps is judged in pieces. *-*: no file has what the strategy needs.
*Open*: steps, of all strategies, that nothing explains.
"""


def _shares_page(compared: Sequence[ProgramRow]) -> Iterator[str]:
    rows = [row for row in compared if row.shares]
    yield _SHARES
    yield from head_of(compared)
    names = [name for name in STRATEGIES if any(name in row.shares for row in rows)]
    head = ["program", "target", "build", "steps", "threads", "transition", "output", *names, "open"]
    yield f"| {' | '.join(head)} |"
    yield f"|---|---|---|---:|---:|---:|---|{'---|' * len(names)}---:|"
    for row in rows:
        what = f"{row.name} | {row.target} | {row.build} | {row.steps:,} | {row.threads} | {row.transition:,}"
        cells = " | ".join(_cell(row.shares.get(name)) for name in names)
        yield f"| {what} | {row.word} | {cells} | {row.unexplained:,} |"


def head_of(compared: Sequence[ProgramRow]) -> Iterator[str]:
    """What stands in front of the table: how many there are, what nothing explains, what is not judged."""
    rows = [row for row in compared if row.shares]
    steps, opened = sum(row.steps for row in rows), sum(row.unexplained for row in rows)
    yield f"{len(rows)} programs and builds, {steps:,} steps, {opened:,} that nothing explains.\n"
    places: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        for strategy, place, many, _ in row.opened:
            places[strategy, place][str(row)] += many
    if places:
        yield "Nothing explains what is said at frames of:\n"
        for (strategy, place), found in sorted(places.items(), key=lambda each: -each[1].total()):
            yield f"- {place}, by `{strategy}`: {found.total():,} steps in {len(found)} builds, as {min(found)}"
        yield ""
    left: defaultdict[str, list[int]] = defaultdict(list)
    for row in compared:
        if not row.shares:
            left[row.name].append(row.steps)
    if left:
        both = len(compared) - len(rows), sum(map(sum, left.values()))
        yield "Compared, and not judged: {} of together {:,} steps.\n".format(*both)
        yield from (f"- {name}: {len(found)} builds, {sum(found):,} steps" for name, found in left.items())
        yield ""


def _cell(numbers: Sequence[int] | None) -> str:
    if numbers is None:
        return "-"
    counted, exact, whole, stops, lies, _ = numbers
    return " / ".join(share(n, counted).removesuffix(" %") for n in (exact, whole + stops, lies))


if __name__ == "__main__":
    sys.exit(main())
