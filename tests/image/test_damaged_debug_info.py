"""Damaged debug information: a typed error or a missing name, never a wrong one, never a hang."""

from __future__ import annotations

import time
from dataclasses import replace
from random import Random

import pytest

from testbed.contract.frames import Frame, FrameKind
from testbed.image import Image, LoadedImage, Section
from testbed.image.debug import debug_info
from testbed.naming.symbolize import Origin, symbolize
from testbed.words.errors import DebugInfoError
from tests.image.debugged import DWARF_4, built, code_of
from tests.image.hand_made import BASE, SIZE, abstract, first_child, function, image_of, inlined, instance_of

SECTIONS = (
    *(".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str", ".debug_str_offsets"),
    *(".debug_addr", ".debug_rnglists", ".debug_ranges"),
)
FILES = [("inline_chain", "arm64", ()), ("tail_branches", "x86_64", ()), ("inline_chain", "x86_64", DWARF_4)]
SECONDS = 5.0  # for one damaged file; an undamaged one takes 0.05


def with_section(image: Image, name: str, data: bytes) -> Image:
    old = image.sections[name]
    return replace(image, sections={**image.sections, name: Section(name, old.address, old.offset, data)})


def said(image: Image, pcs: list[int]) -> dict[int, list[tuple[str, str, int]]]:
    out = {}
    for pc in pcs:
        frames = symbolize((LoadedImage(image),), [Frame(FrameKind.INTERRUPTED, pc, {})]).frames
        out[pc] = [(f.function, f.line.file, f.line.line) if f.line else (f.function, "", 0) for f in frames]
    return out


def only_missing(damaged: list[tuple[str, str, int]], whole: list[tuple[str, str, int]]) -> bool:
    """The function is right or missing; what else is said was said before, in its order."""
    if damaged[-1][0] not in ("", whole[-1][0]):
        return False
    rest = iter(whole)
    for name, file, line in damaged:
        for true in rest:
            if name in ("", true[0]) and ((not file and not line) or (file in ("", true[1]) and line in (0, true[2]))):
                break
        else:
            return False
    return True


# Which sections there are: DWARF 4 has its own for ranges, and no indices; two of these programs have range lists.
ONLY_4, ONLY_5 = {".debug_ranges"}, {".debug_line_str", ".debug_str_offsets", ".debug_addr", ".debug_rnglists"}
CUT = [
    (section, *file)
    for section in SECTIONS
    for file in FILES
    if section not in (ONLY_5 if file[2] else ONLY_4) and not ("rnglists" in section and file[0] == "tail_branches")
]


@pytest.mark.parametrize(("section", "program", "arch", "extra"), CUT)
def test_a_section_that_is_cut_off_costs_names_and_tells_no_wrong_one(
    section: str, program: str, arch: str, extra: tuple[str, ...]
) -> None:
    image = built(program, arch, "clang-O2", extra)
    pcs = code_of(image, image.arch)[::3]
    whole = said(image, pcs)
    data = image.sections[section].data
    worse = 0
    for keep in sorted({*range(0, len(data), max(1, len(data) // 24)), len(data) - 1}):
        damaged = with_section(image, section, data[:keep])
        info = debug_info(damaged)
        now = said(damaged, pcs)
        for pc in pcs:
            assert only_missing(now[pc], whole[pc]), f"{section}[:{keep}] at {pc:#x}: {now[pc]}, was {whole[pc]}"
        worse += now != whole
        assert now == whole or info.problems or keep == 0, f"{section}[:{keep}] loses names without a word"
        assert all(isinstance(problem, DebugInfoError) for problem in info.problems)
    assert worse, "nothing was lost: this section is not read"


@pytest.mark.parametrize(("program", "arch", "extra"), FILES)
@pytest.mark.parametrize("seed", range(8))
def test_any_bytes_end_in_an_answer(program: str, arch: str, extra: tuple[str, ...], seed: int) -> None:
    image = built(program, arch, "clang-O2", extra)
    random = Random(f"{program} {arch} {seed}")
    pcs = code_of(image, image.arch)[::11]
    for _ in range(12):
        damaged = image
        for section in random.sample([name for name in SECTIONS if name in image.sections], 2):
            data = bytearray(image.sections[section].data)
            for _ in range(random.choice((1, 2, 8))):
                data[random.randrange(len(data))] = random.choice((0, 0x7F, 0x80, 0xFF, random.randrange(256)))
            damaged = with_section(damaged, section, bytes(data))
        start = time.process_time()
        frames = [Frame(FrameKind.INTERRUPTED, pcs[0], {}), *(Frame(FrameKind.CALLER, pc, {}) for pc in pcs)]
        named = symbolize((LoadedImage(damaged),), frames)
        assert time.process_time() - start < SECONDS
        assert [f.pc for f in named.frames if f.origin is Origin.PHYSICAL] == [frame.pc for frame in frames]
        assert all(isinstance(problem, DebugInfoError) for problem in named.problems)


def test_abstract_origins_in_a_circle_are_an_error_and_the_function_is_missing() -> None:
    first = first_child()
    one, two = instance_of(first + 5), instance_of(first)  # each 5 bytes: they name each other
    image = image_of(one, two, function("f", BASE, 0x40, inlined(first, BASE + 8, 8)), function("g", BASE + 0x40, 0x40))
    info = debug_info(image)
    assert [f.name for f in info.functions] == ["g"]
    [problem] = info.problems
    assert "cycle" in problem.detail and problem.section == ".debug_info"
    assert "hand-made: .debug_info+0x" in str(problem)


def test_an_origin_that_is_no_entry_is_an_error() -> None:
    info = debug_info(image_of(function("f", BASE, 0x40, inlined(0x7FFF, BASE + 8, 8))))
    assert info.functions == ()
    assert "0x7fff is no entry" in info.problems[0].detail


@pytest.mark.parametrize("low", [0, BASE - 8, BASE + SIZE - 4, BASE + SIZE, -1, -4])
def test_a_range_that_leaves_the_image_names_nothing(low: int) -> None:
    image = image_of(function("gone", low, 0x10), function("f", BASE + 0x100, 0x10))
    info = debug_info(image)
    assert [f.name for f in info.functions] == ["f"]
    assert info.function_at(low) is None
    assert info.problems == ()  # a linker's tombstone is no damage


def test_an_inlined_range_outside_names_nothing_and_an_inside_one_does() -> None:
    first = first_child()
    calls = (inlined(first, 0x9000, 8), inlined(first, BASE + 8, 8))
    info = debug_info(image_of(abstract("inner"), function("f", BASE, 0x40, *calls)))
    assert [call.name for call in info.inlined_at(BASE + 8)] == ["inner"]
    assert info.inlined_at(BASE + 16) == ()
    assert info.inlined_at(0x9000) == ()


def test_nesting_without_end_is_an_error() -> None:
    first = first_child()
    deep = b""
    for _ in range(600):
        deep = inlined(first, BASE, 8, deep)
    info = debug_info(image_of(abstract("inner"), function("f", BASE, 0x40, deep)))
    assert info.functions == ()
    assert "nested deeper" in info.problems[0].detail


def test_an_image_without_debug_information_has_no_problems() -> None:
    info = debug_info(image_of())
    assert (info.functions, info.tables, info.problems) == ((), (), ())
    assert info.line_at(BASE) is None
    assert info.function_at(BASE) is None
