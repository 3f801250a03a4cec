"""SFrame tables of GNU as 2.40 (version 1, x86_64 and arm64) and GNU ld: what ours and `.eh_frame` say, at every pc.

The independent reader is ``readelf --sframe``, which reads version 1 in binutils 2.40.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.build import Built
from testbed.build.recipes import PREBUILT, RECIPES
from testbed.build.tables.sframe import ABIS
from testbed.contract.rows import Offset, RegisterPlus, UnwindRow
from testbed.image import Image
from testbed.program.model import Program
from testbed.runs.judging import judge_all
from testbed.runs.run import run_built
from tests.unwinders import producers
from unwinders.formats.sframe import sframe_table
from unwinders.tables.sframe import SFRAME

C_PROGRAMS = [
    program
    for program in PROGRAMS.values()
    if (source := RECIPES["clang-O2"].source_of(program, ARCHES["x86_64"])) and not source.header.sources
]
# GNU as 2.40 restores a remembered state without the place of the return address: wrong where there is a link register.
FORGOTTEN = ("genc_17", "genc_61")
GNU_CASES = [
    pytest.param(program, arch, flag, id=f"{program.name}-{arch}{flag[2:]}")
    for program in C_PROGRAMS
    for arch in ARCHES.values()
    if ABIS[arch.name] is not None
    if not (arch.link and program.name in FORGOTTEN)
    for flag in ("-fomit-frame-pointer", "-fno-omit-frame-pointer")
]


@pytest.mark.parametrize(("program", "arch", "flag"), GNU_CASES)
def test_gnu_as_writes_version_1_and_it_is_right(program: Program, arch: Arch, flag: str, tmp_path: Path) -> None:
    """Against readelf, and at every instruction of the run."""
    source = program.source_for(arch.isas[0])
    assert source is not None
    whole = producers.compiled(producers.written(source, tmp_path), arch, tmp_path, "-O2", flag)
    image = producers.by_gnu_as(whole, arch, tmp_path)
    assert image.sections[".sframe"].data[2] == 1
    table = sframe_table(image)
    assert [readelf_words(row, image) for row in table] == readelf_rows(image, tmp_path)
    built = Built(program, arch, PREBUILT, arch.isas[0], source, image.path, image)
    run = run_built(built)
    assert not run.failure
    verdicts = judge_all(run, SFRAME)
    assert [verdict.depth for verdict in verdicts] == [len(run.truth(step)) for step in range(len(run))]
    # Version 1 cannot say that a frame is the outermost one. On x86_64 the zero where its return address would be
    # says it; on arm64 the link register still has what the last call left there.
    besides = set() if arch.link is None else {"phantom", "stopped"}
    assert {verdict.outcome.value for verdict in verdicts} <= {"exact"} | besides


def readelf_words(row: UnwindRow, image: Image) -> tuple[int, str, str, str]:
    """A row as ``readelf --sframe`` prints it. What has a fixed place, or none, it prints as `u`."""
    arch = image.arch
    assert isinstance(row.cfa, RegisterPlus)
    base = {arch.sp: "sp", arch.frame_pointers[0]: "fp"}[row.cfa.register]
    places = (row.registers.get(arch.frame_pointers[0]), row.registers.get(row.return_address) if arch.link else None)
    fp, ra = (f"c{rule.offset:+d}" if isinstance(rule, Offset) else "u" for rule in places)
    return row.start, f"{base}{row.cfa.offset:+d}", fp, ra


def readelf_rows(image: Image, folder: Path) -> list[tuple[int, str, str, str]]:
    text = producers.run(producers.tool("readelf", "binutils"), "--sframe=.sframe", image.path, cwd=folder)
    row = re.compile(r"^ +(?P<pc>[0-9a-f]{8,16}) +(?P<cfa>\S+) +(?P<fp>\S+) +(?P<ra>\S+?)(?:\[s\])? *$", re.M)
    return [(int(m["pc"], 16), m["cfa"], m["fp"], m["ra"]) for m in row.finditer(text)]
