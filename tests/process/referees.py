"""``python -m tests.process.referees``: real processes on docs/results/referees.md, tools asked at some steps.

Every program by every build is run once (`testbed run ./program -u TOOL`), and each tool that reads tables is asked at
the same seeded sample of its steps. What goes wrong is explained by the tool's limits, the same ones as in the corpus;
where a row is wrong or missing is not declared but found (`testbed.profiling.judge`).
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from docs.referees_page import PAGE, with_section
from testbed.contract.unwinder import Unwinder
from testbed.process import ProcessRun
from testbed.profiling.judge import judge_process, watch_process
from testbed.profiling.result import UnwinderShare
from testbed.referee import present
from testbed.report.phrases import share
from tests.process.builds import ran

TOOLS = (  # those that read tables of a file; LLVM's with the row at the pc, so that what else it does shows
    *("libdw", "libunwind", "llvm_libunwind", "llvm_libunwind_exact", "libunwindstack", "perf", "gdb", "lldb", "drgn"),
    *("symbolic", "minidump_stackwalk"),
)
# Of the others none reads what there is: the libraries have no .eh_frame, and no debug information beside them.
ON_ARM32 = ("libdw", "libunwindstack", "gdb", "lldb")
PROGRAMS = ("hello", "signals", "threads", "contexts", "sort", "exceptions")
TARGETS = ("x86_64", "arm64", "thumb")
LINKS = ("static", "dynamic")
SAMPLE = 60  # steps of a process that each tool is asked about


Runs = dict[tuple[str, str, str], int]
"""The steps of each run: of a program, on a target, linked so."""


@dataclass(frozen=True, slots=True)
class AskedTool:
    """One real unwinder on one process."""

    program: str
    target: str
    link: str
    result: UnwinderShare


def main() -> None:
    asked: list[AskedTool] = []
    runs: Runs = {}
    tools = list(present(TOOLS).values())
    for program, target, link in product(PROGRAMS, TARGETS, LINKS):
        run = ran(program, target, link)
        runs[program, target, link] = run.steps
        asked += _asked(run, (program, target, link), tools)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_section(page, "\n".join(section(asked, runs))), encoding="utf-8")
    sys.exit(any(each.result.unexplained for each in asked))


def _asked(run: ProcessRun, named: tuple[str, str, str], tools: Sequence[Unwinder]) -> Iterator[AskedTool]:
    on = [tool for tool in tools if run.arch.name != "arm32" or tool.name in ON_ARM32]
    on = [tool for tool in on if any(tool.applies_to(loaded.image) for loaded in run.images)]
    if not on:
        return
    process = watch_process(run)
    program, target, link = named
    for tool in on:
        result = judge_process(process, tool, sample=SAMPLE)
        print(f"{program} {target} {link}: {tool.name}, {result.unexplained} unexplained", file=sys.stderr, flush=True)
        for place in result.places:
            if not place.explained:
                print(f"    {place}: {place.steps}, first at {place.first}, {place.where}", file=sys.stderr, flush=True)
        yield AskedTool(program, target, link, result)


_INTRODUCTION = """## Real processes

Made by `python -m tests.process.referees`: programs that GCC builds with glibc, each run as a Linux process
(`testbed run ./program -u TOOL`), {runs} runs of {steps:,} steps. Every tool that reads
tables is asked at the same {sample} steps of each, chosen by the seed. Fields as above; in brackets, the
share at which every caller is there and none is said to be the last: a dynamic linker's start has no row.

What goes wrong is counted, as in the corpus. That a row is wrong or missing, as headers
declare of programs of the corpus, is found by holding the tables against what was executed. perf unwinds
with the library that it was built with: Debian's with libunwind. One with libdw asks what `libdw` does.
On 32-bit ARM {on_arm32} are asked. Debian's libraries have there
`.ARM.exidx`, which says of most of their code that it cannot be unwound (EXIDX_CANTUNWIND): who reads it
stops or ends there, who does not guesses. `__libc_start_main` never returns and saves no `r4`: who says it
of `_start` says a false one, so where tables are few, hardly an answer is exact.
"""
_WHY = """
### Why

By tool the reasons of what is not exact, with how many of the asked steps each explains.

| tool | reason | steps | of these lies | for example |
|---|---|---:|---:|---|"""


def section(asked: Sequence[AskedTool], runs: Runs) -> Iterator[str]:
    """The section of the page. ``runs`` are all of them, also those of which no tool was asked."""
    on_arm32 = ", ".join(f"`{name}`" for name in ON_ARM32)
    yield _INTRODUCTION.format(runs=len(runs), steps=sum(runs.values()), sample=SAMPLE, on_arm32=on_arm32)
    yield f"| tool | {' | '.join(f'{target} {link}' for target in TARGETS for link in LINKS)} | unexplained |"
    yield "|---|" + "---|" * (len(TARGETS) * len(LINKS)) + "---:|"
    by_tool: defaultdict[str, list[AskedTool]] = defaultdict(list)
    for each in asked:
        by_tool[each.result.name].append(each)
    for tool, mine in by_tool.items():
        cells = [_cell([e for e in mine if (e.target, e.link) == (t, k)]) for t in TARGETS for k in LINKS]
        yield f"| `{tool}` | {' | '.join(cells)} | {sum(each.result.unexplained for each in mine) or ''} |"
    yield _WHY
    for tool, mine in by_tool.items():
        yield from _reasons(tool, mine)


def _cell(asked: Sequence[AskedTool]) -> str:
    counted = sum(each.result.judged for each in asked)
    if not counted:
        return "-"
    numbers = [sum(getattr(each.result, name) for each in asked) for name in ("exact", "whole", "stops", "lying")]
    exact, whole, stops, lies = (share(number, counted).removesuffix(" %") for number in numbers)
    return f"{exact} ({whole}) / {stops} / {lies}"


def _reasons(tool: str, asked: Sequence[AskedTool]) -> Iterator[str]:
    steps, lies, example = Counter[str](), Counter[str](), dict[str, str]()
    for each in asked:
        for place in each.result.places:
            because = place.because or "**unexplained**"
            steps[because] += place.steps
            lies[because] += place.lies
            example.setdefault(because, f"{place}, {each.program} {each.target} {each.link}, step {place.first:,}")
    for because, number in steps.most_common():
        yield f"| `{tool}` | {because.replace('|', chr(92) + '|')} | {number} | {lies[because]} | {example[because]} |"


if __name__ == "__main__":
    main()
