"""``python -m tests.process.table``: docs/processes-judged.md, made anew by running every program of this folder.

Program by build and architecture: steps, whether it did what it does natively or under qemu-user, threads, and every
strategy's shares; then the places at which tables are wrong most, and what `testbed check` says of each alone.
``FILE ARGUMENTS...`` behind ``--`` is one more program, whose output is compared with its own native run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.campaign.prove import prove
from testbed.cli.table_readers import evaluate_rule
from testbed.process import ProcessRun, run_process
from testbed.profiling.judge import judge_process, watch_process
from testbed.profiling.result import StrategyShare, WatchedProcess, WrongPlace
from testbed.profiling.tables import BETWEEN_CALLS
from testbed.report.phrases import share
from tests.process.builds import ALL, FOLDER, elsewhere, ran, told
from unwinders import UNWINDERS

PAGE = Path(__file__).parents[2] / "docs" / "processes-judged.md"
PROGRAMS = ("hello", "signals", "threads", "contexts", "jumps", "vforked")
STRATEGIES = ("eh_frame", "ehabi", "fp_chain")
TABLES = ("eh_frame", "ehabi")
MOST_PROVEN = 40_000  # steps of a thread: the second witness follows some ten thousand a second
_PLACES = 10
_CHECK_SECONDS = 90


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One program as it was built for one target: what it did, and what became of each strategy."""

    program: str
    target: str
    run: ProcessRun
    equal: str
    proof: str
    transition: int
    shares: tuple[StrategyShare, ...]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.process.table", description=__doc__)
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="only this one; repeatable")
    parser.add_argument("--target", action="append", help="only this target; repeatable")
    parser.add_argument("file", nargs="*", help="one more program, with its arguments")
    given = parser.parse_args()
    rows = []
    for program in given.program or PROGRAMS:
        for target, link in ALL:
            if not given.target or target in given.target:
                rows.append(_row(program, target, link))
                _write(rows, confirmed=False)  # what is there is kept if this is stopped
    if given.file:
        rows.append(_file_row(Path(given.file[0]), tuple(given.file[1:])))
    _write(rows, confirmed=True)


def _write(rows: Sequence[ProcessRow], *, confirmed: bool) -> None:
    PAGE.write_text("\n".join(_page(rows, confirmed)) + "\n", encoding="utf-8")


def _row(program: str, target: str, link: str) -> ProcessRow:
    run = ran(program, target, link)
    there = elsewhere(program, target, link)
    equal = "yes" if told(run) == there else f"no: {there[1]} there"
    return _judged(program, f"{target} {link}", run, equal)


def _file_row(path: Path, arguments: tuple[str, ...]) -> ProcessRow:
    run = run_process(path, arguments)
    native = subprocess.run([path, *arguments], capture_output=True, timeout=60, check=False)
    equal = "yes" if (run.stdout, run.status) == (native.stdout, native.returncode) else "no"
    return _judged(" ".join((path.name, *arguments)), f"{run.arch} as it came", run, equal)


def _judged(program: str, target: str, run: ProcessRun, equal: str) -> ProcessRow:
    process = watch_process(run)
    shares = tuple(
        judge_process(process, UNWINDERS[name], evaluate=evaluate_rule)
        for name in STRATEGIES
        if any(UNWINDERS[name].applies_to(loaded.image) for loaded in run.images)
    )
    print(f"{program} {target}: {run.steps} steps", file=sys.stderr, flush=True)
    transition = sum(thread.transition for thread in process.threads)
    return ProcessRow(program, target, run, equal, _proof(process), transition, shares)


def _proof(process: WatchedProcess) -> str:
    """What the second witness says of the truth about all threads."""
    short = [thread for thread in process.threads if len(thread.watched.trace) <= MOST_PROVEN]
    if len(short) < len(process.threads):
        return "not asked"
    proofs = [prove(thread.watched) for thread in short]
    open_ = sum(proof.disagreed for proof in proofs), sum(proof.unfollowed for proof in proofs)
    return "agrees" if open_ == (0, 0) else f"{open_[0]:,} steps differ, {open_[1]:,} returns not followed"


_INTRODUCTION = """# Real programs, judged

Made by `python -m tests.process.table`. Each program is run as a Linux process (`testbed run ./program`), and every
strategy is judged at every step of every thread. *Equal*: standard output and exit status are those of a
native run (x86_64) or of qemu-user. *Witness*: the truth beside the second witness, step by step (`testbed prove`).
*Whole*: every caller was found, and it was not said that the last one is the root. *Unexplained*: no row of a named
function is shown to be wrong (of `fp_chain`: it is not foretold).
"""


def _page(rows: Sequence[ProcessRow], confirmed: bool) -> Iterator[str]:
    yield from _INTRODUCTION.splitlines()
    yield ""
    yield "| program | build | steps | threads | transition | equal | witness |"
    yield "|---|---|---:|---:|---:|---|---|"
    for row in rows:
        numbers = f"{row.run.steps:,} | {len(row.run.tracks)} | {row.transition:,}"
        yield f"| {row.program} | {row.target} | {numbers} | {row.equal} | {row.proof} |"
    for name in STRATEGIES:
        yield from _shares(name, rows)
    yield from _worst(rows, confirmed)


def _shares(name: str, rows: Sequence[ProcessRow]) -> Iterator[str]:
    yield f"\n## {name}\n"
    yield "| program | build | exact | whole | honest stops | lies | unexplained | wrong most at frames of |"
    yield "|---|---|---:|---:|---:|---:|---:|---|"
    for row in rows:
        for each in row.shares:
            if each.name == name:
                parts = " | ".join(share(n, each.judged) for n in (each.exact, each.whole, each.stops, each.lying))
                place = f"{each.places[0]}: {each.places[0].because or 'unexplained'}" if each.places else "-"
                yield f"| {row.program} | {row.target} | {parts} | {each.unexplained:,} | {place} |"


def _worst(rows: Sequence[ProcessRow], confirmed: bool) -> Iterator[str]:
    """The places at which tables are wrong, by how many programs and steps show it, and each checked alone."""
    found: defaultdict[tuple[str, str, str], list[tuple[ProcessRow, WrongPlace]]] = defaultdict(list)
    for row in rows:
        for each in row.shares:
            for place in each.places if each.name in TABLES else ():
                if place.because.startswith(BETWEEN_CALLS):
                    continue  # by design: such a table promises nothing there
                library = "the program" if place.file == row.run.path else place.library
                found[f"{row.run.arch} {each.name}", place.function, library].append((row, place))
    ranked = sorted(found.items(), key=lambda item: -sum(place.lies for _, place in item[1]))[:_PLACES]
    yield "\n## Where tables lie most\n"
    yield "Steps at which a table strategy claims something false, over all runs, by the function whose row is wrong;"
    yield "tables that promise rows at calls only (EHABI) count at calls only.\n"
    for number, ((what, function, library), places) in enumerate(ranked, 1):
        row, place = max(places, key=lambda each: each[1].lies)
        lies = sum(each.lies for _, each in places)
        yield f"{number}. **{function}** in {library} ({what}): {place.because}. {lies:,} lies in {len(places)} runs;"
        yield f"   first in {row.program} {row.target}, at step {place.first}, {place.where}."
        yield f"   {_confirmed(place) if confirmed else 'Not checked alone.'}"


def _confirmed(place: WrongPlace) -> str:
    """What the check of the function alone says."""
    if not place.command:
        return "Neither symbol nor table entry names it, so `testbed check` cannot be asked for it alone."
    command = [sys.executable, "-m", "testbed.cli", *place.command.split()[1:], "--jobs", "1"]
    shown = place.command.replace(f"{Path(FOLDER.name)}/", "./")  # wherever the programs were built
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_CHECK_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"`{shown}` did not end within {_CHECK_SECONDS} s."
    said = {0: "finds nothing there", 1: "finds it, too"}.get(done.returncode, "cannot say")
    return f"`{shown}` {said}."


if __name__ == "__main__":
    main()
