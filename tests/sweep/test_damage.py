"""Damaged rows are noticed, and damaged files cost no more than a finding.

All kernels run as Python here: a place outside of an array is an error then, and none outside of a test.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from testbed.arch import ARCHES
from testbed.checks.inputs import program_file
from testbed.image import Image, read_image
from testbed.sweep import static_pass as module
from testbed.sweep.native import room, rows
from testbed.sweep.static_pass import static_pass
from testbed.sweep.sweep_file import sweep_file
from testbed.words.errors import TestbedError
from tests.sweep.table_damage import again

pytest.importorskip("ziglang", reason="needs pip install ziglang")

SOURCES = sorted((Path(__file__).parent / "declared").glob("*.S"))
NAMED = {source.name: source for source in SOURCES}


@pytest.fixture(autouse=True)
def as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTBED_JIT", "0")


def built_image(source: Path) -> Image:
    arch = source.name.split(".")[1]
    with program_file(source, arch, ()) as built:
        return read_image(built)


def damages(row: NDArray[np.int64], kept: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """A row, wrong in one way each: the CFA and every rule of a saved register."""

    def with_number(column: int, value: int) -> NDArray[np.int64]:
        made = row.copy()
        made[column] = value
        return made

    for distance in (8, -8):
        yield f"CFA {distance:+}", with_number(rows.CFA_OFFSET, row[rows.CFA_OFFSET] + distance)
    saved = [rows.RULES + int(k) for k in kept if row[rows.RULES + int(k)] & 7 == rows.AT_CFA]
    for column in saved:
        yield f"rule {column - rows.RULES} by 8", with_number(column, row[column] + (8 << rows.BITS))
        yield f"rule {column - rows.RULES} gone", with_number(column, rows.SAME)
    for one, other in itertools.pairwise(saved):
        made = row.copy()
        made[one], made[other] = row[other], row[one]
        yield f"rules {one - rows.RULES} and {other - rows.RULES} swapped", made
    unsaved = [rows.RULES + int(k) for k in kept if row[rows.RULES + int(k)] == rows.SAME]
    for column in unsaved[:2]:
        yield f"rule {column - rows.RULES} invented", with_number(column, -64 << rows.BITS | rows.AT_CFA)


# Rows whose damage changes nothing for an unwinder: the register has its value still, or has it again.
EQUAL = ("gone",)


@pytest.mark.parametrize("name", ["vector_first.x86_64.S", "realigned.x86_64.S", "table.x86_64.S", "saves.arm64.S"])
def test_every_damaged_row_is_noticed(name: str) -> None:
    made = static_pass(built_image(NAMED[name]))
    assert (made.out[:, room.VERDICT] == room.AGREES).all()
    missed, tried = [], 0
    for k, row in enumerate(made.swept.rows):
        for what, damaged in damages(row, made.machine.kept):
            told = made.swept.rows.copy()
            told[k] = damaged
            tried += 1
            if (again(made, told)[:, room.VERDICT] == room.AGREES).all():
                missed.append(f"row of {row[rows.PC]:#x}: {what}")
    assert tried > 20
    assert [line for line in missed if not line.endswith(EQUAL)] == []


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("name", ["vector_first.x86_64.S", "saves.arm64.S"])  # a row may begin a byte earlier there
def test_a_cfa_that_is_told_late_or_early_is_noticed(name: str, *, late: bool) -> None:
    made = static_pass(built_image(NAMED[name]))
    told = made.swept.rows
    for k in range(1, len(told)):
        if told[k, rows.CFA_OFFSET] != told[k - 1, rows.CFA_OFFSET]:
            changed = told.copy()
            changed[k, rows.PC] += 1 if late else -1
            if made.machine.which:  # an instruction of arm64 has 4 bytes
                changed[k, rows.PC] += 3 if late else -3
            assert (again(made, changed)[:, room.VERDICT] == room.SUSPECT).any()


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("seed", range(3))
def test_damaged_tables_and_code_are_no_error(name: str, seed: int) -> None:
    image = built_image(NAMED[name])
    chance = random.Random(seed)
    content = bytearray(image.content)
    section = image.sections[".eh_frame"]
    text = image.sections[".text"]
    for _ in range(chance.randrange(1, 12)):
        place = chance.choice((section, section, text))
        content[place.offset + chance.randrange(len(place.data))] = chance.choice(
            (0, 0xFF, 0x80, chance.randrange(256))
        )
    damaged = replace(image, content=bytes(content))
    found = static_pass(damaged)
    assert set(np.unique(found.out[:, room.VERDICT])) <= {room.AGREES, room.SUSPECT, room.CANNOT_TELL}


@pytest.mark.parametrize("seed", range(6))
def test_a_section_that_says_anything_is_no_error(seed: int) -> None:
    image = built_image(NAMED["vector_first.x86_64.S"])
    chance = random.Random(seed)
    section = image.sections[".eh_frame"]
    content = bytearray(image.content)
    content[section.offset : section.offset + len(section.data)] = chance.randbytes(len(section.data))
    content[section.offset : section.offset + 4] = (len(section.data) - 8).to_bytes(4, "little")
    static_pass(replace(image, content=bytes(content)))


def test_a_file_that_is_none_says_so(tmp_path: Path) -> None:
    path = tmp_path / "none"
    path.write_bytes(b"\x7fELF and nothing else")
    assert "ELF" in sweep_file(path, "0").failure
    with pytest.raises(TestbedError):
        read_image(path)


def test_arm32_is_not_decoded() -> None:
    with pytest.raises(ValueError, match="does not decode"):
        module.machine_numbers(ARCHES["arm32"])
