"""Random bytes in a compact table: it is read, or it is a MalformedTable of one of the two sections; it ends."""

from __future__ import annotations

from random import Random

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.image import Image, Section
from testbed.words.errors import MalformedTable, NoUnwindInfo
from tests.unwinders.compact import BASE, compressed, image_with, regular, section
from unwinders.formats.compact_unwind import FRAME, SECTION, compact_table

MUTATIONS = 1500
ENCODINGS = {
    "arm64": [0x0200_1000, 0x0400_0000, 0x0400_0F1F, 0x0300_0014, 0x0200_3001],
    "x86_64": [0x0100_0000, 0x0105_0A72, 0x0208_1800, 0x0304_2400, 0x0400_0018],
}


def made(arch: str) -> Image:
    encodings = ENCODINGS[arch]
    functions = [(0x1000 + 0x10 * i, encoding) for i, encoding in enumerate(encodings)]
    common = encodings[:2]
    pages = [(0x1000, regular(functions[:2])), (0x1020, compressed(0x1020, functions[2:], common)), (0x1060, b"")]
    return image_with(ARCHES[arch], section(pages, 0x1080, common=common, personalities=1))


def real(arch: str, recipe: str) -> Image:
    return build(PROGRAMS["struct_return"], ARCHES[arch], RECIPES[recipe]).image


def mutated(data: bytes, random: Random) -> bytes:
    """One to four bytes replaced, or a piece cut out, doubled, or the end cut off."""
    out = bytearray(data)
    for _ in range(random.randint(1, 4)):
        out[random.randrange(len(out))] = random.choice([random.randrange(256), 0, 1, 2, 3, 0x7F, 0x80, 0xFF])
    at, size = random.randrange(len(out)), random.randint(1, 12)
    match random.randrange(8):
        case 0:
            del out[at : at + size]
        case 1:
            out[at:at] = out[at : at + size]
        case 2:
            del out[at:]
    return bytes(out)


@pytest.mark.parametrize(
    ("image", "damage"),
    [
        pytest.param(made("arm64"), SECTION, id="arm64"),
        pytest.param(made("x86_64"), SECTION, id="x86_64"),
        pytest.param(real("arm64", "macho-O2-dwarf"), SECTION, id="real arm64"),
        pytest.param(real("x86_64", "macho-O2-nofp"), SECTION, id="real x86_64"),
        pytest.param(real("arm64", "macho-O2-dwarf"), FRAME, id="real arm64, __eh_frame"),
    ],
)
def test_damage_is_rows_or_a_malformed_table(image: Image, damage: str) -> None:
    random = Random(11)
    whole = image.sections[damage]
    errors: list[MalformedTable] = []
    for _ in range(MUTATIONS):
        damaged = Section(damage, whole.address, whole.offset, mutated(whole.data, random))
        broken = Image(
            image.path,
            image.arch,
            image.entry,
            image.segments,
            {**image.sections, damage: damaged},
            (),
            base=image.base,
        )
        try:
            rows = compact_table(broken).all_rows()
            errors += [part.why for part in rows.broken if isinstance(part.why, MalformedTable)][:1]
            assert all(row.start < row.end for row in rows)
            assert list(rows.starts) == sorted(rows.starts)
        except MalformedTable as error:
            errors.append(error)
        for pc in (BASE, image.entry, image.entry + 1, 0, (1 << 64) - 1):
            try:
                row = compact_table(broken).at(pc)
                assert row is None or row.contains(pc)
            except (MalformedTable, NoUnwindInfo):
                pass
    assert MUTATIONS / 50 < len(errors) < MUTATIONS
    assert {error.section for error in errors} <= {SECTION, FRAME}
