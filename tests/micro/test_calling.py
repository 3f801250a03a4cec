"""Functions called alone: what they return, what they are given, and that nothing of a path is left behind."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from testbed.arch import ARCHES
from testbed.checks.check_file import check_file
from testbed.checks.inputs import program_file
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from testbed.image import Image, read_image
from testbed.machine.clock_reads import ClockRead, reads_in
from testbed.machine.native.detours import HALT
from testbed.micro.calling import CallPath, Over
from testbed.micro.feasible import until
from testbed.micro.functions import indexed_ranges, pieces_of, table_ranges, with_merged
from testbed.micro.linkage import with_imports
from testbed.micro.plans import Argument, users_plans
from testbed.micro.stack_moves import MoveKind, may_be_sized, stack_move
from testbed.words.errors import UsageError
from tests.micro.callers import built, called, library, ready, result

SOURCE = """
extern int elsewhere(int);
extern void abort(void);
static int counted;
int add(int a, int b) { return a + b; }
int first(const int *p) { return *p; }
int count(void) { return ++counted; }
int asks(int a) { return elsewhere(a) + 7; }
int gives_up(int a) { if (a) abort(); return 3; }
int forever(void) { for (;;) ++*(volatile int *)&counted; }
int through(int (*f)(int), int a) { return f(a) + 5; }
"""


# Memory that is asked for is no zero; an import is answered, and one that never returns ends the path.
CALLED = {
    "add": ((30, 12), 42),
    "first": ((0x1234_5000,), 1),
    "asks": ((5,), 7),
    "gives_up": ((0,), 3),
}


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("function", CALLED)
def test_a_function_is_called_and_comes_back(function: str, arch: str) -> None:
    caller, (given, returned) = ready(built(SOURCE, ".c", arch)), CALLED[function]
    tape = called(caller, function, *given)
    assert (tape.over, result(caller.image, tape)) == (Over.RETURNED, returned)
    assert [page.address for page in caller.forget_asked()] == [0x1234_5000] * (function == "first")


@pytest.mark.parametrize("arch", ARCHES)
def test_what_is_left_of_a_path_that_came_back_has_not(arch: str) -> None:
    caller = ready(built(SOURCE, ".c", arch))
    its, tape = caller.image.loaded.image.arch, called(caller, "add", 30, 12)
    left = until(tape, 2)
    assert (len(left), left.over) == (4, Over.NEVER_RETURNS)
    assert left.registers[-1, its.index[its.pc]] != tape.registers[-1, its.index[its.pc]]
    assert left.registers[-1, its.index[its.sp]] > tape.registers[-1, its.index[its.sp]]


@pytest.mark.parametrize("arch", ARCHES)
def test_a_path_leaves_nothing_behind_and_repeats_itself(arch: str) -> None:
    caller = ready(built(SOURCE, ".c", arch))
    first, second = called(caller, "count"), called(caller, "count")
    assert result(caller.image, first) == result(caller.image, second) == 1
    assert np.array_equal(first.registers, second.registers)
    assert first.writes.step[-1] == len(first) - 1, "the harness's step takes back what was written"


@pytest.mark.parametrize("arch", ARCHES)
def test_a_call_through_the_linkage_table_comes_to_the_function(arch: str, tmp_path: Path) -> None:
    """On arm32 the slot holds the table's address at first, and that is no addend, though AAELF32 counts it as one."""
    image = library(THROUGH_TABLE, arch, tmp_path)
    assert any(name.startswith(".plt") for name in image.sections)
    caller = ready(image)
    tape = called(caller, "outer", 5)
    assert (tape.over, result(caller.image, tape)) == (Over.RETURNED, 42)


def test_a_page_that_is_asked_for_in_an_it_block_changes_no_other_code() -> None:
    """The emulator leaves the block's state behind: the callee's push would not be executed."""
    caller = ready(built(IT_BLOCK, ".S", "arm32"))
    tape = called(caller, "f", 0x1234_5000)
    assert [page.address for page in caller.forget_asked()] == [0x1234_5000]
    assert (tape.over, result(caller.image, tape)) == (Over.RETURNED, 0x77)
    assert len(tape) == 13, "eleven instructions, and two of the harness"


@pytest.mark.parametrize("arch", ARCHES)
def test_a_path_is_bounded_and_a_made_up_function_is_answered(arch: str) -> None:
    caller = ready(built(SOURCE, ".c", arch))
    assert called(caller, "gives_up", 1).over is Over.NEVER_RETURNS
    tape = called(caller, "forever", steps=500)
    assert tape.over is Over.STEPS
    assert len(tape) == 501, "and the harness's own step"
    tape = called(caller, "through", caller.image.arena + 0x40, 1)
    assert (tape.over, result(caller.image, tape)) == (Over.RETURNED, 5)
    assert len(tape.skipped) == 1


@pytest.mark.parametrize("arch", ARCHES)
def test_the_call_of_a_made_up_function_is_told_by_its_step(arch: str) -> None:
    """Behind it the harness answers, then the code behind the call goes on."""
    caller = ready(built(SOURCE, ".c", arch))
    made_up = caller.image.arena + 0x40
    tape = called(caller, "through", made_up, 1)
    pcs = tape.registers[:, ARCHES[arch].index[ARCHES[arch].pc]].tolist()
    ((step, callee),) = tape.skipped
    assert callee == made_up
    assert pcs[step + 1] == caller.image.harness.image.entry + caller.image.calls.answer
    assert pcs[step + 2] == pcs[step] + int(tape.sizes[step])


@pytest.mark.parametrize("arch", ARCHES)
def test_detours_without_a_stop_are_those_that_the_caller_makes(arch: str) -> None:
    caller = ready(built(DETOURS, ".c", arch))
    target = caller.image.loaded.image.symbol_named("asks_often")
    image = caller.image.loaded.image
    address = (target.address + caller.image.loaded.bias) | image.isa_at(target.address).address_bit
    own = slice(*(at + caller.image.loaded.bias - caller.code for at in (target.address, target.address + target.size)))
    caller.alone[own] = 0
    at = caller.image.harness.image.entry - caller.code
    caller.alone[at : at + len(caller.image.calls.harness)] = 0
    caller.alone[at + caller.image.calls.stop] = HALT
    by_caller = np.where(caller.alone, np.uint8(HALT), np.uint8(0))
    plain = CallPath(address, tuple(zip(caller.image.convention.arguments, (3, 1), strict=False)))
    tape = caller.call(plain, caller.alone, 500)
    assert len(tape.skipped) > 4 and tape.over is Over.RETURNED
    pcs = tape.registers[:, image.arch.index[image.arch.pc]]
    steps = [k for k in range(4, len(tape) - 2) if pcs[k + 1] != pcs[k] + tape.sizes[k]]
    for forced in ((), *(((step + 1, int(pcs[step] + tape.sizes[step])),) for step in steps)):
        path = replace(plain, forced=forced)
        one, other = (caller.call(path, places, 500) for places in (caller.alone, by_caller))
        assert np.array_equal(one.registers, other.registers) and one.skipped == other.skipped
        assert (one.over, one.detail) == (other.over, other.detail)


@pytest.mark.parametrize(
    ("second", "over"), [("vcvttsd2usi %xmm0, %rbx", Over.FAULT), ("vcvttsd2usi %xmm0, %rax", Over.RETURNED)]
)
def test_instructions_that_are_known_to_be_lacked_give_the_rows_that_they_gave_at_first(
    second: str, over: Over
) -> None:
    body = f"vpaddd %zmm1, %zmm2, %zmm3\nvpaddd %zmm1, %zmm2, %zmm4\n{second}\nmovl $3, %eax\nret\n"
    caller = ready(built(f".globl f\n.type f, @function\nf:\n{body}.size f, . - f\n", ".S", "x86_64"))
    first, *again = (called(caller, "f") for _ in range(3))
    assert first.over is over and len(first.lacked) == (2 if over is Over.FAULT else 3)
    for tape in again:
        assert np.array_equal(tape.registers, first.registers) and np.array_equal(tape.sizes, first.sizes)
        assert (tape.over, tape.detail, tape.lacked) == (first.over, first.detail, first.lacked)


THROUGH_TABLE = """
__attribute__((noinline)) int inner(int a) { return a * 8; }
int outer(int a) { return inner(a) + 2; }
"""

# The condition holds in the block and does not when g is called.
IT_BLOCK = """
        .syntax unified
        .thumb
        .text
        .globl  f, g
        .type   f, %function
        .thumb_func
f:      push    {r4, lr}
        cmp     r0, #0
        ite     eq
        moveq   r1, #1
        ldrne   r1, [r0]
        cmp     r1, #0
        ldr     r2, =g
        blx     r2
        pop     {r4, pc}
        .size   f, .-f
        .type   g, %function
        .thumb_func
g:      push    {r5, lr}
        movs    r0, #0x77
        pop     {r5, pc}
        .size   g, .-g
"""

DETOURS = """
extern int *find_it(int);
extern int plain(int);
__attribute__((noinline)) int own(int a) { return plain(a) + 1; }
int asks_often(int a, int b) {
    int sum = 0;
    for (int i = 0; i < a; i++) {
        int *p = find_it(i);
        sum += p ? *p : own(i);
        if (b > i) sum += plain(sum) + own(sum);
    }
    return sum;
}
"""


# A path that reads a clock or draws a random number is the same path each time.

# A path's length depends on the value: a loop over its low bits.
CLOCKS = {
    "x86_64": "rdtsc\nand $255, %eax\n1: dec %eax\njns 1b\nrdrand %r10\nand $15, %r10d\n2: dec %r10d\njns 2b\nret",
    "arm64": "mrs x1, cntvct_el0\nand x1, x1, #255\n1: subs x1, x1, #1\nb.pl 1b\nmrs x0, cntvct_el0\nret",
}


@pytest.mark.parametrize("arch", CLOCKS)
def test_a_clock_says_the_same_each_time(arch: str) -> None:
    text = f".text\n.globl f\n.type f, %function\nf: .cfi_startproc\n{CLOCKS[arch]}\n.cfi_endproc\n.size f, .-f\n"
    caller = ready(built(text, ".S", arch))
    tapes = [called(caller, "f") for _ in range(8)]
    assert all(tape.over is Over.RETURNED for tape in tapes)
    assert all(np.array_equal(tape.registers, tapes[0].registers) for tape in tapes)
    assert len(tapes[0]) > 12, "the value is not always 0"


def test_such_instructions_are_known_by_their_bytes() -> None:
    code = bytes.fromhex("90 0f31 480fc7f8 410fc7fa 0f01f9 0fc7e8 0fc7c8")
    assert {(first, end): read for first, end, read in reads_in("x86_64", code)} == {
        (1, 3): ClockRead(("rax", "rdx"), 32),
        (3, 7): ClockRead(("rax",), 64),
        (4, 7): ClockRead(("rax",), 32),
        (7, 11): ClockRead(("r10",), 32),
        (8, 11): ClockRead(("rdx",), 32),
        (11, 14): ClockRead(("rax", "rdx"), 32, ("rcx",)),
    }


# Arguments of the user's own calls: numbers, and data that each begin at a multiple of sixteen bytes.


def test_each_piece_of_data_begins_at_a_multiple_of_sixteen_bytes() -> None:
    (first, second), data = users_plans(['f(buf:20, "of sixteen bytes", -1)', 'g("a", buf:0, buf:1)'], ARCHES["arm64"])
    assert first.arguments == (Argument(0, "data"), Argument(32, "data"), Argument(-1))
    assert second.arguments == (Argument(64, "data"), Argument(80, "data"), Argument(80, "data"))
    assert data == bytes(32) + b"of sixteen bytes" + bytes(16) + b"a" + bytes(31)


@pytest.mark.parametrize(
    "call", ["f", "f(", "f(what?)", "f(buf:x)", "f(buf:0x1000001)", 'f("a)', "f(1,2,3,4,5,6,7,8,9)"]
)
def test_what_is_no_call_is_said(call: str) -> None:
    with pytest.raises(UsageError, match="--call"):
        users_plans([call], ARCHES["x86_64"])


# Which pieces of code are functions: not what a linker has put behind them.


FUNCTIONS_SOURCE = "int g(void);\nint f(void) { return g() + 1; }\nint h(int x) { return g() * x; }\n"


@pytest.fixture(params=list(ARCHES))
def image(request: pytest.FixtureRequest, tmp_path: Path) -> Image:
    """Two functions and the procedure linkage table that they call another one by."""
    source = tmp_path / "f.c"
    source.write_text(FUNCTIONS_SOURCE)
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
        ("x86_64", "and rsp, 0xfffffffffffffff0", MoveKind.ALIGNED, True),
        ("x86_64", "and rsp, 0xfffffffffffffff8", None, False),
        ("x86_64", "and rsp, 0xffffffffffffffe0", MoveKind.ALIGNED, True),
        ("arm64", "sub sp, sp, x9", MoveKind.AMOUNT, True),
        ("arm64", "mov sp, x29", MoveKind.COPY, False),
        ("arm64", "mov sp, x0", MoveKind.COPY, True),
        ("arm64", "sub sp, sp, #0x40", None, False),
        ("arm64", "and sp, x9, #0xffffffffffffffe0", MoveKind.ALIGNED, True),
        ("a32", "sub sp, sp, r3", MoveKind.AMOUNT, True),
        ("a32", "sub sp, fp, #8", MoveKind.COPY, False),
        ("a32", "bic sp, sp, #7", MoveKind.ALIGNED, True),
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
