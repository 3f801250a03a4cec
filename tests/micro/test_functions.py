"""Which pieces of code are functions: not what a linker has put behind them."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.arch import ARCHES
from testbed.checks.check_file import check_file
from testbed.checks.inputs import program_file
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from testbed.image import Image, read_image
from testbed.micro.functions import indexed_ranges, pieces_of, table_ranges, with_merged
from testbed.micro.linkage import with_imports
from testbed.micro.stack_moves import MoveKind, may_be_sized, stack_move
from tests.micro.callers import library

SOURCE = "int g(void);\nint f(void) { return g() + 1; }\nint h(int x) { return g() * x; }\n"


@pytest.fixture(params=list(ARCHES))
def image(request: pytest.FixtureRequest, tmp_path: Path) -> Image:
    """Two functions and the procedure linkage table that they call another one by."""
    source = tmp_path / "f.c"
    source.write_text(SOURCE)
    with program_file(source, request.param, ("-O1",)) as path:
        return read_image(path)


def test_the_procedure_linkage_table_is_no_function(image: Image) -> None:
    assert ".plt" in image.sections
    assert [piece.name for piece in pieces_of(image)] == ["f", "h"]


def test_without_symbols_functions_end_where_their_entries_do(image: Image) -> None:
    named = {(s.address, s.address + s.size) for s in image.symbols if s.is_function}
    pieces = pieces_of(replace(image, symbols=()))
    assert {(piece.start, piece.end) for piece in pieces} == named == set(table_ranges(image))


# Slots of a linkage table by the names of their functions, beside what binutils' disassembler says of them.

CALLS = {"x86_64": "call ext@plt", "arm64": "bl ext", "arm32": "bl ext"}
TARGETS = {"x86_64": "call ext@plt", "arm64": "bl ext@plt", "arm32": "bl ext@plt"}


@pytest.mark.parametrize("arch", CALLS)
def test_the_instruction_of_a_finding_names_the_import_that_it_calls(tmp_path: Path, arch: str) -> None:
    path = tmp_path / "code.s"
    path.write_text(f".text\n.globl f\n.type f, %function\nf:\n{CALLS[arch]}\n{CALLS[arch]}\nnop\n.size f, . - f\n")
    (finding,) = check_file(path, CheckOptions(arch=arch, runs=20, steps=100), READERS).findings
    assert finding.instruction == TARGETS[arch]


LIBRARIES = {
    "/usr/lib/x86_64-linux-gnu/libz.so.1": "objdump",
    "/usr/lib/x86_64-linux-gnu/libgcc_s.so.1": "objdump",
    "/usr/aarch64-linux-gnu/lib/libgcc_s.so.1": "aarch64-linux-gnu-objdump",
    "/usr/arm-linux-gnueabihf/lib/libgcc_s.so.1": "arm-linux-gnueabihf-objdump",
    "/usr/arm-linux-gnueabihf/lib/libm.so.6": "arm-linux-gnueabihf-objdump",
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_slots_are_those_that_a_disassembler_names(library: str) -> None:
    tool = shutil.which(LIBRARIES[library])
    if tool is None or not Path(library).exists():
        pytest.skip(f"{library} or {LIBRARIES[library]} is not installed")
    run = subprocess.run([tool, "-d", library], capture_output=True, text=True, check=True)
    said = re.findall(r"^([0-9a-f]+) <([^>]+@plt)>:$", run.stdout, re.MULTILINE)
    image = read_image(Path(library))
    found = {(s.address, s.name) for s in with_imports(image).symbols if s.name.endswith("@plt")}
    assert found and {(int(address, 16), name.split("@")[0]) for address, name in said} == {
        (address, name.split("@")[0]) for address, name in found
    }


# How an instruction moves SP: by what is no constant of the code, to a copy, or to an alignment.


@pytest.mark.parametrize(
    ("isa", "text", "kind", "sized"),
    [
        ("x86_64", "sub rsp, rax", MoveKind.AMOUNT, True),
        ("x86_64", "lea rsp, [rsp + rax*8]", MoveKind.AMOUNT, True),
        ("x86_64", "mov rsp, rax", MoveKind.COPY, True),
        ("x86_64", "mov rsp, rbp", MoveKind.COPY, False),
        ("x86_64", "leave ", MoveKind.COPY, False),
        ("x86_64", "sub rsp, 0x20", None, False),
        ("x86_64", "lea rsp, [rsp - 8]", None, False),
        ("x86_64", "and rsp, 0xfffffffffffffff0", None, False),
        ("x86_64", "and rsp, 0xffffffffffffffe0", MoveKind.ALIGNED, False),
        ("arm64", "sub sp, sp, x9", MoveKind.AMOUNT, True),
        ("arm64", "mov sp, x29", MoveKind.COPY, False),
        ("arm64", "mov sp, x0", MoveKind.COPY, True),
        ("arm64", "sub sp, sp, #0x40", None, False),
        ("arm64", "and sp, x9, #0xffffffffffffffe0", MoveKind.ALIGNED, False),
        ("a32", "sub sp, sp, r3", MoveKind.AMOUNT, True),
        ("a32", "sub sp, fp, #8", MoveKind.COPY, False),
        ("a32", "bic sp, sp, #7", None, False),
        ("thumb", "sub.w sp, sp, r3", MoveKind.AMOUNT, True),
        ("thumb", "add sp, r3", MoveKind.AMOUNT, True),
        ("thumb", "mov sp, r7", MoveKind.COPY, False),
        ("thumb", "add sp, #8", None, False),
    ],
)
def test_how_instructions_move_sp(isa: str, text: str, kind: MoveKind | None, sized: bool) -> None:
    move = stack_move(isa, text)
    assert (move and move.kind, may_be_sized(isa, text)) == (kind, sized)


# One entry of the exception index that stands for several functions of a stripped file.


HEAD = """
        .syntax unified
        .thumb
        .macro  function name
        .section .text.\\name, "ax", %progbits
        .p2align 2
        .type   \\name, %function
        .thumb_func
\\name:  .fnstart
        .endm
        .macro  late
        cbz     r0, 1f
        b       2f
1:      bx      lr
2:      push    {r4, lr}
        bl      elsewhere
        pop     {r4, pc}
        .endm
        .macro  ends name
        .save   {r4, lr}
        .fnend
        .size   \\name, .-\\name
        .endm
"""
# All have the same frame. Of those behind the first: one is called, the address of one is in data, one computes that of
# the next, and nothing tells of it and of the last but what they begin with. Of the three nothing is told by that.
MERGED = (
    HEAD
    + """
        .globl  switches
        function switches
        push    {r4, lr}
        mov     r4, r0
        cmp     r0, #3
        bhi     4f
        tbb     [pc, r0]
1:      .byte   (2f-1b)/2, (3f-1b)/2, (4f-1b)/2, (5f-1b)/2
2:      bl      called
        b       6f
3:      push    {r0, lr}
        movs    r0, #3
        add     sp, #8
        b       6f
4:      movs    r0, #4
6:      pop     {r4, pc}
5:      bl      elsewhere
        b       4b
        ends    switches
        function called
        late
        ends    called
        function held
        late
        ends    held
        function computes
        push    {r4, lr}
        ldr     r0, 1f
2:      add     r0, pc
        bl      elsewhere
        pop     {r4, pc}
        .p2align 2
1:      .word   computed - (2b + 4)
        ends    computes
        function computed
        late
        ends    computed
        function plain
        movs    r1, #1
        push    {r4, lr}
        bl      elsewhere
        pop     {r4, pc}
        ends    plain
        .data
        .word   held
"""
)
NAMES = ("switches", "called", "held", "computes", "computed", "plain")


@pytest.fixture(scope="module")
def merged_image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The six functions, of which the index has one entry and the linker's end."""
    return library(MERGED, "arm32", tmp_path_factory.mktemp("merged"), ".S", "-Bsymbolic")


def _starts(merged_image: Image) -> dict[str, int]:
    symbols = {name: merged_image.symbol_named(name) for name in NAMES}
    return {name: symbol.address for name, symbol in symbols.items() if symbol is not None}


def test_each_function_of_one_entry_is_found_by_what_leads_there_or_what_it_begins_with(merged_image: Image) -> None:
    starts = _starts(merged_image)
    assert len(tuple(indexed_ranges(merged_image))) == 1 < len(starts) == len(NAMES)
    bare = replace(merged_image, symbols=())
    assert len(pieces_of(bare)) == 1
    pieces = with_merged(bare, pieces_of(bare))
    assert [piece.start for piece in pieces] == sorted(starts.values()), "no case of a switch, no block behind a jump"
    assert [piece.end for piece in pieces[:-1]] == [piece.start for piece in pieces[1:]]


def test_code_behind_a_function_of_known_size_is_no_part_of_it_and_is_not_left_out(merged_image: Image) -> None:
    starts = _starts(merged_image)
    bare = replace(
        merged_image, symbols=tuple(symbol for symbol in merged_image.symbols if symbol.name in ("switches", "held"))
    )
    assert [piece.name for piece in pieces_of(bare)] == ["switches", "held"]
    pieces = with_merged(bare, pieces_of(bare))
    assert [piece.start for piece in pieces] == sorted(starts.values())
    assert [piece.name for piece in pieces] == ["switches", "", "held", "", "", ""]


def test_no_path_runs_from_one_function_into_the_next(tmp_path: Path) -> None:
    """There the frame would be twice as large as the row says, and the row would be told as wrong."""
    library(MERGED, "arm32", tmp_path, ".S", "-Bsymbolic", "-s")
    check = check_file(tmp_path / "code.so", CheckOptions(), READERS)
    assert not check.findings
    assert len(check.functions) == len(NAMES)
    assert check.total("never") == 0
