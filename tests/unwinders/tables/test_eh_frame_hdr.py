"""`.eh_frame_hdr`: every field of LSB 5.0 section 10.6.2, what a search finds, and that a wrong index is believed."""

from __future__ import annotations

from gc import collect
from random import Random
from weakref import ref

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from testbed.contract.rows import RegisterPlus
from testbed.image import Image, LoadedImage
from testbed.trace import Snapshot
from testbed.words.errors import MalformedTable, NoUnwindInfo
from testbed.words.traits import Trait
from tests.golden import STRATEGIES, of_unit
from tests.unwinders.frames import ARM64, START, X86_64, block, cie, entry, image, snapshot, u, uleb, words
from unwinders import UNWINDERS
from unwinders.formats.cfi import cfi_table
from unwinders.formats.eh_frame_hdr import search_table
from unwinders.tables.eh_frame import EH_FRAME
from unwinders.tables.eh_frame_hdr import EH_FRAME_HDR

HEADER, FRAME, STACK = 0x3000, 0x4000, 0x8000
FUNCTIONS = ((0x1000, 0x20), (0x1040, 0x40), (0x1080, 0x10))  # a gap behind the first and behind the last

# The golden counts know which files have the section. The search table of an exchanged one is wrong on purpose, and
# without tables there is a row for the start code only.
SOUND = [p for p in PROGRAMS.values() if not any(source.header.exchanged for source in p.sources.values())]
WITH_TABLES = [recipe for recipe in RECIPES.values() if Trait.NO_TABLE not in recipe.traits]
UNITS = [u for u in units(SOUND, [X86_64, ARM64], WITH_TABLES) if EH_FRAME_HDR.name in of_unit(STRATEGIES, u)]


def frame_section(bodies: tuple[bytes, ...] = (b"", b"\x41\x0e\x10", b"")) -> tuple[bytes, tuple[int, ...]]:
    """An .eh_frame with one FDE for each function, and where they are."""
    section = cie(b"\x0c\x07\x08\x90\x01", id=bytes(4), augmentation=b"zR", area=b"\x00")
    places = []
    for (start, size), body in zip(FUNCTIONS, bodies, strict=True):
        places.append(FRAME + len(section))
        section += entry(u(4, len(section) + 4) + u(8, start) + u(8, size) + block(b"") + body)
    return section + u(4, 0), tuple(places)


def header(
    pairs: list[tuple[int, int]],
    *,
    version: int = 1,
    encodings: bytes = b"\x1b\x03\x3b",
    frame: int = FRAME,
    count: int | None = None,
) -> bytes:
    """What linkers write: pc-relative pointer, 4-byte count, pairs relative to the section."""
    content = bytes([version]) + encodings + u(4, frame - (HEADER + 4)) + u(4, len(pairs) if count is None else count)
    return content + b"".join(u(4, pc - HEADER) + u(4, fde - HEADER) for pc, fde in pairs)


def listed() -> list[tuple[int, int]]:
    return [(start, place) for (start, _), place in zip(FUNCTIONS, frame_section()[1], strict=True)]


def indexed(content: bytes | None = None, section: bytes | None = None) -> Image:
    return image(
        X86_64,
        _eh_frame=(FRAME, frame_section()[0] if section is None else section),
        _eh_frame_hdr=(HEADER, header(listed()) if content is None else content),
    )


def cfa(made: Image, pc: int) -> object:
    row = search_table(made).at(pc)
    return row and row.cfa


def calling(made: Image, *stack: int, pc: int = START, bias: int = 0) -> Snapshot:
    values = {register.name: 0x7000 for register in X86_64.registers} | {"rip": pc + bias, "rsp": STACK}
    return snapshot(X86_64, values, [(STACK, words(X86_64, *stack))], [LoadedImage(made, bias)])


# The header's fields


@pytest.mark.parametrize("version", [0, 2, 255])
def test_version_1_is_the_only_one(version: int) -> None:
    with pytest.raises(MalformedTable, match=rf"\.eh_frame_hdr\+0x0: version {version}"):
        search_table(indexed(header(listed(), version=version)))


def test_the_pointer_must_name_the_eh_frame_that_is_there() -> None:
    with pytest.raises(MalformedTable, match=r"\+0x4: the header is for an .eh_frame at 0x5000; it is at 0x4000"):
        search_table(indexed(header(listed(), frame=0x5000)))


def test_the_pointer_may_be_left_out() -> None:
    content = b"\x01\xff\x03\x3b" + u(4, 3) + header(listed())[12:]
    assert cfa(indexed(content), START) == RegisterPlus("rsp", 8)


@pytest.mark.parametrize("encodings", [b"\x1b\xff\x3b", b"\x1b\x03\xff", b"\x1b\xff\xff"])
def test_a_header_without_a_table_is_no_unwind_info(encodings: bytes) -> None:
    with pytest.raises(NoUnwindInfo, match="no search table"):
        search_table(indexed(b"\x01" + encodings + u(4, FRAME - HEADER - 4) + u(4, 0)))


@pytest.mark.parametrize(
    ("encoding", "count"),
    [(0x01, uleb(3)), (0x02, u(2, 3)), (0x03, u(4, 3)), (0x04, u(8, 3)), (0x0B, u(4, 3)), (0x00, u(8, 3))],
)
def test_the_count_has_its_own_encoding(encoding: int, count: bytes) -> None:
    content = b"\x01\x1b" + bytes([encoding]) + b"\x3b" + u(4, FRAME - HEADER - 4) + count + header(listed())[12:]
    assert search_table(indexed(content)).first_pcs == (0x1000, 0x1040, 0x1080)


@pytest.mark.parametrize(
    ("encoding", "size", "relative"),
    [
        (0x3B, 4, True),
        (0x3A, 2, True),
        (0x3C, 8, True),
        (0x03, 4, False),
        (0x04, 8, False),
        (0x00, 8, False),
        (0x02, 2, False),
    ],
)
def test_the_entries_have_their_own_encoding(encoding: int, size: int, relative: bool) -> None:
    base = HEADER if relative else 0
    pairs = b"".join(u(size, pc - base) + u(size, fde - base) for pc, fde in listed())
    content = b"\x01\x1b\x03" + bytes([encoding]) + u(4, FRAME - HEADER - 4) + u(4, 3) + pairs
    content += b"\x11" * 24  # what lies behind them is none
    assert cfa(indexed(content), 0x1080) == RegisterPlus("rsp", 8)
    assert search_table(indexed(content)).fdes == frame_section()[1]


@pytest.mark.parametrize("encoding", [0x31, 0x39])
def test_entries_of_no_common_size_cannot_be_searched(encoding: int) -> None:
    with pytest.raises(MalformedTable, match="cannot be searched"):
        search_table(indexed(header(listed(), encodings=b"\x1b\x03" + bytes([encoding]))))


def test_an_indirect_entry_is_malformed() -> None:
    with pytest.raises(MalformedTable, match=r"\+0xc: an entry has the pointer encoding 0xbb"):
        search_table(indexed(header(listed(), encodings=b"\x1b\x03\xbb")))


@pytest.mark.parametrize("count", [4, 1000, 0xFFFF_FFFF])
def test_more_entries_than_there_are_bytes_are_malformed(count: int) -> None:
    with pytest.raises(MalformedTable, match=r"\.eh_frame_hdr\+0x24: 4 bytes are needed, 0 are left"):
        search_table(indexed(header(listed(), count=count)))


def test_an_entry_out_of_order_hides_its_own_function_only() -> None:
    """The search is led past it; where it then finds nothing, the code may be that function's, and it says so."""
    first, second, third = listed()
    made = indexed(header([first, (0x9_0000, second[1]), third]))
    assert cfa(made, 0x1000) == RegisterPlus("rsp", 8)
    assert cfa(made, 0x1088) == cfa(indexed(), 0x1088)
    with pytest.raises(MalformedTable, match=r"\.eh_frame_hdr\+0x14: entry 1 is for 0x90000: not sorted"):
        search_table(made).at(0x1048)
    assert EH_FRAME_HDR.rows is not None
    table = EH_FRAME_HDR.rows(made)
    assert [row.start for row in table] == [0x1000, 0x1080]
    assert isinstance(table.stop_at(0x1048), MalformedTable)


@pytest.mark.parametrize("missing", [".eh_frame", ".eh_frame_hdr"])
def test_without_one_of_the_sections_there_is_nothing(missing: str) -> None:
    made = indexed()
    sections = {name: section for name, section in made.sections.items() if name != missing}
    left = Image(made.path, made.arch, START, made.segments, sections, ())
    assert not EH_FRAME_HDR.applies_to(left)
    assert EH_FRAME_HDR.applies_to(made)
    said = EH_FRAME_HDR.unwind(calling(left, 0x1008))
    assert isinstance(said.stopped, NoUnwindInfo)


# What a search finds


@pytest.mark.parametrize(
    ("pc", "offset"),
    [
        (0xFFF, None),
        (0x1000, 8),
        (0x101F, 8),
        (0x1020, None),  # behind the first function: its FDE is found, and does not cover it
        (0x103F, None),
        (0x1040, 8),
        (0x1041, 16),
        (0x107F, 16),
        (0x1080, 8),
        (0x108F, 8),
        (0x1090, None),
    ],
)
def test_the_search_finds_the_last_function_that_starts_before(pc: int, offset: int | None) -> None:
    assert cfa(indexed(), pc) == (None if offset is None else RegisterPlus("rsp", offset))


def test_an_empty_table_finds_nothing() -> None:
    assert search_table(indexed(header([]))).at(START) is None


def test_an_fde_that_the_index_does_not_name_does_not_exist() -> None:
    first, _, third = listed()
    made = indexed(header([first, third]))
    assert search_table(made).at(0x1048) is None
    assert cfi_table(made, ".eh_frame").at(0x1048) is not None


def test_a_wrong_index_is_believed_and_stops() -> None:
    """The entries of two functions name each other's FDE: no linear search comes to the rescue."""
    (one, left), (two, right), third = listed()
    made = indexed(header([(one, right), (two, left), third]))
    said = EH_FRAME_HDR.unwind(calling(made, 0x1008, 0))
    assert isinstance(said.stopped, NoUnwindInfo)
    assert [frame.pc for frame in said.frames] == [START]
    assert EH_FRAME.unwind(calling(made, 0x1008, 0)).stopped is None


def test_what_leads_to_no_row_is_not_claimed() -> None:
    """An index entry in the middle of a function cuts the rows that a search can find."""
    first, second, third = listed()
    made = indexed(header([first, (0x1010, third[1]), second, third]))
    assert EH_FRAME_HDR.rows is not None
    claimed = [(row.start, row.end) for row in EH_FRAME_HDR.rows(made)]
    assert claimed == [(0x1000, 0x1010), (0x1040, 0x1041), (0x1041, 0x1080), (0x1080, 0x1090)]
    late = indexed(header([(0x1010, first[1]), (0x1050, second[1])]))
    claimed = [(row.start, row.end) for row in EH_FRAME_HDR.rows(late)]
    assert claimed == [(0x1010, 0x1020), (0x1050, 0x1080)], "the first bytes of a function lead elsewhere"
    for pc in range(0xFF0, 0x10A0):
        assert EH_FRAME_HDR.rows(made).at(pc) == search_table(made).at(pc)


@pytest.mark.parametrize("place", [FRAME - 8, 0x9000, 0])
def test_an_index_that_points_outside_eh_frame_is_malformed(place: int) -> None:
    made = indexed(header([(START, place)]))
    with pytest.raises(MalformedTable, match=r"\.eh_frame\+0x0: .eh_frame_hdr names an FDE"):
        search_table(made).at(START)


def test_an_index_that_names_a_cie_or_the_end_is_malformed() -> None:
    section, _ = frame_section()
    for place in (FRAME, FRAME + len(section) - 4):
        with pytest.raises(MalformedTable, match=rf"\+{place - FRAME:#x}: an index names an FDE"):
            search_table(indexed(header([(START, place)]))).at(START)


def test_only_the_fde_that_is_found_can_be_broken() -> None:
    """Neither the linear reader nor the search asks more of the other FDEs than which pcs they are for."""
    section, _ = frame_section((b"", b"\x3f\x00\x00", b""))
    made = indexed(section=section)
    assert cfa(made, START) == RegisterPlus("rsp", 8)
    with pytest.raises(MalformedTable, match=r"^\.eh_frame\+"):
        search_table(made).at(0x1040)
    linear = cfi_table(made, ".eh_frame")
    assert [row.start for row in linear] == [0x1000, 0x1080]
    assert [(part.start, part.end) for part in linear.broken] == [(0x1040, 0x1080)]


# The strategy


def test_the_row_of_the_call_is_applied_in_link_time_addresses() -> None:
    said = EH_FRAME_HDR.unwind(calling(indexed(), 0x5_1020, 0, pc=0x1008, bias=0x5_0000))
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [0x5_1008, 0x5_1020])
    assert said.frames[1].found_by.startswith(".eh_frame+0x")


def test_code_outside_all_images_is_a_stop() -> None:
    said = EH_FRAME_HDR.unwind(calling(indexed(), 0x1008, pc=0x9_0000))
    assert isinstance(said.stopped, NoUnwindInfo)
    assert said.stopped.pc == 0x9_0000


def test_its_limits_are_about_the_table_and_the_stack_not_about_the_search() -> None:
    assert UNWINDERS["eh_frame_hdr"] is EH_FRAME_HDR
    phases = {Trait.PROLOGUE, Trait.EPILOGUE, Trait.FRAMELESS}
    assert not any(limit.trait in phases for limit in EH_FRAME_HDR.limits)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_search_and_linear_reading_give_the_same_row_at_every_pc(unit: Unit) -> None:
    made = build(PROGRAMS[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe]).image
    text = made.sections[".text"]
    linear, found = cfi_table(made, ".eh_frame"), search_table(made)
    compared = 0
    for pc in range(text.address - 4, text.address + len(text.data) + 4):
        assert found.at(pc) == linear.at(pc), hex(pc)
        compared += found.at(pc) is not None
    assert compared > 20


def test_what_was_read_does_not_keep_the_image_alive() -> None:
    made = indexed()
    assert search_table(made) is not None
    alive = ref(made)
    del made
    collect()
    assert alive() is None


def test_random_damage_is_read_or_typed() -> None:
    """One to four bytes of either section replaced: rows, or a MalformedTable inside the section it names."""
    random = Random(1)
    whole = {".eh_frame": frame_section()[0], ".eh_frame_hdr": header(listed())}
    refused = read = outside = 0
    for _ in range(3000):
        damaged = {name: bytearray(data) for name, data in whole.items()}
        for _ in range(random.randint(1, 4)):
            name = random.choice(list(damaged))
            damaged[name][random.randrange(len(damaged[name]))] = random.choice([random.randrange(256), 0, 0xFF, 0x80])
        if random.randrange(8) == 0:
            name = random.choice(list(damaged))
            del damaged[name][random.randrange(len(damaged[name])) :]
        made = indexed(bytes(damaged[".eh_frame_hdr"]), bytes(damaged[".eh_frame"]))
        for pc in (0x1000, 0x1010, 0x1048, 0x1088):
            try:
                read += search_table(made).at(pc) is not None
            except MalformedTable as error:
                refused += 1
                outside += not 0 <= error.offset <= len(damaged[error.section])
            except NoUnwindInfo:
                pass
    assert min(refused, read) > 500
    assert not outside
