"""Go's table of functions: both readers say the same of made-up ones, and a mistake in either is noticed."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from testbed.arch import Arch
from testbed.image import Section, go_functions
from testbed.rereading import NoRow, gopclntab, reread
from tests.rereading.beside import differences, evaluated, registers_at, word_at
from tests.unwinders.frames import ARM64, START, X86_64
from tests.unwinders.go_tables import AT, EVERY, MAGIC, SIZE, made
from tests.unwinders.mutations import mutated
from unwinders.formats import gopclntab as first

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


DEFECTS: dict[str, tuple[Any, str, Any]] = {
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
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_mistake_is_noticed(arch: Arch, defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, instead = DEFECTS[defect]
    image = made(*EVERY, arch=arch, module=START)
    assert list(differences(replace(image), ".gopclntab", PCS)) == []
    monkeypatch.setattr(owner, name, instead)
    assert list(differences(replace(image), ".gopclntab", PCS))


@BOTH
@pytest.mark.parametrize("version", MAGIC)
def test_of_a_damaged_table_there_are_rows_or_it_is_said_why_not(arch: Arch, version: str) -> None:
    image, random = made(*EVERY, version=version, arch=arch), Random(7)
    found = {True: 0, False: 0}
    for _ in range(500):
        section = image.sections[".gopclntab"]
        data = mutated(section.data, random)
        damaged = replace(image, sections={**image.sections, ".gopclntab": replace(section, data=data)})
        for pc in PCS[::5]:
            row = reread(damaged, ".gopclntab", pc)
            found[isinstance(row, NoRow)] += 1
            if not isinstance(row, NoRow):
                evaluated(row, registers_at(arch, pc), word_at)
    assert min(found.values()) > 1000, found
