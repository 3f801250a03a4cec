"""What `testbed export` writes and `testbed.foreign` reads is the same machine to every unwinder."""

from dataclasses import replace
from pathlib import Path

import pytest

import testbed
from programs import PROGRAMS
from testbed.build.recipes import recipes_for
from testbed.export.write import FORMATS, write_snapshot
from testbed.foreign import read_snapshot
from testbed.foreign.model import Dump, Module
from testbed.foreign.program_files import loaded_images
from testbed.image import LoadedImage
from testbed.image.macho import MACH_O
from testbed.trace import Snapshot
from tests.foreign.small import HERE, small
from tests.unwinders.said import said
from unwinders import UNWINDERS

UNITS = [
    *(
        (name, arch.name, None)
        for name, program in PROGRAMS.items()
        for arch in program.arches()
        if recipes_for(program, arch)
    ),
    *(("alloca_vla", arch, "macho-O2") for arch in ("x86_64", "arm64")),
    *(("leaf_call", "arm32", recipe) for recipe in ("keystone-thumb", "clang-asm-thumb")),
    *(("alloca_vla", "arm32", recipe) for recipe in ("clang-O2", "clang-thumb-O2-fp")),
]
STEPS = 3  # a run is cut in so many parts: what is looked at is between them


@pytest.mark.parametrize(("name", "arch", "recipe"), UNITS, ids=lambda part: str(part))
def test_every_unwinder_says_the_same_of_a_file_that_was_read_back(
    name: str, arch: str, recipe: str | None, tmp_path: Path
) -> None:
    run = testbed.run(name, arch=arch, recipe=recipe)
    unwinders = [unwinder for unwinder in UNWINDERS.values() if unwinder.applies_to(run.built.image)]
    assert unwinders
    for step in sorted({len(run) * i // STEPS for i in range(1, STEPS)}):
        snapshot = run[step]
        for how in FORMATS.values():
            if how.name == "macho-core" and MACH_O[snapshot.arch.name] is None:
                continue
            path = tmp_path / f"{step}{how.suffix}"
            write_snapshot(snapshot, path, how)
            back = read_snapshot(path, HERE).snapshot
            assert back.registers == snapshot.registers
            assert [image.bias for image in back.images] == [image.bias for image in snapshot.images]
            expected = snapshot if how.name == "json" else without_frame_records(snapshot)
            for unwinder in unwinders:
                assert said(unwinder.unwind(back)) == said(unwinder.unwind(expected)), (
                    f"{how.name}, {unwinder}, step {step}"
                )


def without_frame_records(snapshot: Snapshot) -> Snapshot:
    """Which layout its frame records have is said by no program file, core or minidump."""
    images = tuple(LoadedImage(replace(i.image, frame_records={}), i.bias) for i in snapshot.images)
    return replace(snapshot, images=images, step=None)


def test_a_file_that_is_mapped_in_part_is_placed_by_the_mappings_offset(tmp_path: Path) -> None:
    """A core of a process that unmapped the header of a program, or dumped its code alone, names an offset."""
    image = small("x86_64").images[0].image
    code = next(segment for segment in image.segments if segment.executable and segment.offset >= 0x1000)
    page = code.offset & -0x1000
    there = 0x7F00_0000_0000
    module = Module(str(image.path), there, 0, offset=page)
    dump = Dump(tmp_path / "core", "ELF core", image.arch, small("x86_64").registers, (), (module,))
    (loaded,), _ = loaded_images(dump, HERE)
    assert code.address + loaded.bias == there + code.offset - page
