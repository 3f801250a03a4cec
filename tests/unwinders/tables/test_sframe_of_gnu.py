"""SFrame tables of GNU as 2.40 (version 1, x86_64 and arm64) and GNU ld: what ours and `.eh_frame` say, at every pc.

The independent reader is ``readelf --sframe``, which reads version 1 in binutils 2.40.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.build import Built, build
from testbed.build.load_addresses import TEXT_BASE
from testbed.build.recipes import PREBUILT, RECIPES
from testbed.campaign.results import Unit
from testbed.contract.frames import Frame, FrameKind
from testbed.contract.rows import RA_SIGNED, AtCfa, RegisterPlus, RowTable, SameValue, Undefined, UnwindRow
from testbed.image import Image, read_elf
from testbed.program.model import Program
from testbed.runs.judging import judge_all
from testbed.runs.run import run_built
from tests.unwinders import producers
from tests.unwinders.compact_rows import WITH_NUMBER, WRITTEN, Meaning, assert_equal_at_every_pc, meaning
from tests.unwinders.frames import snapshot
from unwinders.formats.cfi import cfi_table
from unwinders.formats.reader import Reader
from unwinders.formats.sframe import read_functions, read_header, sframe_table
from unwinders.rows.apply import apply
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
    for arch in WITH_NUMBER
    if not (arch.link and program.name in FORGOTTEN)
    for flag in ("-fomit-frame-pointer", "-fno-omit-frame-pointer")
]


@pytest.mark.parametrize("unit", [unit for unit in WRITTEN if unit.arch == "arm64"], ids=str)
def test_gnu_as_writes_what_we_write(unit: Unit, tmp_path: Path) -> None:
    """Version 1 of binutils 2.40 beside our version 2; it has no row for the outermost frame.

    Where its rows are not ours, they contradict the `.eh_frame` that it wrote itself: see the next test.
    """
    arch = ARCHES[unit.arch]
    source = PROGRAMS[unit.program].source_for(arch.isas[0])
    assert source is not None
    ours = build(PROGRAMS[unit.program], arch, RECIPES["keystone"]).image
    producers.run(
        producers.gnu(arch, "as"), "--gsframe", producers.written(source, tmp_path), "-o", "gnu.o", cwd=tmp_path
    )
    at = f"-Ttext={TEXT_BASE:#x}"
    producers.run(producers.gnu(arch, "ld"), "-static", at, "-e", "_start", "gnu.o", "-o", "gnu.elf", cwd=tmp_path)
    gnus = read_elf(tmp_path / "gnu.elf")
    assert len(gnus.sections[".text"].data) == len(ours.sections[".text"].data)
    table, eh_frame, written = sframe_table(gnus), cfi_table(gnus, ".eh_frame"), sframe_table(ours)
    compared = 0
    for row in written:
        for pc in range(row.start, row.end):
            said, meant, here = (meaning(t.at(pc), ours) for t in (table, eh_frame, written))
            assert here == meant, f"{pc:#x}"
            if said is not None and not isinstance(here and here[1], Undefined) and said == meant:
                assert said == here
                compared += 1
    assert compared > 10


@pytest.mark.parametrize(
    ("directives", "wrong"),
    [
        # The CFA's register changes at the pc at which its offset changed.
        (("nop", ".cfi_def_cfa_offset 16", ".cfi_offset 29, -16", ".cfi_offset 30, -8", ".cfi_def_cfa_register 29"),
         (RegisterPlus("x29", 0), AtCfa(-8), AtCfa(-16))),
        # What is restored is taken to be the function's first row, not what the ABI says.
        ((".cfi_def_cfa_offset 16", ".cfi_offset 30, -8", "nop", ".cfi_def_cfa_offset 0", ".cfi_restore 30"),
         (RegisterPlus("sp", 0), AtCfa(-8), SameValue())),
    ],
)  # fmt: skip
def test_gnu_as_2_40_contradicts_its_own_eh_frame(directives: tuple[str, ...], wrong: Meaning, tmp_path: Path) -> None:
    arch = ARCHES["arm64"]
    # A function before it, whose CIE it shares: alone, its first rules would be the CIE's, and so what is restored.
    lines = [".globl f", ".cfi_startproc", "ret", ".cfi_endproc", ".type f, %function", "f:", ".cfi_startproc"]
    lines += [*directives, "nop", "ret"]
    (tmp_path / "f.s").write_text("\n".join((*lines, ".cfi_endproc", ".size f, . - f", "")), encoding="utf-8")
    version = producers.run(producers.gnu(arch, "as"), "--version", cwd=tmp_path).splitlines()[0]
    if not version.endswith(" 2.40"):
        pytest.skip(f"{version}: this is about 2.40")
    image = producers.by_gnu_as(Path("f.s"), arch, tmp_path, entry="f")
    at = image.entry + 4 * (lines.count("nop") - 1)  # the instruction behind the last directive
    assert meaning(sframe_table(image).at(at), image) == wrong
    assert meaning(cfi_table(image, ".eh_frame").at(at), image) != wrong


@pytest.mark.parametrize(("directive", "key"), [("", "A"), (".cfi_b_key_frame", "B")])
def test_gnu_as_says_where_a_return_address_is_signed_and_with_which_key(
    directive: str, key: str, tmp_path: Path
) -> None:
    arch = ARCHES["arm64"]
    lines = [".globl f", ".type f, %function", "f:", ".cfi_startproc", directive]
    lines += ["nop", ".cfi_negate_ra_state", "nop", ".cfi_negate_ra_state", "ret", ".cfi_endproc", ".size f, . - f"]
    (tmp_path / "f.s").write_text("\n".join((*lines, "")), encoding="utf-8")
    image = producers.by_gnu_as(Path("f.s"), arch, tmp_path, entry="f")
    signed = [RA_SIGNED in row.registers for row in sframe_table(image)]
    assert signed == [False, True, False]
    section = image.sections[".sframe"]
    reader = Reader(".sframe", section.address, section.data)
    ((function,), _) = read_functions(reader, read_header(reader, arch), arch)
    assert function.key == key


@pytest.mark.parametrize(("program", "arch", "flag"), GNU_CASES)
def test_gnu_as_writes_version_1_and_it_is_right(program: Program, arch: Arch, flag: str, tmp_path: Path) -> None:
    """Against `.eh_frame`, against readelf, and at every instruction of the run."""
    source = program.source_for(arch.isas[0])
    assert source is not None
    whole = producers.compiled(producers.written(source, tmp_path), arch, tmp_path, "-O2", flag)
    image = producers.by_gnu_as(whole, arch, tmp_path)
    assert image.sections[".sframe"].data[2] == 1
    table = sframe_table(image)
    assert assert_equal_at_every_pc(image, table, cfi_table(image, ".eh_frame"), roots=False) > 20
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
    fp, ra = (f"c{rule.offset:+d}" if isinstance(rule, AtCfa) else "u" for rule in places)
    return row.start, f"{base}{row.cfa.offset:+d}", fp, ra


def readelf_rows(image: Image, folder: Path) -> list[tuple[int, str, str, str]]:
    text = producers.run(producers.tool("readelf", "binutils"), "--sframe=.sframe", image.path, cwd=folder)
    row = re.compile(r"^ +(?P<pc>[0-9a-f]{8,16}) +(?P<cfa>\S+) +(?P<fp>\S+) +(?P<ra>\S+?)(?:\[s\])? *$", re.M)
    return [(int(m["pc"], 16), m["cfa"], m["fp"], m["ra"]) for m in row.finditer(text)]


def test_gnu_ld_writes_repeated_blocks_for_its_linkage_table(tmp_path: Path) -> None:
    """The rows of a lazy ``.plt``: at every instruction the CFA that the expression in `.eh_frame` computes."""
    arch = ARCHES["x86_64"]
    body = ".cfi_startproc\ncall g@plt\ncall h@plt\nret\n.cfi_endproc\n"
    (tmp_path / "f.s").write_text(f".globl f\n.type f, @function\nf:\n{body}.size f, . - f\n", encoding="utf-8")
    producers.run(producers.gnu(arch, "as"), "--gsframe", "f.s", "-o", "f.o", cwd=tmp_path)
    options = ("-shared", "-z", "lazy", "--ld-generated-unwind-info")
    producers.run(producers.gnu(arch, "ld"), *options, "f.o", "-o", "f.so", cwd=tmp_path)
    image = read_elf(tmp_path / "f.so")
    plt = image.sections[".plt"]
    assert len(plt.data) == 48  # the resolver's stub, then g's and h's: jump, push, jump
    sframe, eh_frame = sframe_table(image), cfi_table(image, ".eh_frame")
    found = []
    for stub, offsets in ((0, (0, 6)), (16, (0, 6, 11)), (32, (0, 6, 11))):
        for pc in (plt.address + stub + offset for offset in offsets):
            cfas = [cfa_at(table, pc, image) for table in (sframe, eh_frame)]
            assert cfas[0] == cfas[1], f"{pc:#x}"
            found.append(cfas[0] - 0x8000)
    assert found == [16, 24, 8, 8, 16, 8, 8, 16]


def cfa_at(table: RowTable, pc: int, image: Image) -> int:
    """What a table's row makes the CFA, with SP at 0x8000."""
    row = table.at(pc)
    assert row is not None
    registers = {"rip": pc, "rsp": 0x8000, "rbp": 0}
    at = snapshot(image.arch, registers, [(0x8000, bytes(64))])
    cfa, _ = apply(row, Frame(FrameKind.INTERRUPTED, pc, registers), at)
    assert cfa is not None
    return cfa
