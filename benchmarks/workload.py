"""The program that is measured: one C file at any length, on every architecture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from testbed.arch import ARCHES, Arch
from testbed.build import Built, build
from testbed.build.recipes import RECIPES, Tool
from testbed.image import LoadedImage
from testbed.machine.recording import record_light
from testbed.machine.start import Machine, start_machine
from testbed.program.model import Language, Program, Source, parse_header

SOURCE = Path(__file__).with_name("workload.c")
FOREVER = 2**40  # a budget that no run uses up


@dataclass(frozen=True, slots=True)
class BenchmarkTarget:
    """An architecture and a recipe of ``-O2``; ``name`` is what tables call it."""

    name: str
    arch: str
    recipe: str

    @property
    def value(self) -> Arch:
        return ARCHES[self.arch]


TARGETS = tuple(
    BenchmarkTarget(isa.name if len(arch.isas) > 1 else arch.name, arch.name, recipe.name)
    for arch in ARCHES.values()
    for isa in arch.isas
    for recipe in RECIPES.values()
    if recipe.tool is Tool.CLANG
    and not recipe.by_name
    and recipe.name.endswith("-O2")
    and recipe.isa_on(arch) is isa
    and (isa is arch.isas[0]) == (recipe.isa is None)
)


@lru_cache(maxsize=64)
def workload(target: BenchmarkTarget, scale: int) -> Built:
    """The program with ``scale`` rounds, built (or taken from the cache)."""
    text = SOURCE.read_text(encoding="utf-8")
    scaled = text.replace("#define SCALE 1\n", f"#define SCALE {scale}\n")
    assert scale == 1 or scaled != text
    source = Source(SOURCE, Language.C, None, scaled, parse_header(SOURCE, text))
    program = Program("workload", MappingProxyType({"c": source}))
    return build(program, target.value, RECIPES[target.recipe])


def machine(target: BenchmarkTarget, scale: int) -> Machine:
    """A machine before the program's first instruction."""
    return start_machine(LoadedImage(workload(target, scale).image), seed=1)


@lru_cache(maxsize=8)
def _line(target: BenchmarkTarget) -> tuple[int, int]:
    """(steps of one round, steps of everything else), from two short runs."""
    one, two = (len(record_light(machine(target, scale), FOREVER).sizes) for scale in (1, 2))
    return two - one, 2 * one - two


def steps(target: BenchmarkTarget, scale: int) -> int:
    """The number of instructions that the program executes."""
    each, other = _line(target)
    return other + scale * each


def scale_for(target: BenchmarkTarget, wanted: int) -> int:
    """The number of rounds whose length is nearest to ``wanted`` steps; at least one."""
    each, other = _line(target)
    return max(1, round((wanted - other) / each))
