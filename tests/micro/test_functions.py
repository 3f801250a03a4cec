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
from testbed.micro.functions import pieces_of, table_ranges
from testbed.micro.linkage import with_imports
from testbed.micro.stack_moves import MoveKind, may_be_sized, stack_move

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
