"""The cursor: every number that a table can hold, and the error where the bytes do not hold it."""

from __future__ import annotations

import pytest

from testbed.words.errors import MalformedTable
from tests.unwinders.frames import sleb, u, uleb
from unwinders.formats.reader import Reader


def reader(data: bytes, *, address: int = 0x4000) -> Reader:
    return Reader(".eh_frame", address, data)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_fixed_integers_are_little_endian_with_or_without_a_sign(size: int) -> None:
    data = b"\xfe" + b"\xff" * (size - 1)
    assert reader(data).unsigned(size) == (1 << (8 * size)) - 2
    assert reader(data).signed(size) == -2


LEBS: list[tuple[str, bytes, int]] = [
    *(("uleb", uleb(value), value) for value in (0, 1, 63, 64, 127, 128, 129, 16256, 2**32, 2**63, 2**64 - 1)),
    *(
        ("sleb", sleb(value), value)
        for value in (0, 1, -1, 63, 64, -64, -65, 127, -128, 129, -129, 2**63 - 1, -(2**63))
    ),
    # the examples of DWARF 5, figure 7.6.2 and 7.6.3
    ("uleb", bytes([129 - 128 + 0x80, 1]), 129),
    ("uleb", bytes([57 + 0x80, 100]), 12857),
    ("sleb", bytes([0x7E]), -2),
    ("sleb", bytes([127 + 0x80, 0]), 127),
    ("sleb", bytes([0x80, 0x7F]), -128),
    # padding is allowed up to ten bytes
    ("uleb", b"\x81" + b"\x80" * 8 + b"\x00", 1),
    ("sleb", b"\xff" * 9 + b"\x7f", -1),
]

MALFORMED_LEBS: list[tuple[str, bytes, str]] = [
    ("uleb", b"\x80" * 10 + b"\x00", "more than 10 bytes"),
    ("sleb", b"\x80" * 10 + b"\x00", "more than 10 bytes"),
    ("uleb", b"\xff" * 9 + b"\x03", "does not fit"),
    ("sleb", b"\xff" * 9 + b"\x01", "does not fit"),
]


@pytest.mark.parametrize(("kind", "data", "value"), LEBS)
def test_a_leb_is_a_number(kind: str, data: bytes, value: int) -> None:
    assert getattr(reader(data), kind)() == value


@pytest.mark.parametrize(("kind", "data", "said"), MALFORMED_LEBS)
def test_a_leb_is_malformed(kind: str, data: bytes, said: str) -> None:
    with pytest.raises(MalformedTable, match=said) as raised:
        getattr(reader(data), kind)()
    assert (raised.value.section, raised.value.offset) == (".eh_frame", 0)


def test_running_off_the_end_names_section_and_offset() -> None:
    cursor = reader(b"\1\2\3")
    cursor.take(2)
    with pytest.raises(MalformedTable, match=r"\.eh_frame\+0x2: 4 bytes are needed, 1 are left"):
        cursor.unsigned(4)
    with pytest.raises(MalformedTable):
        reader(b"\x80").uleb()


def test_a_part_ends_where_it_was_told_to() -> None:
    part = reader(b"\1\2\3\4").part(1, 3)
    assert part.take(2) == b"\2\3"
    with pytest.raises(MalformedTable):
        part.take(1)
    with pytest.raises(MalformedTable, match="not inside"):
        reader(b"\1\2").part(1, 3)


def test_a_string_ends_at_its_zero() -> None:
    cursor = reader(b"zR\0\7")
    assert cursor.string() == "zR"
    assert cursor.unsigned(1) == 7
    with pytest.raises(MalformedTable, match="no end"):
        reader(b"zR").string()
    with pytest.raises(MalformedTable, match="ASCII"):
        reader(b"\xe4\0").string()


@pytest.mark.parametrize(
    ("encoding", "data", "expected"),
    [
        (0x00, u(8, 0x12345678_9ABCDEF0), 0x12345678_9ABCDEF0),
        (0x01, uleb(300), 300),
        (0x02, u(2, 0xFFFE), 0xFFFE),
        (0x03, u(4, 0xFFFF_FFFE), 0xFFFF_FFFE),
        (0x04, u(8, 5), 5),
        (0x09, sleb(-2), 2**64 - 2),
        (0x0A, u(2, -2), 2**64 - 2),
        (0x0B, u(4, -2), 2**64 - 2),
        (0x0C, u(8, -2), 2**64 - 2),
        (0x1B, u(4, -0x10), 0x4001 - 0x10),
        (0x3B, u(4, 0x10), 0x9010),
        (0x1B, u(4, 0), 0),
        (0xFF, b"", None),
    ],
    ids=lambda value: f"{value:#x}" if isinstance(value, int) else None,
)
def test_pointer_encodings(encoding: int, data: bytes, expected: int | None) -> None:
    """pcrel counts from the pointer itself (here at 0x4001); a stored zero is null whatever it is relative to."""
    cursor = reader(b"\xcc" + data)
    cursor.take(1)
    assert cursor.pointer(encoding, 8, data_base=0x9000) == expected
    assert cursor.left == 0


def test_a_pointer_wraps_at_the_word() -> None:
    assert reader(u(4, -8), address=4).pointer(0x1B, 4) == 0xFFFF_FFFC


@pytest.mark.parametrize("encoding", [0x05, 0x08, 0x0F, 0x23, 0x33, 0x43, 0x53])
def test_a_pointer_that_a_file_cannot_resolve_is_malformed(encoding: int) -> None:
    with pytest.raises(MalformedTable, match="pointer encoding"):
        reader(u(8, 1)).pointer(encoding, 8)
