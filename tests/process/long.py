"""`python -m tests.process.long FOLDER`: processes-long.md, SQLite and Lua of Debian's packages judged in pieces.

Ten million steps of each, and fewer, so that one sees what memory they need. A table has steps, CPU seconds, steps
judged per CPU second, peak memory, and every unwinder's shares. A run is made in a process of its own, whose peak is
that run's. The page is written after every run. Too long for the test suite; it downloads packages as
`tests.process.equal` does. Exit status 1 where an unwinder has a step that nothing explains.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from testbed.cli.table_readers import evaluate_rule
from testbed.process.pieces import run_in_pieces
from testbed.profiling.result import UnwinderShare
from testbed.profiling.thread_run import judge_in_pieces
from testbed.report.phrases import share
from testbed.trace.chunk import CHUNK
from tests.process.equal import RunnableProgram, here, wanted
from unwinders import UNWINDERS

LUA = """
local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
local t = {}
while true do
  t[#t % 1000 + 1] = tostring(fib(10) + #t)
  if #t % 100 == 0 then table.sort(t) end
  pcall(function() error("x") end)
  local co = coroutine.wrap(function() for i = 1, 5 do coroutine.yield(i) end end)
  co() co()
end
"""
SQL = """create table t(a integer, b text);
with recursive c(x) as (select 1 union all select x+1 from c where x < 300000)
insert into t select x, 'v'||(x % 13) from c;
create index i on t(b); select b, count(*), sum(a) from t group by b order by 2 desc, 1 limit 3;"""
PROGRAMS = {"Lua": ("-e", LUA), "SQLite": (":memory:", SQL)}

ASKED = ("eh_frame", "eh_frame_hdr", "fp_chain", "fp_chain_entry")
PAGE = Path(__file__).parents[2] / "docs" / "results" / "processes-long.md"


@dataclass(frozen=True, slots=True)
class MeasuredLong:
    """One run: how many steps of how many pieces, the CPU seconds it took, and what became of each unwinder."""

    steps: int
    pieces: int
    ran: float  # CPU seconds, without judging
    judged: float  # CPU seconds: running twice more, watching, judging
    peak: int  # bytes
    ending: str
    shares: tuple[UnwinderShare, ...]


def judged(name: str, folder: Path, budget: int, unwinders: tuple[str, ...]) -> MeasuredLong:
    """Run a program for ``budget`` steps, in pieces, and judge all of them."""
    ((program, _),) = wanted(folder, [name], ["x86_64"], ["Debian"])
    assert isinstance(program, RunnableProgram)
    start = time.process_time()
    long = run_in_pieces(program.path, PROGRAMS[name], budget=budget, piece=CHUNK, **here(program))
    ran = time.process_time() - start
    counted, shares = judge_in_pieces(long, [UNWINDERS[each] for each in unwinders], evaluate=evaluate_rule)
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = time.process_time() - start - ran
    return MeasuredLong(counted.steps, counted.pieces, ran, seconds, peak, long.run.ending, tuple(shares))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.process.long", description=__doc__)
    parser.add_argument("folder", type=Path, help="where packages are unpacked")
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="only this one; repeatable")
    parser.add_argument("--steps", type=int, action="append", help="instead of 500,000 and 10,000,000; repeatable")
    parser.add_argument("--unwinder", action="append", help="instead of those of the page; repeatable")
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    unwinders = tuple(given.unwinder or ASKED)
    done: list[tuple[str, MeasuredLong]] = []
    for name in given.program or PROGRAMS:
        for budget in given.steps or (500_000, 10_000_000):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                done.append((name, pool.submit(judged, name, given.folder.resolve(), budget, unwinders).result()))
            given.page.write_text("\n".join(_page(done)) + "\n", encoding="utf-8")
            print(_row(*done[-1]), file=sys.stderr, flush=True)
            for each in done[-1][1].shares:
                for place in each.places:
                    if not place.explained:
                        print(f"{each.name}: {place}, {place.steps} from {place.where}", file=sys.stderr, flush=True)
    return int(any(each.unexplained for _, found in done for each in found.shares))


_INTRODUCTION = """# Long processes, judged

Made by `python -m tests.process.long FOLDER`: programs of Debian 12's packages, recorded, watched and judged in pieces
of 65,536 steps by all unwinders of rows together, at every step (but `prologue_analysis`, which begins at functions'
symbols, and these files are stripped). *Run*: once, to see what memory there ever is. *Judged*: the two
runs after that, with the truth and all unwinders. *Peak*: of the whole process, of which Python, Unicorn and numba
take some 170 MB before anything runs. Seconds are CPU time, of one core.
"""


def _page(done: list[tuple[str, MeasuredLong]]) -> Iterator[str]:
    yield _INTRODUCTION
    yield "| program | steps | pieces | run (CPU s) | judged (CPU s) | steps judged per CPU second | peak (MB) |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    yield from (_row(name, found) for name, found in done)
    yield "\n| program | steps | unwinder | exact | whole | honest stops | lies | unexplained |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|"
    yield from (_share(name, found, each) for name, found in done for each in found.shares)


def _row(name: str, found: MeasuredLong) -> str:
    numbers = f"{found.steps:,} | {found.pieces} | {found.ran:.0f} | {found.judged:.0f}"
    return f"| {name} | {numbers} | {found.steps / found.judged:,.0f} | {found.peak / 1e6:,.0f} |"


def _share(name: str, found: MeasuredLong, each: UnwinderShare) -> str:
    parts = " | ".join(share(n, each.judged) for n in (each.exact, each.whole, each.stops, each.lying))
    return f"| {name} | {found.steps:,} | {each.name} | {parts} | {each.unexplained:,} |"


if __name__ == "__main__":
    sys.exit(main())
