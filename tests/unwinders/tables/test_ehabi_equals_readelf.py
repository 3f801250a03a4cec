"""Our decoded EHABI entries equal readelf's, function by function: in every ARM32 file, and for every instruction.

`readelf -u` prints a line for each function, ``0x20154 <fill>: 0x809b8480``, the same with ``@0x10124`` for an entry
in the table, or ``0x1 [cantunwind]``; then the model; then one line per instruction: its bytes and what it does.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.build import build
from testbed.build.load_addresses import TEXT_BASE
from testbed.build.recipes import RECIPES
from testbed.build.tables.elf import table_addresses, write_elf
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from testbed.image import Image, read_elf
from testbed.words.traits import Trait
from tests.unwinders.frames import ARM32, u
from unwinders.formats.ehabi import IndexEntry, exception_index, operation_bytes
from unwinders.formats.ehabi_operations import (
    AuthenticateHere,
    EhabiOperation,
    MoveVsp,
    Pop,
    PopAuthenticationCode,
    PopVfp,
    SetVsp,
    decode,
)

WITH_TABLES = [recipe for recipe in RECIPES.values() if Trait.CANNOT_UNWIND not in recipe.traits]
UNITS = units(PROGRAMS.values(), [ARM32], WITH_TABLES)

_TITLE = re.compile(r"^Unwind section '\.ARM\.exidx' at offset 0x[0-9a-f]+ contains \d+ entr(y|ies):$")
_FUNCTION = re.compile(
    r"^0x(?P<start>[0-9a-f]+)(?: <[^>]+>)?: (?:0x1 \[(?P<cannot>cantunwind)\]|0x[0-9a-f]+|@0x[0-9a-f]+)$"
)
_MODEL = re.compile(r"^  Compact model index: \d$")
# Short instructions are padded to the width of two bytes; readelf 2.40 forgets that for VFP.
_INSTRUCTION = re.compile(r"^  (?:0x[0-9a-f]{2} )+ *(?P<text>[a-z].*)$")

Said = dict[int, list[str] | None]


def readelf_entries(path: Path) -> Said:
    """By function: what each instruction does, in readelf's words; None for one that cannot be unwound."""
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("readelf is not installed: apt-get install binutils")
    text = subprocess.run([readelf, "-u", "-W", str(path)], capture_output=True, text=True, check=True).stdout
    said: Said = {}
    here: list[str] = []
    for line in text.splitlines():
        if not line.strip() or _TITLE.match(line) or _MODEL.match(line):
            continue
        if match := _FUNCTION.match(line):
            here = []
            said[ARM32.code_address(int(match["start"], 16))] = None if match["cannot"] else here
        elif match := _INSTRUCTION.match(line):
            here.append(match["text"].strip())
        else:
            raise AssertionError(f"a line of readelf that this test cannot read: {line!r}")
    return {start: ended(entry) for start, entry in said.items()}


def ended(entry: list[str] | None) -> list[str] | None:
    """What comes before the first "finish": readelf prints the padding, too."""
    return entry if entry is None or "finish" not in entry else entry[: entry.index("finish")]


def our_entries(image: Image) -> Said:
    return {entry.start: said_of(image, entry) for entry in exception_index(image) if isinstance(entry, IndexEntry)}


def said_of(image: Image, entry: IndexEntry) -> list[str] | None:
    if entry.cannot_unwind:
        return None
    return [in_readelfs_words(operation) for operation in decode(operation_bytes(image, entry))]


def in_readelfs_words(operation: EhabiOperation) -> str:
    match operation:
        case MoveVsp(distance):
            return f"vsp = vsp {'+' if distance > 0 else '-'} {abs(distance)}"
        case SetVsp(register):
            return f"vsp = r{register}"
        case Pop(registers):
            return "pop {" + ", ".join(f"r{register}" for register in registers) + "}"
        case PopVfp(first, 1, _):
            return f"pop {{D{first}}}"
        case PopVfp(first, count, _):
            return f"pop {{D{first}-D{first + count - 1}}}"
        case PopAuthenticationCode():
            return "pop {ra_auth_code}"
        case AuthenticateHere():
            return "vsp as modifier for PAC validation"


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
