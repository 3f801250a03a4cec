"""Our decoded EHABI entries equal readelf's, function by function: in every ARM32 file, and for every instruction."""

from __future__ import annotations

from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.build import build
from testbed.build.load_addresses import TEXT_BASE
from testbed.build.recipes import RECIPES
from testbed.build.tables.elf import table_addresses, write_elf
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from testbed.image import read_elf
from tests.unwinders.frames import ARM32, u
from tests.unwinders.readelf_ehabi import our_entries, readelf_entries

WITH_TABLES = [recipe for recipe in RECIPES.values() if "-fno-unwind-tables" not in recipe.flags]
UNITS = units(PROGRAMS.values(), [ARM32], WITH_TABLES)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_entries_equal_readelf(unit: Unit) -> None:
    built = build(PROGRAMS[unit.program], ARM32, RECIPES[unit.recipe])
    expected = readelf_entries(built.path)
    assert any(entry for entry in expected.values()), "readelf shows no instruction"
    assert our_entries(built.image) == expected


def file_with(folder: Path, instructions: bytes) -> Path:
    """An ELF file of one function with these instructions, in a long entry of the table."""
    content = instructions + b"\xb0" * (-(len(instructions) - 2) % 4)
    body = b"\x81" + bytes([(len(content) - 2) // 4]) + content
    table = b"".join(body[i : i + 4][::-1] for i in range(0, len(body), 4)) + u(4, 0)
    code = bytes.fromhex("1eff2fe1")  # bx lr
    places = table_addresses(len(code), [(".ARM.exidx", 16), (".ARM.extab", len(table))])
    index = b""
    for start, target in ((TEXT_BASE, places[".ARM.extab"]), (TEXT_BASE + len(code), None)):
        at = places[".ARM.exidx"] + len(index)
        index += u(4, start - at & 0x7FFF_FFFF) + u(4, 1 if target is None else target - at - 4 & 0x7FFF_FFFF)
    path = folder / "one.elf"
    path.write_bytes(write_elf(ARM32, code, {".ARM.exidx": index, ".ARM.extab": table}, b"", [], TEXT_BASE))
    return path


# The last two need readelf 2.40 or later.
INSTRUCTIONS = (
    *(f"{first:02x}" for first in range(0x80)),
    *("80 01", "84 83", "88 08", "8f ff"),
    *(f"{first:02x}" for first in range(0x90, 0xB0) if first not in (0x9D, 0x9F)),
    *("b1 01", "b1 0a", "b1 0f", "b2 00", "b2 04", "b2 7f", "b2 84 84 01", "b2 ff 7f", "b3 82", "b3 f0"),
    *(f"{first:02x}" for first in range(0xB8, 0xC0)),
    *("c8 00", "c8 03", "c8 0f", "c9 00", "c9 82", "c9 0f"),
    *(f"{first:02x}" for first in range(0xD0, 0xD8)),
    *("b4", "b5"),
)


def test_every_instruction_equals_readelf(tmp_path: Path) -> None:
    whole = b"".join(bytes.fromhex(text) for text in INSTRUCTIONS)
    path = file_with(tmp_path, whole)
    expected, ours = readelf_entries(path), our_entries(read_elf(path))
    assert ours == expected
    (said, end) = ours.values()
    assert said is not None
    assert end is None
    assert len(said) == len(INSTRUCTIONS), "nothing was swallowed, nothing was cut off"
