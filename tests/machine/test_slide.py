"""Images that may lie anywhere are slid, and nothing about a run but its addresses changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import Built, build
from testbed.build.recipes import RECIPES
from testbed.image import Image, LoadedImage, Segment
from testbed.machine import record
from testbed.machine.load import SLIDE, map_image
from testbed.report.json_data import run_data
from testbed.runs.judging import judge_all
from testbed.runs.program_file import run_file
from testbed.runs.run import Run, run_built
from testbed.trace import Exited
from testbed.truth import observe
from testbed.words.errors import ImageError, UsageError
from tests.image.macho_files import LIBRARY, File, program
from unwinders import UNWINDERS

TARGETS = [("x86_64", "macho-O2-nofp"), ("x86_64", "macho-O0"), ("arm64", "macho-O2"), ("arm64", "macho-O2-dwarf")]


def made(arch: str, recipe: str, name: str = "function_pointers") -> Built:
    return build(PROGRAMS[name], ARCHES[arch], RECIPES[recipe])


def run_at(built: Built, bias: int) -> Run:
    trace = record(LoadedImage(built.image, bias))
    return Run(built, trace, observe(trace))


def test_an_image_that_may_lie_anywhere_is_slid_and_others_are_not() -> None:
    slid = record(made("arm64", "macho-O2").image)
    assert [loaded.bias for loaded in slid.images] == [SLIDE]
    assert SLIDE % 0x4000 == 0 < SLIDE, "Apple's arm64 pages have 16 KiB"
    assert slid.end == Exited(173)
    assert int(slid.pc[0]) == slid.images[0].image.entry + SLIDE
    fixed = record(made("arm64", "clang-O2").image)
    assert [loaded.bias for loaded in fixed.images] == [0]


@pytest.mark.parametrize(("arch", "recipe"), TARGETS)
def test_a_run_is_the_same_at_every_bias(arch: str, recipe: str) -> None:
    """Instructions, truth and every strategy's verdicts; the pointers in the program's own table are moved too."""
    built = made(arch, recipe)
    plain = run_at(built, 0)
    assert plain.failure == ""
    for bias in (SLIDE, 0x7000_0000_0000):
        slid = run_at(built, bias)
        assert slid.failure == ""
        assert np.array_equal(slid.trace.pc, plain.trace.pc + np.uint64(bias))
        assert slid.watched.node.tolist() == plain.watched.node.tolist()
        for unwinder in UNWINDERS.values():
            if unwinder.applies_to(built.image):
                outcomes = [[verdict.outcome for verdict in judge_all(run, unwinder)] for run in (plain, slid)]
                assert outcomes[0] == outcomes[1], unwinder.name


@pytest.mark.parametrize(("arch", "recipe"), TARGETS)
def test_names_and_locations_of_a_slid_run(arch: str, recipe: str) -> None:
    run = run_built(made(arch, recipe))
    image = run.loaded.image
    main = image.symbol_named("main")
    assert main is not None
    at = run.at("main")
    assert at.pc == main.address + SLIDE
    assert run.where(at.pc + 4) == "main+0x4"
    assert run.step_at("twice") == run.trace.pc.tolist().index(at.pc - main.address + address_of(image, "twice"))
    assert run.frame_names(run.truth(run.step_at("twice")).frames) == ("twice", "apply", "main", "_start")
    steps = run.steps_in("main")
    assert steps and all(main.address <= int(run.trace.pc[step]) - SLIDE < main.address + main.size for step in steps)
    data = run_data(run, [])
    first = data["instructions"][data["steps"]["instruction"][run.step_at("main")]]
    assert (first["symbol"], first["offset"], first["pc"]) == ("main", 0, main.address + SLIDE)


def address_of(image: Image, name: str) -> int:
    symbol = image.symbol_named(name)
    assert symbol is not None
    return symbol.address


def test_the_words_that_hold_addresses_are_moved_and_no_others() -> None:
    """A table of 8-byte pointers across the end of a page, at an odd place."""
    start, words = 0x10_0000, (0xFFC, 0x1004)
    content = bytearray(0x2000)
    for at, value in zip(words, (0x10_1234, 0xFFFF_FFFF_FFFF_FFF0), strict=True):
        content[at : at + 8] = value.to_bytes(8, "little")
    segment = Segment(start, bytes(content), len(content), True, True, False)
    arch = ARCHES["arm64"]
    image = Image(Path("x"), arch, start, (segment,), {}, (), rebases=tuple(start + at for at in words))
    (mapping,) = map_image(LoadedImage(image, 0x4_0000))
    moved = bytearray(content)
    for at, value in zip(words, (0x14_1234, 0x3_FFF0), strict=True):  # wraps at the word
        moved[at : at + 8] = value.to_bytes(8, "little")
    assert (mapping.address, mapping.data) == (start + 0x4_0000, bytes(moved))
    (mapping,) = map_image(LoadedImage(image))
    assert mapping.data == bytes(content)
    outside = Image(Path("x"), arch, start, (segment,), {}, (), rebases=(start + 0x1FFC,))
    with pytest.raises(ImageError, match="a word to rebase at 0x101ffc is not in a segment"):
        map_image(LoadedImage(outside, 0x4_0000))


# Files from elsewhere


def test_a_mach_o_file_from_elsewhere_runs(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(made("x86_64", "macho-O2").path.read_bytes())
    run = run_file(path)
    assert (run.failure, run.ending, run.loaded.bias) == ("", "exit 173", SLIDE)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (program(kind=LIBRARY), "has no entry point in its code"),
        (program().add(0x8000_0028, (0x1028).to_bytes(16, "little")), "has no entry point in its code"),
        (program().symbols(("_puts", 1, 0, 0), ("_exit", 1, 0, 0)), "imports puts, exit; only programs that need no"),
    ],
)
def test_a_file_that_is_no_program_of_its_own_is_refused(tmp_path: Path, content: File, said: str) -> None:
    path = tmp_path / "other"
    path.write_bytes(content.bytes())
    with pytest.raises(UsageError, match=said):
        run_file(path)
