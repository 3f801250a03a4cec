"""Where states begin, and what following them may cost: jump tables, conditions, landings, overlapping code."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from testbed.arch import ARCHES, Arch
from testbed.contract.rows import Offset, RegisterPlus, Rule, Undefined
from testbed.image import Segment, read_image
from testbed.words.budget import budget_of
from testbed.words.errors import BudgetExceeded, NoUnwindInfo, UnwindError
from tests.hard_input.worst_tables import branches
from tests.unwinders.code import START, Said, assembled, cfa, image_of, row_in, rows_say, rsp, sp
from unwinders import UNWINDERS
from unwinders.analysis import control_flow, function_code
from unwinders.analysis.abstract_machine import emulate
from unwinders.analysis.abstract_state import CFA, EntryValue, Number, StackAddress, entry_state, join
from unwinders.analysis.called_functions import SIGNAL_RETURNS, control_of
from unwinders.analysis.function_bounds import functions_of
from unwinders.analysis.function_code import DECODERS, FunctionCode
from unwinders.analysis.operations import Call, Combine, Instruction, Jump, MemoryOperand, Return, Store
from unwinders.analysis.prologue_analysis import row_at, table_of


def test_an_instruction_inside_another_one_leaves_the_row_of_the_outer_one() -> None:
    """je into the number that movabs loads: a nop, and a jump to what is behind."""
    code = bytes.fromhex("7402 48b8 90eb059090909090 53 5b c3")
    table = list(table_of(image_of("x86_64", code)))
    assert [(row.start - START, row.end - START, row.cfa) for row in table] == [
        (0, 13, RegisterPlus("rsp", 8)),
        (13, 14, RegisterPlus("rsp", 16)),
        (14, 15, RegisterPlus("rsp", 8)),
    ]


@pytest.mark.parametrize("slot", [0, 8])
def test_an_array_of_variable_size_that_is_made_again_has_nothing_stored_in_it(slot: int) -> None:
    arch = ARCHES["x86_64"]
    make = Instruction(0x1000, 3, (Combine("rsp", "rsp", "rdi", -1),))
    store = Instruction(0x1003, 4, (Store("rbx", MemoryOperand("rsp", slot), 8),))
    once = emulate(arch, emulate(arch, entry_state(arch), make, lambda *_: None), store, lambda *_: None)
    assert once.slots[0x1000, slot] == (8, EntryValue("rbx"))
    again = emulate(arch, once, make, lambda *_: None)
    assert again.registers["rsp"] == StackAddress(0x1000, 0)
    assert {base for base, _ in again.slots} == {CFA}


def test_each_instruction_that_control_comes_to_is_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    code = assembled("x86_64", "nop; push rbx; pop rbx; ret")
    monkeypatch.setattr(control_flow, "MOST_STEPS", 4)
    assert row_at(image_of("x86_64", code), START + 3).cfa == RegisterPlus("rsp", 8)
    monkeypatch.setattr(control_flow, "MOST_STEPS", 3)
    with pytest.raises(NoUnwindInfo, match="f is too large to be followed"):
        row_at(image_of("x86_64", code), START + 3)


def test_slots_that_many_states_share_are_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long function with a small frame is followed; one that keeps more and more is not."""
    monkeypatch.setattr(function_code, "MOST_SLOTS", 100)
    long = assembled("x86_64", "push rbx; push r12; " + "inc rax; " * 200 + "ret")
    assert row_at(image_of("x86_64", long), START + len(long) - 1).cfa == RegisterPlus("rsp", 24)
    deep = assembled("x86_64", "push rbx; " * 30 + "ret")
    with pytest.raises(NoUnwindInfo, match="f keeps too much on its stack to be followed"):
        row_at(image_of("x86_64", deep), START + 1)


def test_a_value_that_each_way_keeps_in_another_slot_is_left_out_of_both() -> None:
    arch = ARCHES["x86_64"]
    entry = entry_state(arch)
    registers = {name: value for name, value in entry.registers.items() if name != "rbx"}
    one, other = (
        replace(entry, registers=registers, slots={**entry.slots, (CFA, at): (8, EntryValue("rbx"))})
        for at in (-16, -24)
    )
    assert control_flow.left_out(arch, one, other, join(one, other))
    assert not control_flow.left_out(arch, one, one, join(one, one))


# What following a function may cost, and which ones are refused: too large, of random bytes, decoded by nothing.


def test_a_large_function_is_refused_and_little_of_it_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[FunctionCode] = []
    monkeypatch.setattr(FunctionCode, "__post_init__", _noting(known, FunctionCode.__post_init__))
    monkeypatch.setattr(control_flow, "MOST_PLACES", 3000)
    image = image_of("arm64", bytes.fromhex("000080d2") * 5000)  # mov x0, #0
    with pytest.raises(NoUnwindInfo, match="f is too large to be followed"):
        row_at(image, START)
    assert max(len(code._known) for code in known) <= 3000 + function_code.AT_ONCE + 1


def _noting(known: list[FunctionCode], ordinary: Callable[[FunctionCode], None]) -> Callable[[FunctionCode], None]:
    def note(code: FunctionCode) -> None:
        ordinary(code)
        known.append(code)

    return note


def test_a_function_of_megabytes_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[FunctionCode] = []
    monkeypatch.setattr(FunctionCode, "__post_init__", _noting(known, FunctionCode.__post_init__))
    image = image_of("x86_64", b"\x90" * 2_000_000)
    with pytest.raises(NoUnwindInfo, match="f is too large to be followed"):
        row_at(image, START)
    assert known and not any(code._known for code in known)


def test_the_restarts_for_calls_that_do_not_return_share_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    once = "test rdi, rdi; jne 0x1{next:03x}; push rax; call 0x9000; "
    blocks = "".join(once.format(next=11 * (i + 1)) for i in range(20))
    code = assembled("x86_64", blocks + "ret")
    assert row_in("x86_64", code, len(code) - 1).cfa == RegisterPlus("rsp", 8)
    monkeypatch.setattr(control_flow, "MOST_STEPS", 400)  # enough for one time, not for twenty
    with pytest.raises(NoUnwindInfo, match="too large"):
        row_in("x86_64", code, len(code) - 1)


@pytest.mark.parametrize("leading", [0, 1])
def test_decoding_goes_on_where_it_stopped_and_not_inside_an_it_block(leading: int) -> None:
    returns = bytes.fromhex("18bf 10bd")  # it ne; popne {r4, pc}: without its condition, nothing comes behind it
    code = assembled("thumb", "push {r4, lr}") + bytes.fromhex("00bf") * leading + returns * 700 + bytes.fromhex("10bd")
    assert row_in("thumb", code, len(code) - 2).cfa == RegisterPlus("sp", 8)
    code = assembled("x86_64", "push rbp") + b"\x90" * 2000 + assembled("x86_64", "pop rbp; ret")
    assert row_in("x86_64", code, len(code) - 1).cfa == RegisterPlus("rsp", 8)


@pytest.mark.parametrize("isa", ["x86_64", "arm64", "a32", "thumb"])
def test_random_bytes_are_analysed_or_refused(isa: str) -> None:
    random = Random(3)
    prologue = {"x86_64": "push rbp; mov rbp, rsp; sub rsp, 32", "arm64": "stp x29, x30, [sp, #-32]!"}
    head = assembled(isa, prologue.get(isa, "push {r4, r7, lr}"))
    rows = refused = 0
    for _ in range(120):
        code = head + random.randbytes(random.choice([16, 64, 256]))
        image = image_of(isa, code, ("f", 0, len(code) // 2), ("g", len(code) // 2, 0))
        for pc in range(START, START + len(code), 2):
            try:
                rows += row_at(image, pc).contains(pc)
            except UnwindError:
                refused += 1
    assert min(rows, refused) > 100


def test_instructions_that_nothing_decodes_are_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DECODERS, "_entries", {**DECODERS, "arm64": None})
    monkeypatch.setattr(DECODERS, "because", {"arm64": "nobody wrote it"})
    with pytest.raises(
        NoUnwindInfo, match=r"^f\+0x0: the instructions of arm64 are not decoded here: nobody wrote it$"
    ):
        row_in("arm64", bytes.fromhex("1f2003d5"), 0)


# An analysis of all instructions of a file is whole, or refused: by steps, and by time.


@pytest.mark.parametrize("limit", ["analysis=0.02", "steps=2000"])
def test_what_would_be_half_a_table_is_none(limit: str, tmp_path: Path) -> None:
    path = tmp_path / "branches"
    path.write_bytes(branches(12_000))
    rows = UNWINDERS["prologue_analysis"].rows
    assert rows is not None
    with pytest.raises(BudgetExceeded, match=f"--file-limit {limit.partition('=')[0]}=") as caught:
        rows(read_image(path, budget=budget_of(limit)))
    assert caught.value.path == path


# A jump through a register: a call made by hand, a return, a tail call, or a jump that nobody knows.

JUMPS = {"x86_64": "rax", "arm64": "x9", "arm32": "r3"}


@pytest.mark.parametrize("name", JUMPS)
def test_a_jump_through_a_register_is_a_call_only_where_the_link_register_has_the_address_behind_it(name: str) -> None:
    arch, jump = ARCHES[name], Jump(via=JUMPS[name])
    instruction, entry = Instruction(0x1000, 4, control=jump), entry_state(arch)
    framed = replace(entry, registers={**entry.registers, arch.sp: StackAddress(CFA, -16)})
    assert control_of(arch, arch.isas[0], instruction, framed) == jump, "nobody knows where it goes"
    assert control_of(arch, arch.isas[0], instruction, entry) == Return(), "without a frame it is a tail call"
    if arch.link is None:
        return
    elsewhere, behind = (
        replace(framed, registers={**framed.registers, arch.link: Number(address)}) for address in (0x1008, 0x1004)
    )
    assert control_of(arch, arch.isas[0], instruction, elsewhere) == jump
    assert control_of(arch, arch.isas[0], instruction, behind) == Call()


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_a_signal_is_given_back_by_the_system_call_of_its_frame(arch: Arch) -> None:
    assert arch.signal_frame.call in SIGNAL_RETURNS[arch.name]


# Where exceptions land: which frame they find there, as the code from there on tells.

# x21 is saved on one of two ways only, and both of them call.
SAVES_ON_ONE_WAY = (
    "stp x29, x30, [sp, #-0x40]!; mov x29, sp; stp x19, x20, [sp, #0x10]; mov x19, x0; bl 0x9000; cbz x0, 0x1028; "
    "str x21, [sp, #0x20]; mov x21, x0; bl 0x9000; ldr x21, [sp, #0x20]; "
    "ldp x19, x20, [sp, #0x10]; ldp x29, x30, [sp], #0x40; ret; "
)
BEHIND = 13 * 4
SAVED = Offset(-0x20)


def x21(rules: Iterable[Rule | None]) -> Said:
    """What each instruction where exceptions land says of x21."""
    return {BEHIND + 4 * i: {"x21": rule} for i, rule in enumerate(rules)}


# code where exceptions land, behind the function above; what its rows say
LANDINGS: list[tuple[str, Said]] = [
    # Most is saved where the code does not say otherwise.
    ("mov x19, x0; bl 0x9100; mov x0, x19; bl 0x9200", x21([SAVED] * 4)),
    # What is saved there was not saved before.
    (
        "mov x19, x0; str x21, [sp, #0x20]; bl 0x9100; mov x0, x19; bl 0x9200",
        {**x21([None] * 2 + [SAVED] * 3), BEHIND: {"x21": None, "x19": Offset(-0x30)}},
    ),
    # What is never given back was not saved: by a return, and by going on where the frame without it goes on.
    ("bl 0x9100; ldp x19, x20, [sp, #0x10]; ldp x29, x30, [sp], #0x40; ret", x21([None] * 4)),
    ("bl 0x9100; b 0x1028", x21([None] * 2)),
    # What is given back was.
    ("bl 0x9100; ldr x21, [sp, #0x20]; b 0x1028", x21([SAVED] * 2)),
    (
        "bl 0x9100; ldr x21, [sp, #0x20]; ldp x19, x20, [sp, #0x10]; ldp x29, x30, [sp], #0x40; ret",
        {BEHIND + 16: sp(0, x19=None, x21=None, x29=None, x30=None)},
    ),
    # A function called at the very end does not come back elsewhere either: behind the first call of 0x9200 another
    # exception lands. No register is saved there that was saved before.
    (
        "mov x19, x0; bl 0x9100; mov x0, x19; bl 0x9200; mov x19, x0; str x21, [sp, #0x20]; bl 0x9100; bl 0x9200",
        x21([SAVED] * 4 + [None] * 2 + [SAVED] * 2),
    ),
]

# an instruction set, a function, what its rows say
OTHERS: list[tuple[str, str, Said]] = [
    # Constants behind the last call are no code: the word at the end, which would be an instruction, is loaded.
    (
        "a32",
        "push {r4, lr}; sub sp, sp, #8; mov r4, r0; bl 0x9000; cmp r0, #0; beq 0x1028; str r5, [sp]; "
        "ldr r5, [pc, #28]; bl 0x9000; ldr r5, [sp]; add sp, sp, #8; pop {r4, pc}; mov r4, r0; "
        "bl 0x9200; str r5, [sp]; bl 0x9200; .byte 0x00, 0x00, 0xa0, 0xe1",
        {0x30 + 4 * i: {"r5": rule} for i, rule in enumerate([Offset(-16), Offset(-16), None, Offset(-16)])},
    ),
    # SP is sure where a frame pointer is the same place. Else the last call's arguments may lie below, which are off
    # the stack where its exceptions land.
    (
        "x86_64",
        "push rbp; mov rbp, rsp; push 1; push 2; call 0x9000; leave; ret; mov rdi, rax; call 0x9100",
        {18: cfa("rbp", 16)},
    ),
    (
        "arm64",
        "stp x29, x30, [sp, #-16]!; mov x29, sp; stp x0, x1, [sp, #-16]!; bl 0x9000; brk #1; bl 0x9100",
        {20: cfa("x29", 16)},
    ),
    # A register that points into the frame without its saved self there is no frame pointer: on x86_64 a function
    # without one uses rbp as it likes.
    (
        "x86_64",
        "push rbp; sub rsp, 0x20; lea rbp, [rsp + 8]; call 0x9000; add rsp, 0x20; pop rbp; ret; "
        "mov rdi, rax; call 0x9100",
        {21: rsp(0x30)},
    ),
]


@pytest.mark.parametrize(
    ("isa", "code", "said"), [*(("arm64", SAVES_ON_ONE_WAY + code, said) for code, said in LANDINGS), *OTHERS]
)
def test_the_frame_where_exceptions_land(isa: str, code: str, said: Said) -> None:
    rows_say(isa, [code], (), said)


# The bytes that an analysis reads: constants, the code of a function, and what looking at a callee costs.


def test_a_constant_is_read_whole_and_where_the_program_cannot_write() -> None:
    image = image_of("x86_64", bytes.fromhex("c3 01020304050607"))
    data = Segment(0x8000, bytes.fromhex("1122334455667788"), 8, True, True, False)
    image = replace(image, segments=(data, *image.segments))
    code = FunctionCode(image, functions_of(image).at(START))
    assert [code.read(START + at, 4) for at in (1, 4)] == [0x04030201, 0x07060504]
    assert code.read(START - 1, 4) is code.read(START + 5, 4) is None, "it would lie there in part"
    assert code.read(0x8000, 4) is None, "who knows what the program has written there"


@pytest.mark.parametrize("begin", [0, 0x400, START])
def test_a_function_is_read_wherever_it_lies_in_its_segment(begin: int) -> None:
    """Other code lies in front of it: at the beginning of a segment, and three pages on."""
    filler = b"\xcc" * (START - begin)
    code = assembled("x86_64", "push rbx; pop rbx; ret").ljust(0x3000, b"\xcc") + assembled("x86_64", "push rcx; ret")
    image = image_of("x86_64", code, ("f", 0, 3), ("g", 0x3000, 2))
    segment = Segment(begin, filler + code, len(filler + code), True, False, True)
    image = replace(image, segments=(segment,))
    found = [row_at(image, START + at).cfa for at in (0, 1, 2, 0x3000, 0x3001)]
    assert found == [RegisterPlus("rsp", n) for n in (8, 16, 8, 8, 16)]


@pytest.mark.parametrize(("body", "pops", "steps"), [("ret 16", 16, 1), ("mov rax, [rsp + 8]; ret 16", 16, 2)])
def test_looking_for_what_a_callee_pops_costs_a_step_and_one_for_each_eight_bytes(
    body: str, pops: int, steps: int
) -> None:
    image = image_of("x86_64", assembled("x86_64", body))
    code = FunctionCode(image, functions_of(image).at(START))
    spent = image.account.share("instructions").spent
    before = spent["steps"]
    assert code.pops(START) == pops
    assert spent["steps"] == before + steps
    assert code.pops(START) == pops and spent["steps"] == before + steps, "and it is done once"


# Which function a pc is in: by symbols with and without sizes, inside others, over others, and of cold parts.

BODY = {"x86_64": "push rbx; xor ebx, ebx; pop rbx; ret", "arm64": "str x19, [sp, #-16]!; mov x19, #0; ret"}


@pytest.mark.parametrize("isa", BODY)
def test_the_function_at_the_images_entry_has_no_caller(isa: str) -> None:
    code = assembled(isa, BODY[isa])
    image = image_of(isa, code, entry=START)
    assert row_at(image, START).registers[image.arch.return_address] == Undefined()
    assert row_at(image_of(isa, code), START).registers.get(image.arch.return_address) != Undefined()


def test_without_a_symbol_there_is_nothing() -> None:
    image = image_of("x86_64", b"\xc3" * 8, ("f", 0, 4))
    assert row_at(image, START).cfa == RegisterPlus("rsp", 8)
    with pytest.raises(NoUnwindInfo, match="no function symbol covers 0x1004"):
        row_at(image, START + 4)


def test_a_symbol_without_a_size_reaches_to_the_next() -> None:
    image = image_of(
        "x86_64", assembled("x86_64", "push rbx; nop; pop rbx; ret; push rcx; ret"), ("f", 0, 0), ("g", 4, 0)
    )
    assert [row_at(image, START + at).cfa for at in (2, 4, 5)] == [RegisterPlus("rsp", n) for n in (16, 8, 16)]
    assert [function.parts for function in functions_of(image).all] == [
        ((START, START + 4),),
        ((START + 4, START + 6),),
    ]


@pytest.mark.parametrize("inside", [3, 16, 40])
def test_a_function_goes_on_behind_the_symbols_inside_it(inside: int) -> None:
    """Second entries, one after the other, some in others: behind each of them it is the enclosing function again."""
    code = assembled("x86_64", "push rbx; xor ebx, ebx") + b"\x90" * 4 * inside + assembled("x86_64", "pop rbx; ret")
    entries = [(f"g{i}", 4 + 4 * i, 1 + i % 2) for i in range(inside)]
    image = image_of("x86_64", code, ("f", 0, len(code)), ("whole", 3, 4 * inside), *entries)
    functions = functions_of(image)
    assert [functions.at(START + at).name for at in (0, 2)] == ["f", "f"]
    for i in range(inside):
        assert functions.at(START + 4 + 4 * i).name == f"g{i}"
        assert functions.at(START + 6 + 4 * i).name == "whole"
    assert functions.at(START + 3 + 4 * inside).name == "f"
    assert row_at(image, START + 3 + 4 * inside).registers["rbx"] == Offset(-16)


def test_symbols_over_the_same_code_do_not_have_it_analysed_again_and_again() -> None:
    code = b"\x90" * 400 + b"\xc3"
    image = image_of("x86_64", code, *((f"f{i}", i, 0x190 - i) for i in range(40)))
    said = [row for row in table_of(image)]
    assert said
    with pytest.raises(NoUnwindInfo, match="cover the same code over and over"):
        row_at(image, START + 39)


def test_a_cold_part_has_its_functions_frame() -> None:
    """``f`` jumps to ``f.cold`` after its push; by itself the part would be taken for a function without a frame."""
    code = bytes.fromhex("53 eb01 cc 31db 5b c3")  # push rbx; jmp f.cold; int3; f.cold: xor ebx, ebx; pop rbx; ret
    image = image_of("x86_64", code, ("f", 0, 3), ("f.cold", 4, 4))
    assert row_at(image, START + 6).registers["rbx"] == Offset(-16)
    assert row_at(image, START + 6).cfa == RegisterPlus("rsp", 16)


def test_rows_of_an_image_are_sorted_and_do_not_overlap() -> None:
    table = table_of(image_of("x86_64", assembled("x86_64", BODY["x86_64"])))
    assert [(row.start - START, row.end - START) for row in table] == [(0, 1), (1, 4), (4, 5)]
    assert table.at(START + 5) is None
