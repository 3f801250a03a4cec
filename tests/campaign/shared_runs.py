"""Runs from all over the matrix, to tell lies at."""

from __future__ import annotations

from functools import cache

from programs import PROGRAMS
from testbed.campaign.results import Unit
from testbed.campaign.units import run_unit
from testbed.runs.run import Run
from testbed.words.errors import ToolchainMissing

# From all over the matrix, at most 1,000 steps each; by name, so that one more program does not change the measure.
SAMPLE = {
    "x86_64": (
        *("alloca_vla clang-O2-fp", "big_frame clang-O1-fp", "busy_leaf clang-O2-fp", "cxx_cleanups eh-Os"),
        *("end_zero keystone", "function_pointers clang-O2-cet", "inlined_call clang-O2-fp", "longjmp clang-asm"),
        "mutual_recursion gcc-O0-fp",
    ),
    "arm64": (
        *("alloca_vla clang-O2-fp", "big_frame clang-O1-fp", "busy_leaf clang-O2-scs", "cxx_names gcc-O2"),
        *("function_pointers clang-O0-fp", "index_exchanged keystone", "late_push clang-asm"),
        *("mutual_recursion clang-Oz-sync", "noreturn_last_call clang-O1-fp"),
    ),
    "arm32": (
        *("alloca_vla clang-O2-fp", "big_frame clang-Os-fp", "callee_saved gcc-asm-thumb"),
        *("early_return keystone-thumb", "epilogue_cfa_wrong gcc-asm", "inline_chain clang-O0"),
        *("landing_pad clang-asm", "mutual_recursion clang-O1-fp", "no_symbol keystone"),
    ),
}


@cache
def runs(arch: str) -> tuple[Run, ...]:
    found = []
    for program, recipe in (name.split() for name in SAMPLE[arch]):
        try:
            found.append(run_unit(Unit(program, arch, recipe), PROGRAMS))
        except ToolchainMissing:
            continue
    return tuple(found)
