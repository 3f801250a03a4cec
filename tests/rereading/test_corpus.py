"""Both readers of every format say the same of every pc that programs of the corpus execute."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import units
from testbed.contract.rows import RowTable, Undefined
from testbed.image import Image, Section, go_functions, read_image
from testbed.rereading import NoRow, gopclntab, reread
from testbed.runs.run import Run, run_program
from testbed.words.errors import ToolchainMissing
from testbed.words.table_formats import BY_SECTION, TABLE_FORMATS
from tests.rereading.beside import TECHNIQUES, differences, evaluated, registers_at, word_at
from tests.unwinders.frames import ARM64, START, X86_64
from tests.unwinders.go_tables import AT, EVERY, MAGIC, SIZE, made
from tests.unwinders.mutations import mutated
from unwinders import UNWINDERS
from unwinders.formats import cfi_rows, compact_unwind, eh_frame_hdr, ehabi_rows, orc, sframe
from unwinders.formats import gopclntab as first

PART = 23  # of this many units, one is compared unless all are asked for


def looked_up(run: Run) -> set[int]:
    """The link-time pcs that were executed, and those that a caller is looked up at: in its call, before the next."""
    pcs = {int(pc) - run.loaded.bias for pc in run.trace.pc}
    return pcs | {pc - 1 for pc in pcs}


@pytest.mark.parametrize("arch", ARCHES)
def test_both_readers_say_the_same_of_every_executed_pc(arch: str, request: pytest.FixtureRequest) -> None:
    here = [unit for unit in units(PROGRAMS.values(), ARCHES.values(), RECIPES.values()) if unit.arch == arch]
    compared: Counter[str] = Counter()
    for unit in here if request.config.getoption("--everything") else here[5::PART]:
        try:
            run = run_program(PROGRAMS[unit.program], ARCHES[arch], unit.recipe)
        except ToolchainMissing:
            continue
        pcs = looked_up(run)
        for format in (each.section for each in TABLE_FORMATS.values()):
            if UNWINDERS[TECHNIQUES[format]].applies_to(run.built.image):
                compared[format] += len(pcs)
                assert [str(each) for each in differences(run.built.image, format, pcs)] == [], str(unit)
    print(arch, dict(compared))
    assert len(compared) >= 2 and min(compared.values()) > 50, compared


# Both readers say the same of libraries that others have compiled: at the ends of every row of some entries.

ENTRIES = 20  # of each table, unless all are asked for
FILES = [
    f"{folder}/{name}"
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/aarch64-linux-gnu/lib", "/usr/arm-linux-gnueabihf/lib")
    for name in ("libc.so.6", "libgcc_s.so.1", "libstdc++.so.6")
]


def ends(table: RowTable, seed: int, most: int) -> set[int]:
    """The first and the last pc of rows, and those around their entries, of ``most`` entries."""
    if not table.entries:
        chosen = Random(seed).sample(table.rows, min(4 * most, len(table)))
        return {pc for row in chosen for pc in (row.start, row.end - 1)}
    pcs = set()
    for start, end, _ in Random(seed).sample(table.entries, min(most, len(table.entries))):
        rows = table.rows[bisect_left(table.starts, start) : bisect_left(table.starts, end)]
        pcs |= {start - 1, end, *(row.start for row in rows), *(row.end - 1 for row in rows)}
    return pcs


@pytest.mark.parametrize("file", FILES)
def test_both_readers_say_the_same_of_a_library(file: str, request: pytest.FixtureRequest) -> None:
    if not Path(file).exists():
        pytest.skip(f"{file} is not installed")
    image = read_image(file)
    compared, most = 0, sys.maxsize if request.config.getoption("--everything") else ENTRIES
    for format in BY_SECTION:
        technique = UNWINDERS[TECHNIQUES[format]]
        if technique.rows is not None and technique.applies_to(image):
            pcs = ends(technique.rows(image), len(file), most)
            compared += len(pcs)
            assert [str(each) for each in differences(image, format, pcs)] == []
    assert compared > 40


# Damaged tables: every second reader has a row for a pc, or says that there is none; it raises nothing else.
#
# Of call frame information both readers say the same of them.

TABLES = {
    ".eh_frame": ("x86_64", "clang-O2", [".eh_frame"]),
    ".eh_frame_hdr": ("arm64", "clang-O2", [".eh_frame_hdr", ".eh_frame"]),
    ".debug_frame": ("arm32", "clang-O2", [".debug_frame"]),
    ".ARM.exidx": ("arm32", "clang-O2", [".ARM.exidx"]),
    ".sframe": ("x86_64", "clang-O2-sframe", [".sframe"]),
    ".orc_unwind": ("x86_64", "keystone", [".orc_unwind", ".orc_unwind_ip"]),
    "__compact_unwind": ("x86_64", "macho-O2-nofp", ["__TEXT,__unwind_info", "__TEXT,__eh_frame"]),
}


@pytest.mark.parametrize("format", TABLES)
def test_a_damaged_table_has_rows_or_says_why_not(format: str) -> None:
    arch, recipe, names = TABLES[format]
    program = "recursion" if recipe != "keystone" else "leaf_call"
    image = build(PROGRAMS[program], ARCHES[arch], RECIPES[recipe]).image
    random = Random(7)
    pcs = [symbol.address + 4 * i for symbol in image.symbols if symbol.is_function for i in range(3)]
    found: Counter[bool] = Counter()
    for _ in range(2000):
        sections = dict(image.sections)
        for name in names:
            if name in sections:
                sections[name] = replace(sections[name], data=mutated(sections[name].data, random))
        damaged = replace(image, sections=sections)
        for pc in pcs:
            row = reread(damaged, format, pc)
            found[isinstance(row, NoRow)] += 1
            if format in (".eh_frame", ".debug_frame"):
                assert not [*differences(damaged, format, [pc])]
            if not isinstance(row, NoRow):
                evaluated(row, registers_at(image.arch, pc), word_at)
    assert found[True] and found[False]


# A mistake in the reader of a technique is noticed by the second reader of its table.


Shifted = list[tuple[int, int]]


def _next_fde(reader: Any, count: int, usual: Callable[..., Any] = eh_frame_hdr._usual_pairs) -> Shifted | None:
    pairs = usual(reader, count)
    return pairs and [(pc, fde) for (pc, _), (_, fde) in zip(pairs, [*pairs[1:], pairs[0]], strict=True)]


MACHINE = cfi_rows._RowMachine
DEFECTS = {
    "the CFA is a word further": (
        *(".eh_frame", "recursion", "x86_64", "clang-O2", MACHINE, "distance"),
        lambda self, reader: reader.uleb() + 8,
    ),
    "signatures are passed over": (
        *(".eh_frame", "recursion", "arm64", "clang-O2-pac", MACHINE, "toggle_signed"),
        lambda self, bits, reader, at: None,
    ),
    "what is restored is lost": (
        *(".eh_frame", "early_return", "arm64", "clang-asm", MACHINE, "restore"),
        lambda self, name, reader, at: self.set(name, Undefined(), reader, at),
    ),
    "the index leads to the FDE behind": (
        *(".eh_frame_hdr", "recursion", "x86_64", "clang-O2", eh_frame_hdr, "_usual_pairs"),
        _next_fde,
    ),
    "registers are one too high": (
        *(".debug_frame", "recursion", "arm32", "clang-O2", cfi_rows, "register_name"),
        lambda arch, number: arch.by_dwarf.get(number + 1, "none"),
    ),
    "popped registers are one too high": (
        *(".ARM.exidx", "big_frame", "arm32", "clang-O2", ehabi_rows, "_masked"),
        lambda mask, first_register: tuple(first_register + 1 + i for i in range(10) if mask >> i & 1),
    ),
    "a large distance is too small": (
        *(".ARM.exidx", "big_frame", "arm32", "clang-O2", ehabi_rows, "_FURTHEST_ULEB"),
        0x200,
    ),
    "SP is taken for FP": (".sframe", "recursion", "x86_64", "clang-O2-sframe", sframe, "_FROM_SP", 0),
    "offsets of SP are zero": (
        *(".orc_unwind", "leaf_call", "x86_64", "keystone", orc, "_WITHOUT_OFFSET"),
        tuple(orc.OrcRegister),
    ),
    "saved registers are other ones": (
        *("__compact_unwind", "recursion", "x86_64", "macho-O2-nofp", compact_unwind, "permutation"),
        lambda number, count: tuple(range(7 - count, 7)),
    ),
}


def fresh(image: Image) -> Image:
    """The same file as another image, of which nothing is read yet."""
    return replace(image)


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_mistake_of_the_first_reader_is_noticed(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    format, program, arch, recipe, owner, name, instead = DEFECTS[defect]
    image = build(PROGRAMS[program], ARCHES[arch], RECIPES[recipe]).image
    rows = UNWINDERS[TECHNIQUES[format]].rows
    assert rows is not None
    pcs = sorted({row.start for row in rows(image)})
    assert list(differences(fresh(image), format, pcs)) == []
    monkeypatch.setattr(owner, name, instead)
    assert list(differences(fresh(image), format, pcs))


# Go's table of functions: both readers say the same of made-up ones, and a mistake in either is noticed.


PCS = range(START - 1, START + SIZE * len(EVERY) + 1)
BOTH = pytest.mark.parametrize("arch", [X86_64, ARM64], ids=str)


@BOTH
@pytest.mark.parametrize("version", MAGIC)
def test_both_readers_say_the_same(arch: Arch, version: str) -> None:
    assert list(differences(made(*EVERY, version=version, arch=arch), ".gopclntab", PCS)) == []


@BOTH
@pytest.mark.parametrize("version", MAGIC)
def test_both_know_that_c_may_start_go(arch: Arch, version: str) -> None:
    image = replace(made(*EVERY, version=version, arch=arch), entry=START - 1)
    assert list(differences(image, ".gopclntab", PCS)) == []
    start = START + SIZE * [each.name for each in EVERY].index("runtime.rt0_go")
    assert isinstance(reread(image, ".gopclntab", start), NoRow)


def test_both_find_where_the_code_begins_in_the_module() -> None:
    assert list(differences(made(*EVERY, module=START), ".gopclntab", PCS)) == []
    assert isinstance(reread(made(*EVERY, module=0), ".gopclntab", START), NoRow)


@pytest.mark.parametrize("module", [None, 0])
def test_both_find_where_the_code_begins_in_a_relocation(module: int | None) -> None:
    """Of a file that may lie anywhere; from Go 1.26 on the word is the module's."""
    place = AT + 24 if module is None else 0x5000 + 22 * 8
    relocations = bytes(24) + b"".join(n.to_bytes(8, "little") for n in (place, 8, START))
    for_sure, table = made(*EVERY), made(*EVERY, module=0 if module is None else module)
    sections = {**table.sections, ".rela.dyn": Section(".rela.dyn", 0, 0, relocations)}
    if module is None:
        del sections[".go.module"]
    moved = replace(table, sections=sections)
    assert list(differences(moved, ".gopclntab", PCS)) == []
    assert reread(moved, ".gopclntab", START) == reread(for_sure, ".gopclntab", START)


GO_DEFECTS: dict[str, tuple[Any, str, Any]] = {
    "frames are a word larger": (first, "_varint", lambda table, usual=first._varint: usual(table) + 16),
    "the frame pointer is elsewhere": (
        first,
        "_FRAMES",
        {name: first._GoFrame(-8, -24, b"") for name in first._FRAMES},
    ),
    "goexit is a function like others": (first, "_ROOT", "none"),
    "sigpanic is called": (first, "_INJECTED", frozenset({"runtime.asyncPreempt"})),
    "SP is thought to be kept": (first, "WRITES_SP", 0),
    "assembly saves the frame pointer": (first, "ASSEMBLY", 0),
    "the second one finds another root": (gopclntab, "_OUTERMOST", ("main.leaf",)),
    "the second one takes assembly for compiled code": (gopclntab, "_IS_ASSEMBLY", 0),
    "the second one counts from elsewhere": (go_functions, "_TEXT", 21),
}


@BOTH
@pytest.mark.parametrize("defect", GO_DEFECTS)
def test_a_planted_mistake_is_noticed(arch: Arch, defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, instead = GO_DEFECTS[defect]
    image = made(*EVERY, arch=arch, module=START)
    assert list(differences(replace(image), ".gopclntab", PCS)) == []
    monkeypatch.setattr(owner, name, instead)
    assert list(differences(replace(image), ".gopclntab", PCS))
