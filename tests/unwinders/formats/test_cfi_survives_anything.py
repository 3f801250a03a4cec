"""Random bytes in a table: it is read, or it is a MalformedTable inside the section; it never runs away."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from testbed.contract.frames import Frame, FrameKind
from testbed.contract.rows import IsExpression, RowTable
from testbed.image import Image, LoadedImage
from testbed.words.errors import MalformedTable
from tests.unwinders.frames import SIZE, START, X86_64, block, cie, entry, image, snapshot, u, uleb
from tests.unwinders.mutations import mutated
from unwinders.formats.cfi import cfi_table
from unwinders.rows.apply import apply
from unwinders.rows.walk import MAX_FRAMES
from unwinders.tables.eh_frame import EH_FRAME

MUTATIONS = 4000
EH_ADDRESS = 0x4000


def real_section() -> bytes:
    """Two CIEs and three FDEs that use every kind of operand."""
    plain = cie(b"\x0c\x07\x08\x90\x01", id=bytes(4), augmentation=b"zR", area=b"\x1b")
    personal = cie(b"\x0c\x07\x08\x90\x01", id=bytes(4), augmentation=b"zPLRS", area=b"\x9b" + u(4, 0x40) + b"\x1b\x1b")
    plt = block(b"\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22")
    bodies = [
        b"\x41\x0e\x10\x86\x02\x43\x0d\x06\x0a\x02\x10\x0c\x07\x08\xc6\x41\x0b\x2e\x20",
        b"\x0e\x10\x46\x0e\x18\x4a\x0f" + plt + b"\x41\x05" + uleb(3) + b"\x04\x11\x0c\x7e\x12\x07\x7d\x13\x7c",
        b"\x10\x03"
        + block(b"\x76\x70\x06")
        + b"\x16\x0c"
        + block(b"\x31\x28\x01\x00\x96")
        + b"\x09\x0d\x0e\x14\x0f\x02",
    ]
    section = plain + personal
    for i, body in enumerate(bodies):
        field = len(section) + 4
        at = 0 if i < 2 else len(plain)
        area = block(b"" if i < 2 else u(4, 0))
        start = u(4, START + i * SIZE - (EH_ADDRESS + field + 4))
        section += entry(u(4, field - at) + start + u(4, SIZE) + area + body)
    return section + u(4, 0)


def tables(seed: int, count: int) -> Iterator[tuple[bytes, RowTable | MalformedTable]]:
    random = Random(seed)
    section = real_section()
    for _ in range(count):
        changed = mutated(section, random)
        yield changed, read(image(_eh_frame=(EH_ADDRESS, changed)), ".eh_frame")


def read(made: Image, section: str) -> RowTable | MalformedTable:
    """The table, or the one error that reading it may raise."""
    try:
        return cfi_table(made, section)
    except MalformedTable as error:
        return error


def test_the_section_that_is_mutated_is_sound() -> None:
    table = cfi_table(image(_eh_frame=(EH_ADDRESS, real_section())), ".eh_frame")
    assert {row.start // SIZE * SIZE for row in table} == {START, START + SIZE, START + 2 * SIZE}
    assert any(isinstance(row.cfa, IsExpression) for row in table)
    assert any(row.signal_frame for row in table)


@pytest.mark.parametrize("seed", range(3))
def test_a_mutated_table_is_read_or_malformed(seed: int) -> None:
    sound = malformed = 0
    for section, result in tables(seed, MUTATIONS):
        if isinstance(result, MalformedTable):
            malformed += 1
            assert result.section == ".eh_frame"
            assert 0 <= result.offset <= len(section)
        else:
            sound += 1
            for left, right in zip(result.rows, result.rows[1:], strict=False):
                assert left.start < left.end <= right.start < right.end
    assert min(sound, malformed) > MUTATIONS // 10, "both must be exercised"


def test_mutated_rows_give_an_answer_at_every_pc() -> None:
    """Whatever a table says, applying it ends: a caller, the root, or an UnwindError kept as the reason."""
    stack = [(0x8000, bytes(range(256)) * 4)]
    values = {register.name: 0x8000 + 8 * i for i, register in enumerate(X86_64.registers)}
    reasons = set()
    for section, result in tables(99, 400):
        if isinstance(result, MalformedTable):
            continue
        made = image(_eh_frame=(EH_ADDRESS, section))
        for row in result.rows[:8]:
            at = snapshot(X86_64, values | {"rip": row.start, "rsp": 0x8000}, stack, [LoadedImage(made)])
            said = EH_FRAME.unwind(at)
            assert 1 <= len(said.frames) <= MAX_FRAMES
            reasons.add(type(said.stopped).__name__)
    assert {"NoUnwindInfo", "UnreadableMemory"} <= reasons


@pytest.mark.parametrize("seed", range(3))
def test_random_bytes_are_malformed_or_empty(seed: int) -> None:
    random = Random(seed)
    for _ in range(1000):
        section = random.randbytes(random.randint(0, 200))
        for name in (".eh_frame", ".debug_frame"):
            made = image(_eh_frame=(EH_ADDRESS, section), _debug_frame=(0, section))
            result = read(made, name)
            if isinstance(result, MalformedTable):
                assert result.section == name
            else:
                assert all(row.start < row.end for row in result)


def test_a_row_for_every_byte_of_a_long_function_is_quick() -> None:
    """Rows share their rules: a section of 200 KB that makes a row out of every two bytes stays small."""
    body = b"\x41\x00" * 100_000
    section = cie(b"\x0c\x07\x08" + b"".join(b"\x08" + uleb(i) for i in range(200)))
    section += entry(u(4, 0) + u(8, START) + u(8, 1 << 20) + body)
    table = cfi_table(image(_debug_frame=(0, section)), ".debug_frame")
    assert len(table) == 100_001
    assert len({id(row.registers) for row in table}) == 1


def test_applying_a_row_does_not_change_the_frame() -> None:
    table = cfi_table(image(_eh_frame=(EH_ADDRESS, real_section())), ".eh_frame")
    values = {register.name: 0x8000 for register in X86_64.registers}
    at = snapshot(X86_64, values, [(0x7000, bytes(0x3000))])
    frame = Frame(FrameKind.INTERRUPTED, START, dict(values))
    for row in table:
        apply(row, frame, at)
    assert frame.registers == values
