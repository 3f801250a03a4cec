"""``python -m tests.hard_input``: what the worst files cost, per reader; ``--markdown FILE`` writes the page."""

from __future__ import annotations

import argparse
from pathlib import Path

from testbed.words.budget import DEFAULT
from tests.hard_input.catalogue import WORST, WorstFile
from tests.hostile.real import file_with
from tests.hostile.target import Target
from tests.hostile.trying import Fate, Tally, memory_allowed, tried

INTRO = """# Hard input

What reading one file may cost is bounded in all, not only entry by entry: `testbed/words/budget.py`. A file of n bytes
costs at most 64 n + 256 MB of memory, and reading it takes at most {seconds:g} s of CPU time. One that would cost
more is refused: the message names the file, the offset, the limit, and the option that raises it
(`--file-limit NAME=NUMBER`, or `TESTBED_FILE_LIMITS` for every command).

| limit | default for n bytes | what it counts |
|---|---|---|
| `mapped` | {mapped} MB + 6 n | bytes copied from the file: segments, sections, memory of a dump |
| `unpacked` | {unpacked} MB + 8 n | bytes made of compressed data, and of texts that many entries may share |
| `entries` | {entries:,} + n / 8 | values made of the file's entries: symbols, lines, rows; one is some 400 bytes |
| `parts` | {parts:,} | segments of a program file, modules of a dump |
| `steps` | {steps:,} + 4 n | steps of interpretation: call frame instructions, operations, instructions emulated |
| `seconds` | {seconds:g} | CPU seconds in which a file is read |
| `analysis` | {analysis:g} + 60 per MB | CPU seconds in which the instructions of all functions are analysed |

Several readers look at one file. Each has a share of the entries and steps; together they have the whole. The
expressions of one stack take at most 100,000 operations. Analysing the instructions of *all* functions of a file
(`testbed rows -f prologue_analysis`) is work that was asked for, and has a clock of its own: an honest library of 2 MB
takes about half a minute. It is whole or refused. A mangled name that is long, or may refer to itself often, is read in
a process with limits (`testbed/image/demangling.py`): 300 bytes can say 30 gigabytes.

## What is kept between commands

A checksum beside a kept file shows damage, and no intent. Built files, compiled functions, results and checks are taken
from the cache only where the file, and the folder that it lies in, belong to this user or to root and nobody else may
write them; otherwise they are as good as absent, and made again (`testbed list cache` says which folder is not used).

## Inputs that failed, and their tests

Each was a traceback, a hang, a lost result or memory without end. Each fix was taken out once, on purpose: its test
failed without it (where two guards hold the same, both were taken out).

| what was given | what holds it |
|---|---|
| a line-number sequence without rows | `tests/hostile/corpus/debug_info-sequence_without_rows` |
| an output path that cannot be written; a disk that is full in the end | `tests/cli/test_mistakes.py` |
| a segment over the emulator's stack | `tests/machine/test_hooks.py` |
| a module's name of more than 255 characters | `snapshot_json-module_name_too_long` in the corpus |
| a module's name with half of a surrogate pair, or a zero | `tests/foreign/test_bad_input.py` |
| an integer of thousands of digits in JSON | `snapshot_json-version_of_thousands_of_digits` |
| such numbers in headers and directives | `header-*`, `assembly-*` in the corpus |
| such numbers in locations | `location-*` in the corpus, `tests/runs/test_long.py` |
| control characters in a JUnit report | `tests/report/test_matrix_page.py` |
| a trace whose pc is where no memory is | `tests/cli/test_run.py` |
| a forged file in the cache | `tests/store/test_store.py` |
| files in a cache that others may write | `tests/store/test_store.py` |
| of those, a pickle | `tests/checks/test_kept.py` |
| of those, a built file or library | `tests/build/test_cache.py` |
| of those, machine code | `tests/native/test_machine_code.py` |
| `/dev/zero`, a pipe that nobody writes to | `tests/words/test_files.py` |
| what the system and libraries raise | `tests/words/test_catalogue.py` |
| gdb's watchpoint at the last byte, an address of 80 bits | `gdb_packets-*` in the corpus |
| a request that cannot be answered | `tests/remote/test_packets.py` |
| overlapping or scattered segments, compressed sections | `tests/hard_input/test_worst.py`: by the right limit |
| overlapping ranges of a minidump, NT_FILE and its mappings, a trace that unpacks | the same file |
| a long CIE and many FDEs | the same file |
| expressions for every frame of a stack | the same file |
| the account itself: the sum, the clock | `tests/words/test_budget.py` |
| `..`, a link, an absolute name in a dump | `tests/foreign/test_bad_input.py` |
| escape sequences in names | `tests/cli/test_mistakes.py` |
| folders left behind by `kill -9` | `tests/words/test_files.py` |
| an unwinder that raises; any exception from build, run or observe | `tests/campaign/test_failures.py` |

## The worst file per reader

Made by `python -m tests.hard_input --markdown results/hard-input.md`. Each file is made to cost its reader as much as
it can; each is read in a process of its own, whose CPU time and memory (beyond the interpreter with its modules) are
below. Those that are refused were read up to a limit: they cost what the worst accepted file costs.

| reader | file | bytes | CPU s | MB | of at most MB | outcome |
|---|---|---:|---:|---:|---:|---|
"""


def cost_of(worst: WorstFile, content: bytes) -> Tally:
    """What reading a file costs, in a process of its own."""
    whole = Target(
        worst.name, "", lambda: [content], lambda given: worst.read(file_with(given)), lambda given, *_: given
    )
    return tried(whole, 0, 0, 1)


def main() -> int:
    """Measure, print, and fail where a file costs more than it may."""
    options = argparse.ArgumentParser(prog="python -m tests.hard_input", description=__doc__)
    options.add_argument("--size", type=int, default=200_000, help="Bytes of each file, about.")
    options.add_argument("--only", default="", help="Files whose name has this in it.")
    options.add_argument("--markdown", type=Path, help="Write the page.")
    given = options.parse_args()
    failed, lines = 0, []
    for worst in (each for each in WORST if given.only in each.name):
        content = worst.make(given.size)
        cost, most = cost_of(worst, content), memory_allowed(len(content)) / 1e6
        failed += cost.counts[Fate.FAILED]
        outcome = cost.failures[0].kind if cost.failures else next(iter(cost.counts)).value
        memory = f"{cost.worst_memory / 1e6:.0f}" if cost.worst_memory else "< 50"
        told = (*worst.name.split(": ", 1), f"{len(content):,}", f"{cost.seconds:.1f}", memory, f"{most:.0f}", outcome)
        lines.append("| " + " | ".join(told) + " |")
        print(lines[-1], flush=True)
    if given.markdown:
        given.markdown.write_text(page(lines), encoding="utf-8")
    return 1 if failed else 0


def page(lines: list[str]) -> str:
    limits = {"entries": DEFAULT.entries, "parts": DEFAULT.parts, "steps": DEFAULT.steps, "seconds": DEFAULT.seconds}
    limits["analysis"] = DEFAULT.analysis
    megabytes = {"mapped": DEFAULT.mapped >> 20, "unpacked": DEFAULT.unpacked >> 20}
    return INTRO.format(**limits, **megabytes) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
