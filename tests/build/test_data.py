"""Directives of data, small and extreme, as every assembler writes them."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch, Isa
from testbed.build import Built, build, link
from testbed.build.compile import assemble
from testbed.build.keystone import AssembledCode
from testbed.build.link import assemble_program
from testbed.build.recipes import RECIPES, recipes_for
from testbed.build.statements import Data, Fill, Label, SourceInstruction, Statement
from testbed.contract.rows import RegisterPlus, Rule, UnwindRow
from testbed.image import Image, read_image
from testbed.program.model import Source, program_from_text
from testbed.words.errors import BuildError
from tests.build.data_sources import data_sources, large_expressions
from tests.build.snippets import SNIPPETS
from unwinders.formats.cfi import cfi_index
from unwinders.formats.ehabi import IndexEntry, exception_index, operation_bytes
from unwinders.formats.orc import orc_index
from unwinders.formats.sframe import sframe_index

ALL_ISAS = [(arch, isa) for arch in ARCHES.values() for isa in arch.isas]


def read(text: str, arch: Arch, isa: Isa) -> Source:
    return program_from_text("t", arch, text, isa=isa.name).sources[isa.name]


def image(folder: Path, content: bytes) -> Image:
    path = folder / "t.elf"
    path.write_bytes(content)
    return read_image(path)


def said_of_each_byte(built: Image) -> list[Isa | None]:
    """What the mapping symbols say: an instruction set, or data. Two at one address: the last one holds."""
    text = built.sections[".text"]
    marks = dict(built.isa_marks)
    said: list[Isa | None] = []
    for address in range(text.address, text.address + len(text.data)):
        said.append(marks[address] if address in marks else said[-1] if said else None)
    return said


@pytest.mark.parametrize(("arch", "isa"), ALL_ISAS, ids=lambda value: value.name)
def test_random_data_is_what_clang_makes_of_it(arch: Arch, isa: Isa, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("data")

    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data_sources(isa.name))
    def same(text: str) -> None:
        source = read(text, arch, isa)
        ours = image(folder, assemble_program(source, arch, isa))
        clangs = image(folder, assemble(source, arch, isa, ()))
        assert ours.sections[".text"].data.hex() == clangs.sections[".text"].data.hex()
        assert said_of_each_byte(ours) == said_of_each_byte(clangs)
        assert ours.symbols == tuple(s for s in clangs.symbols if not s.name.startswith(".L0"))

    same()


def test_expressions_of_64_bits_are_what_clang_makes_of_them(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder, arch = tmp_path_factory.mktemp("large"), ARCHES["x86_64"]

    @settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(large_expressions(), min_size=40, max_size=40))
    def same(expressions: list[str]) -> None:
        source = read(
            ".globl _start\n_start: nop\n" + "".join(f".8byte {text}\n" for text in expressions), arch, arch.isas[0]
        )
        ours = image(folder, assemble_program(source, arch, arch.isas[0])).sections[".text"].data
        clangs = image(folder, assemble(source, arch, arch.isas[0], ())).sections[".text"].data
        for number, text in enumerate(expressions):
            assert ours[8 * number + 1 :][:8] == clangs[8 * number + 1 :][:8], text

    same()


# what an instruction set is asked, where that is refused, and why
REFUSED = [
    *(
        ("x86_64", f"_start: nop\n .8byte {text}\n", rf"2:\d+: .*{why}")
        for text, why in (
            ("-0x8000000000000000 / -1", "a quotient of more than 64 bits"),
            ("-0x8000000000000000 % -1", "a quotient of more than 64 bits"),
            ("1 << 64", "a shift by 64; 0 to 63 are possible"),
            ("0x10000000000000000", "a number of more than 64 bits"),
            ("1 / (2 - 2)", "by zero"),
        )
    ),
    # an instruction where none can be
    *(
        (isa, "_start:\n .byte 1\nother: nop\n", rf"3:8: an instruction at 0x410\w+, no multiple of {boundary}: ")
        for isa, boundary in (("thumb", 2), ("a32", 4), ("arm64", 4))
    ),
    # an offset of more than 63 bits
    *(
        (
            "x86_64",
            f"_start:\n.cfi_startproc\n nop\n {directive}\n nop\n.cfi_endproc\n",
            r"4:\d+: the offset 0x[8f]\w+ has more than 64 bits with its sign",
        )
        for directive in (".cfi_def_cfa_offset 0x8000000000000000", ".cfi_def_cfa rsp, 0xffffffffffffffff")
    ),
]


@pytest.mark.parametrize(("isa", "text", "said"), REFUSED)
def test_what_cannot_be_is_refused_with_its_place(isa: str, text: str, said: str) -> None:
    arch, chosen = next((arch, each) for arch, each in ALL_ISAS if each.name == isa)
    with pytest.raises(BuildError, match=rf"^t\.{isa}\.S:{said}"):
        assemble_program(read(text, arch, chosen), arch, chosen)


def test_a_table_of_bytes_behind_an_odd_byte_stays_where_it_is() -> None:
    """A ``tbb`` table: its entries are bytes, its labels lie at odd addresses."""
    text = ".thumb\n_start: nop\n.La: .byte 0x11\n.Lb: .byte 0x22, .Lb - .La, 0x33\n.Lc: .2byte .Lc - .Lb\n"
    arch = ARCHES["arm32"]
    content = assemble_program(read(text, arch, arch.isas[1]), arch, arch.isas[1])
    assert bytes.fromhex("00bf 11 2201 33 0300") in content


# Directives with operands that are mistyped or overflow: a right table, or an error with its place.


_EDGES = sorted(
    {
        sign * (1 << bits) + more
        for bits in (0, 3, 7, 8, 15, 31, 32, 62, 63, 64, 70)
        for sign in (1, -1)
        for more in (-8, -1, 0, 1, 8)
    }
)
_ODD = [
    "",
    "08",
    "0x",
    "9" * 5000,
    "1 / 0",
    "1 << 63",
    "1 << 100000000000",
    "-(1 << 62) * 2",
    "~0",
    "1 +",
    "((((1",
    "f",
    ".",
    "here",
    "1e9",
]
numbers = st.one_of(
    st.sampled_from(_EDGES).map(str), st.integers(-64, 64).map(lambda n: str(8 * n)), st.sampled_from(_ODD)
)
_REGISTERS = {
    "x86_64": [
        "rsp",
        "rbp",
        "rbx",
        "rip",
        "r15",
        "rflags",
        "xmm0",
        "0",
        "6",
        "16",
        "33",
        "200",
        "-1",
        str(1 << 40),
        "",
    ],
    "arm64": ["sp", "x29", "x30", "lr", "x19", "d8", "w1", "29", "34", "72", "300", str(1 << 40), ""],
    "arm32": ["sp", "r4", "r7", "r11", "lr", "pc", "d8", "13", "264", "80", str(1 << 40), ""],
}
_LISTS = [
    "{r4, lr}",
    "{r0-r3}",
    "{r4-r11, lr}",
    "{}",
    "{r11-r4}",
    "{r4-r99999999999999999999}",
    "{d8-d15}",
    "{d0-d31}",
    "{d31}",
    "{r4",
    "{sp}",
    "{q0}",
]
_PRESENT = {"x86_64": (".eh_frame",), "arm64": (".eh_frame",), "arm32": (".debug_frame",)}


@st.composite
def sources(draw: st.DrawFn, arch: Arch) -> str:
    """A function with a few directives, most of them in order, with operands of every kind and number."""
    register = st.sampled_from(_REGISTERS[arch.name])
    number = numbers.map(lambda text: "#" + text if arch.name == "arm32" and draw(st.booleans()) else text)
    operand = {
        "reg": register,
        "off": number,
        "list": st.sampled_from(_LISTS),
        "bytes": st.lists(st.one_of(st.integers(0, 255).map(str), numbers), min_size=1, max_size=12).map(", ".join),
    }
    shapes = _CFI_SHAPES if arch.name != "arm32" or draw(st.booleans()) else _EHABI_SHAPES
    lines = []
    for name, kinds in draw(st.lists(st.sampled_from(shapes), max_size=5)):
        given_kinds = list(kinds)
        if draw(st.integers(0, 9)) == 0:
            given_kinds = draw(st.permutations([*kinds, "off"]))
        lines += [f"{name} {', '.join(draw(operand[kind]) for kind in given_kinds)}".rstrip(), "nop"]
    body = "\n".join(lines)
    start, end = (".cfi_startproc", ".cfi_endproc") if shapes is _CFI_SHAPES else (".fnstart", ".fnend")
    head = ".cfi_sections .debug_frame\n" if arch.name == "arm32" else ""
    return f"{head}_start:\n{start}\nnop\n{body}\nnop\n{end}\n"


_CFI_SHAPES = [
    *((f".cfi_{name}", ("reg", "off")) for name in ("def_cfa", "offset", "rel_offset", "val_offset")),
    *((f".cfi_{name}", ("off",)) for name in ("def_cfa_offset", "adjust_cfa_offset", "def_cfa_offset")),
    *(
        (f".cfi_{name}", ("reg",))
        for name in ("def_cfa_register", "restore", "undefined", "same_value", "return_column")
    ),
    *(
        (f".cfi_{name}", ())
        for name in ("remember_state", "restore_state", "signal_frame", "negate_ra_state", "b_key_frame")
    ),
    (".cfi_register", ("reg", "reg")),
    (".cfi_escape", ("bytes",)),
]
_EHABI_SHAPES = [
    (".save", ("list",)), (".vsave", ("list",)), (".pad", ("off",)), (".setfp", ("reg", "reg", "off")),
    (".movsp", ("reg", "off")),
    (".unwind_raw", ("off", "bytes")), (".personalityindex", ("off",)), (".personality", ("off",)), (".cantunwind", ()),
    (".handlerdata", ()), (".word", ("off", "off")), (".setfp", ("reg", "reg")),
]  # fmt: skip


def read_of_extreme_directives(text: str, arch: Arch) -> Source:
    return program_from_text("t", arch, text).sources[arch.isas[0].name]


def code_of_nops(statements: list[Statement], arch: Arch, base: int) -> AssembledCode:
    """In place of keystone: every instruction is a no-operation, and no process is started."""
    addresses, labels, at = [], {}, base
    for statement in statements:
        addresses.append(at)
        match statement:
            case Label(name=name):
                labels[name] = at
            case SourceInstruction():
                at += 1 if arch.link is None else 4
            case Data(size=size, values=values):
                at += size * len(values)
            case Fill(content=content):
                at += len(content)
    return AssembledCode(base, bytes(at - base), tuple(addresses), labels)


def rows(built: Image) -> list[UnwindRow]:
    """What our reader finds in the section of DWARF's rules. clang writes a negative CFA
    offset as 64 unsigned bits, and in `.debug_frame` says of no frame that it is a signal's."""
    found = [name for name in (".eh_frame", ".debug_frame") if name in built.sections]
    return [
        replace(row, found_by="", cfa=_wrapped(row.cfa), signal_frame=row.signal_frame and name == ".eh_frame")
        for name in found
        for row in cfi_index(built, name).all_rows()
    ]


def _wrapped(rule: Rule | None) -> Rule | None:
    return replace(rule, offset=rule.offset % (1 << 64)) if isinstance(rule, RegisterPlus) else rule


@pytest.fixture
def without_keystone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "assemble_code", code_of_nops)
    monkeypatch.setattr(link, "compare_with_clang", lambda *_: None)


@pytest.mark.usefixtures("without_keystone")
@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_any_directives_give_tables_or_an_error_with_a_place(arch: Arch, tmp_path: Path) -> None:
    outcomes = set()

    @settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
    @given(sources(arch))
    def works(text: str) -> None:
        try:
            content = link.assemble_program(read_of_extreme_directives(text, arch), arch, arch.isas[0])
        except BuildError as error:
            outcomes.add("refused" if str(error).startswith(f"t.{arch.isas[0].name}.S:") else str(error))
            return
        built = image(tmp_path, content)
        for table, section in ((sframe_index, ".sframe"), (orc_index, ".orc_unwind")):
            if section in built.sections:
                assert len(table(built).all_rows()) >= 0
        if ".ARM.exidx" in built.sections:
            for entry in exception_index(built):
                if isinstance(entry, IndexEntry) and not entry.cannot_unwind:
                    operation_bytes(built, entry)
        outcomes.add("built")

    works()
    assert outcomes == {"built", "refused"}


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_what_is_taken_says_what_clang_makes_of_it(arch: Arch, tmp_path: Path) -> None:
    compared = 0

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(sources(arch))
    def same(text: str) -> None:
        nonlocal compared
        source = read_of_extreme_directives(".text\n" + text.replace("_start:", ".globl _start\n_start:"), arch)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(link, "assemble_code", code_of_nops)
            patch.setattr(link, "compare_with_clang", lambda *_: None)
            try:
                ours = image(tmp_path, link.assemble_program(source, arch, arch.isas[0]))
                clangs = image(tmp_path, assemble(source, arch, arch.isas[0], ()))
            except BuildError:
                return
        assert rows(ours) == rows(clangs)
        if ".ARM.exidx" in clangs.sections:
            assert operations(ours) == operations(clangs)
        compared += 1

    same()
    assert compared


def operations(built: Image) -> list[tuple[int, list[int]]]:
    """Each function with its unwinding operations; [] where it cannot be unwound."""
    return [
        (entry.start, [] if entry.cannot_unwind else [value for _, value in operation_bytes(built, entry).bytes])
        for entry in exception_index(built)
        if isinstance(entry, IndexEntry)
    ]


# keystone with our own writers, and clang with lld: two ways that share nothing must give the same program.


PAIRS = {"keystone": "clang-asm", "keystone-thumb": "clang-asm-thumb"}
readelf = pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is missing: apt-get install binutils")
gdb = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is missing: apt-get install gdb")


def cells() -> Iterator[Any]:
    for name, (arch_name, isa, text) in SNIPPETS.items():
        program = program_from_text(f"snippet_{name}", ARCHES[arch_name], text, isa=isa)
        recipe = "keystone-thumb" if isa == "thumb" else "keystone"
        yield pytest.param((program, ARCHES[arch_name], recipe), id=f"snippet-{name}")
    for program in PROGRAMS.values():
        for arch in ARCHES.values():
            names = [recipe.name for recipe in recipes_for(program, arch)]
            for name in (name for name in names if PAIRS.get(name) in names):
                yield pytest.param((program, arch, name), id=f"{program.name}-{arch}-{name}")


@pytest.fixture(params=cells())
def pair(request: pytest.FixtureRequest) -> tuple[Built, Built]:
    program, arch, recipe = request.param
    return build(program, arch, RECIPES[recipe]), build(program, arch, RECIPES[PAIRS[recipe]])


def printed(built: Built, *options: str) -> str:
    done = subprocess.run(["readelf", "-W", *options, str(built.path)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def entries(text: str) -> list[str]:
    """The CIEs and FDEs of a readelf listing, without where in the section they stand, in order."""
    text = re.sub(r"(?m)^[0-9a-f]{8} ([0-9a-f]+) [0-9a-f]+ |cie=[0-9a-f]+", r"\1 ", text)
    return [re.sub(r"^[0-9a-f]+", "", part).strip() for part in text.split("\n\n") if "pc=" in part or "CIE" in part]


def test_the_code_is_the_same_byte_for_byte(pair: tuple[Built, Built]) -> None:
    ours, clangs = pair
    assert ours.image.sections[".text"].data == clangs.image.sections[".text"].data
    assert ours.image.entry == clangs.image.entry


def test_symbols_and_mapping_symbols_are_the_same(pair: tuple[Built, Built]) -> None:
    ours, clangs = pair
    # clang leaves a nameless ".L0 " of its own in some files.
    assert ours.image.symbols == tuple(s for s in clangs.image.symbols if not s.name.startswith(".L"))
    assert [s for s in ours.image.symbols if s.is_function]
    assert ours.image.isa_marks == clangs.image.isa_marks


@readelf
def test_call_frame_instructions_are_the_same(pair: tuple[Built, Built]) -> None:
    ours, clangs = (sorted(entries(printed(built, "--debug-dump=frames"))) for built in pair)
    assert ours == clangs
    assert len(ours) > 1


@readelf
def test_exception_tables_are_the_same(pair: tuple[Built, Built]) -> None:
    if ".ARM.exidx" not in pair[1].image.sections:
        assert ".ARM.exidx" not in pair[0].image.sections
        return
    ours, clangs = (re.sub(r"@0x[0-9a-f]+", "@", printed(built, "-u")).partition("contains")[2] for built in pair)
    assert ours == clangs
    sizes = [len(section.data) if section else 0 for b in pair if [section := b.image.sections.get(".ARM.extab")]]
    assert sizes[0] == sizes[1]


@readelf
def test_readelf_finds_nothing_to_warn_of(pair: tuple[Built, Built]) -> None:
    said = printed(pair[0], "-a")
    assert "arning" not in said
    assert "PT_LOAD" in said or "LOAD" in said


@readelf
def test_the_search_table_lists_every_entry_sorted(pair: tuple[Built, Built]) -> None:
    ours = pair[0].image
    if ".eh_frame_hdr" not in ours.sections:
        assert ".eh_frame" not in ours.sections
        return
    header = ours.sections[".eh_frame_hdr"]
    words = [int.from_bytes(header.data[i : i + 4], "little", signed=True) for i in range(4, len(header.data), 4)]
    assert header.data[:4] == bytes([1, 0x1B, 0x03, 0x3B])
    assert header.address + 4 + words[0] == ours.sections[".eh_frame"].address
    starts = [header.address + word for word in words[2::2]]
    assert len(starts) == words[1]
    listed = re.findall(r"pc=0*([0-9a-f]+)\.\.", printed(pair[0], "--debug-dump=frames").partition(".debug_frame")[0])
    assert starts == sorted(int(pc, 16) for pc in listed)
    frame = ours.sections[".eh_frame"]
    for start, entry in zip(starts, words[3::2], strict=True):
        at = header.address + entry - frame.address
        distance = int.from_bytes(frame.data[at + 8 : at + 12], "little", signed=True)
        assert frame.address + at + 8 + distance == start


@gdb
def test_gdb_reads_the_file(tmp_path: Path) -> None:
    arch_name, isa, text = SNIPPETS["x86_64"]
    built = build(
        program_from_text("snippet_x86_64", ARCHES[arch_name], text, isa=isa), ARCHES[arch_name], RECIPES["keystone"]
    )
    done = subprocess.run(
        ["gdb", "-nx", "-batch", "-ex", "disassemble f", str(built.path)], capture_output=True, text=True, check=True
    )
    assert "Dump of assembler code for function f" in done.stdout
    assert "warning" not in done.stderr.lower()
