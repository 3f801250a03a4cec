"""Damaged tables of every format: they are read or refused with a typed error inside the table, and every walk ends.

The second reader of each, `testbed.rereading`, has a row or says that there is none.

The tables are made by hand, with all that a format can say, and by linkers. `tests/hostile` damages whole files.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from testbed.arch import ARCHES
from testbed.contract.rows import RowTable
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage
from testbed.machine import record
from testbed.rereading import NoRow, reread
from testbed.trace import Trace
from testbed.words.errors import MalformedTable, NoUnwindInfo, UnsupportedRule
from tests import corpus
from tests.hostile.damage import damaged_bytes
from tests.unwinders import compact, ehabi_index, go_tables, search_tables, sframes
from tests.unwinders.formats import orc_made
from tests.unwinders.frames import (
    START,
    TECHNIQUES,
    X86_64,
    block,
    cie,
    differences,
    evaluated,
    fde,
    image,
    snapshot,
    uleb,
)
from tests.unwinders.said import said
from unwinders import UNWINDERS
from unwinders.formats.orc import OrcLayout
from unwinders.rows.walk import MAX_FRAMES

TRIES = 1000
STACK = 0x8000
FAR = 1 << 33  # an offset that a compact table leads to is named, wherever it is

# Instructions with every kind of operand.
BODIES = (
    b"\x41\x0e\x10\x86\x02\x43\x0d\x06\x0a\x02\x10\x0c\x07\x08\xc6\x41\x0b\x2e\x20",
    b"\x0e\x10\x46\x0e\x18\x4a\x0f"
    + block(b"\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22")
    + b"\x41\x05\x03\x04\x11\x0c\x7e\x12\x07\x7d\x13\x7c",
    b"\x10\x03" + block(b"\x76\x70\x06") + b"\x16\x0c" + block(b"\x31\x28\x01\x00\x96") + b"\x09\x0d\x0e\x14\x0f\x02",
)


def call_frames() -> Image:
    """Three functions in `.eh_frame`, its index, and `.debug_frame`."""
    frame, places = search_tables.frame_section(BODIES)
    starts = [start for start, _ in search_tables.FUNCTIONS]
    fdes = (
        fde(body, start=start, size=size) for body, (start, size) in zip(BODIES, search_tables.FUNCTIONS, strict=True)
    )
    return image(
        X86_64,
        _eh_frame=(search_tables.FRAME, frame),
        _eh_frame_hdr=(search_tables.HEADER, search_tables.header([*zip(starts, places, strict=True)])),
        _debug_frame=(0, cie(b"\x0c\x07\x08\x90\x01" + b"\x08" + uleb(3)) + b"".join(fdes)),
    )


def sframe(version: int, info: int) -> Image:
    """Three functions with rows of every kind that the version has."""
    fre = sframes.fre
    plain = [fre(0, 8), fre(1, 16, -16), fre(4, 300, -16, size=2), fre(9, 16, -16, base=0, size=4)]
    functions = [(START, 0x40, plain), (START + 0x40, 0x60, plain[:2]), (START + 0x100, 0x20, [fre(0, 8)])]
    options = {"flags": 1} if version == 1 else {"flags": 5, "block": 16}
    return sframes.made(sframes.section(*functions, version=version, info=info, **options))  # type: ignore[arg-type]


def orc(layout: OrcLayout, header: bytes | None) -> Image:
    r, bits = orc_made.R, orc_made.bits
    kinds = [(r.SP, 0), (r.BP, 1), (r.R10, 4), (r.BP_INDIRECT, 1), (r.SP_INDIRECT, 0)]
    thirds = [bits(orc_made.CALL[layout], sp, bp) for sp, bp in kinds]
    thirds += [bits(orc_made.REGISTERS[layout]), bits(orc_made.INTERRUPT[layout])]
    entries = [(START + 4 * i, orc_made.entry(third, 8 * i + 8)) for i, third in enumerate(thirds)]
    return orc_made.made(*entries, (START + 99, orc_made.NOTHING), header=header)


def ehabi() -> Image:
    at, table = ehabi_index.at, ehabi_index.table
    entries = ((START, at(0)), (START + 0x20, ehabi_index.POP_R4_LR), (START + 0x40, at(12)), ehabi_index.THREE[2])
    words = (0x8101_9B41, 0x8483_B0B0, 0, 0x7FFF_D000, 0x01B2_8401, 0xC982_B100, 0xD7B3_82B4)
    return ehabi_index.made(ehabi_index.index_of(*entries), table(*words))


def compact_unwind(arch: str, *encodings: int) -> Image:
    functions = [(0x1000 + 0x10 * i, encoding) for i, encoding in enumerate(encodings)]
    pages = [
        (0x1000, compact.regular(functions[:2])),
        (0x1020, compact.compressed(0x1020, functions[2:], encodings[:2])),
        (0x1060, b""),
    ]
    section = compact.section(pages, 0x1080, common=encodings[:2], personalities=1)
    return compact.image_with(ARCHES[arch], section)


def linked(arch: str, recipe: str) -> Image:
    return corpus.built("struct_return", arch, recipe).image


CALL_FRAMES = call_frames()
PAGES = (compact.SECTION,)
# an unwinder, a file, and which of its sections are damaged
CASES: list[tuple[str, Image, tuple[str, ...]]] = [
    ("eh_frame", CALL_FRAMES, (".eh_frame",)),
    ("eh_frame_hdr", CALL_FRAMES, (".eh_frame_hdr", ".eh_frame")),
    ("debug_frame", CALL_FRAMES, (".debug_frame",)),
    *(("sframe", sframe(version, info), (".sframe",)) for version in (1, 2, 3) for info in (0, 0x10)),
    ("orc", orc(orc_made.OLD, None), (".orc_unwind", ".orc_unwind_ip")),
    ("orc", orc(orc_made.NEW, orc_made.HASH), (".orc_unwind", ".orc_unwind_ip")),
    ("ehabi", ehabi(), (".ARM.exidx", ".ARM.extab")),
    ("compact_unwind", compact_unwind("arm64", 0x0200_1000, 0x0400_0000, 0x0400_0F1F, 0x0400_0001, 0x0200_3001), PAGES),
    (
        "compact_unwind",
        compact_unwind("x86_64", 0x0100_0000, 0x0105_58D1, 0x0208_1800, 0x0202_0400, 0x0101_0001),
        PAGES,
    ),
    ("compact_unwind", linked("arm64", "macho-O2-dwarf"), (*PAGES, compact.FRAME)),
    ("compact_unwind", linked("x86_64", "macho-O2-nofp"), PAGES),
    *(("gopclntab", go_tables.made(*go_tables.EVERY, version=version), (".gopclntab",)) for version in go_tables.MAGIC),
    ("gopclntab", go_tables.made(*go_tables.EVERY, arch=ARCHES["arm64"], module=START), (".gopclntab", ".go.module")),
]


@pytest.mark.parametrize(("chosen", "sound", "sections"), CASES)
def test_a_damaged_table_is_read_or_refused(chosen: str, sound: Image, sections: tuple[str, ...]) -> None:
    unwinder, random, arch = UNWINDERS[chosen], Random(chosen), sound.arch
    registers = {register.name: STACK + 8 * i for i, register in enumerate(arch.registers)} | {arch.sp: STACK}
    format = next(section for section, technique in TECHNIQUES.items() if technique == chosen)
    pcs = [row.start for row in unwinder.rows(sound).rows[:6]]
    seeds = [sound.sections[name].data for name in sections]
    tried: Counter[bool] = Counter()
    for _ in range(TRIES):
        name = random.choice(sections)
        section = replace(sound.sections[name], held=damaged_bytes(sound.sections[name].data, random, seeds))
        image = replace(sound, sections={**sound.sections, name: section})
        try:
            table = unwinder.rows(image)
            errors = [part.why for part in table.broken if not isinstance(part.why, NoUnwindInfo)]
        except (MalformedTable, NoUnwindInfo, UnsupportedRule) as why:
            table, errors = RowTable(name, ()), [why]
        for error in errors:
            if isinstance(error, MalformedTable):
                end = FAR if chosen == "compact_unwind" else len(image.sections[error.section].data)
                assert error.section in image.sections and 0 <= error.offset <= end, error
        assert all(row.start < row.end for row in table)
        assert all(left.end <= right.start for left, right in pairwise(table.rows))
        for row in table.rows[:4]:
            said = unwinder.unwind(
                snapshot(
                    arch, {**registers, arch.pc: row.start}, [(STACK, bytes(range(256)) * 4)], [LoadedImage(image)]
                )
            )
            assert 1 <= len(said.frames) <= MAX_FRAMES
        for pc in pcs:  # the second reader has a row, or says that there is none
            if not isinstance(again := reread(image, format, pc), NoRow):
                evaluated(again, registers)
            if chosen in ("eh_frame", "debug_frame"):  # both readers say the same
                assert [*differences(image, format, [pc])] == []
        tried[bool(errors)] += 1
    assert min(tried[False], tried[True]) > TRIES // 25, tried


# An entry that cannot be read is its own function's matter, in every format: the rest of the section stays readable.
#
# A real program is run; then one entry, that of `middle` or `descend`, is damaged in the file that the unwinders see.
# At every step the unwinders say what they said before, up to the first frame in that function: there they stop and
# give the reason. The native walk over the whole trace says the same.

Damage = Callable[[bytearray, int], None]  # of a section, at the place that a row says it was found at


def unknown_instruction(data: bytearray, fde: int) -> None:
    """The last byte of an FDE, which is padding: a call frame instruction that does not exist."""
    data[fde + 3 + int.from_bytes(data[fde : fde + 4], "little")] = 0x3F


def other_bytes(at: int, *values: int) -> Damage:
    def damage(data: bytearray, offset: int) -> None:
        data[offset + at : offset + at + len(values)] = bytes(values)

    return damage


BROKEN = {
    "eh_frame": ("x86_64", "keystone", ".eh_frame", unknown_instruction),
    "eh_frame of arm64": ("arm64", "keystone", ".eh_frame", unknown_instruction),
    "eh_frame_hdr": ("x86_64", "keystone", ".eh_frame", unknown_instruction),
    "debug_frame": ("arm32", "keystone", ".debug_frame", unknown_instruction),
    "ehabi": ("arm32", "keystone", ".ARM.exidx", other_bytes(4, 0, 0, 0, 0x8F)),  # no such personality routine
    "ehabi, no address": ("arm32", "keystone", ".ARM.exidx", other_bytes(0, 0, 0, 0, 0x80)),
    "ehabi, not sorted": ("arm32", "keystone", ".ARM.exidx", other_bytes(0, 0, 0, 0, 0x3F)),
    "sframe": ("x86_64", "keystone", ".sframe", other_bytes(1, 0x60)),  # words of a size that does not exist
    "sframe of arm64": ("arm64", "keystone", ".sframe", other_bytes(1, 0x60)),
    "orc": ("x86_64", "keystone", ".orc_unwind", other_bytes(4, 0xFF, 0xFF)),
    "compact_unwind": ("arm64", "macho-O2", "__TEXT,__unwind_info", other_bytes(3, 0x7F)),  # an encoding of none
}


def code(image: Image) -> range:
    low = min(s.address for s in image.segments if s.executable)
    return range(low, low + max(s.size for s in image.segments if s.executable))


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_entry_is_its_own_functions_matter(case: str) -> None:
    arch, recipe, section, damage = BROKEN[case]
    unwinder = UNWINDERS[case.split(" ")[0].rstrip(",")]
    program, name = ("leaf_call", "middle") if recipe == "keystone" else ("recursion", "descend")
    built = corpus.built(program, arch, recipe)
    trace = record(built.image, cpu=built.cpu)
    whole = unwinder.rows(built.image)
    function = next(symbol for symbol in built.image.symbols if symbol.name == name)
    row = whole.at(function.address)
    sound = built.image.sections[section]
    data = bytearray(sound.data)
    damage(data, int(row.found_by.partition("+")[2], 16))
    broken = replace(built.image, sections={**built.image.sections, section: replace(sound, held=bytes(data))})
    table = unwinder.rows(broken)
    lost = {pc for pc in code(built.image) if whole.at(pc) is not None and table.at(pc) is None}
    assert function.address in lost
    assert len(whole) > len(table) > 0
    for pc in code(built.image):
        stop = table.stop_at(pc)
        assert (table.at(pc) is not None) == (whole.at(pc) is not None and pc not in lost)
        assert isinstance(stop, MalformedTable) == (pc in lost), (hex(pc), stop)
    assert walked(unwinder, trace, broken, lost) > 1


def walked(unwinder: Unwinder, trace: Trace, broken: Image, lost: set[int]) -> int:
    """How many steps come to a frame without a row; at all others nothing has changed."""
    bias = trace.images[0].bias
    other = replace(trace, images=(LoadedImage(broken, bias), *trace.images[1:]))
    assert unwinder.unwind_trace
    natively, stopped = unwinder.unwind_trace(other), 0
    for step in range(len(trace)):
        before, now = unwinder.unwind(trace.snapshot(step)), unwinder.unwind(other.snapshot(step))
        assert said(natively[step]) == said(now), f"step {step}"
        hit = next((i for i, frame in enumerate(before.frames) if frame.lookup_pc - bias in lost), None)
        if hit is None:
            assert said(now) == said(before), f"step {step}"
            continue
        stopped += 1
        assert [frame.pc for frame in now.frames] == [frame.pc for frame in before.frames[: hit + 1]], f"step {step}"
        assert isinstance(now.stopped, MalformedTable), f"step {step}: {now.stopped}"
        assert now.stopped.pc == now.frames[-1].pc
    return stopped
