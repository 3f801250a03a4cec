"""Lines of code, and the calls that were inlined or left as tail calls."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from testbed.image import Image, Section, Segment
from testbed.image.debug import debug_info
from testbed.image.debug.call_sites import CallSite, CallTarget
from testbed.image.debug.functions import Function
from testbed.image.debug.lines import Line
from testbed.image.debug.tail_chains import Certainty, Chain, tail_chain
from tests.image.hand_made import BASE, address, call, first_child, function, image_of, tail_call, told, word

# opcode_base 13, line_base -5, line_range 14: as compilers choose them.
LENGTHS = bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))
FILES_4 = b"inc\0\0" + b"one.c\0\0\0\0" + b"two.h\0\x01\0\0" + b"\0"
FILES_5 = b"\x01\x01\x08" + b"\x02/src\0inc\0" + b"\x02\x01\x08\x02\x0b" + b"\x02one.c\0\0two.h\0\x01"


def table(program: bytes, version: int, *, unit: int = 1) -> bytes:
    fixed = bytes((unit,)) + (b"\x01" if version >= 4 else b"") + bytes((1, 0xFB, 14, 13)) + LENGTHS
    rest = fixed + (FILES_5 if version == 5 else FILES_4)
    body = struct.pack("<H", version) + (b"\x08\x00" if version == 5 else b"") + word(len(rest)) + rest + program
    return word(len(body)) + body


def image(program: bytes, version: int = 5, *, unit: int = 1) -> Image:
    """An image whose unit, of the line table's version, has this line number program and no functions."""
    abbreviation = b"\x01\x11\x00" + bytes((0x03, 0x08, 0x10, 0x17, 0x1B, 0x08)) + b"\0\0\0"
    entry = b"\x01" + b"one.c\0" + word(0) + b"/src\0"
    header = struct.pack("<HBBI", 5, 1, 8, 0) if version == 5 else struct.pack("<HIB", version, 0, 8)
    info = word(len(header) + len(entry)) + header + entry
    lines = table(program, version, unit=unit)
    return image_of(more={".debug_info": info, ".debug_abbrev": abbreviation, ".debug_line": lines})


def extended(opcode: int, operand: bytes = b"") -> bytes:
    return bytes((0, 1 + len(operand), opcode)) + operand


AT = extended(2, address(BASE))
END = extended(1)
ONE = {5: 0, 4: 1, 3: 1, 2: 1}  # the number of one.c: DWARF 5 counts from 0


def lines_of(program: bytes, *at: int, version: int = 5, unit: int = 1) -> list[tuple[str, int] | None]:
    info = debug_info(image(program, version, unit=unit))
    assert info.problems == (), info.problems
    found = [info.line_at(BASE + offset) for offset in at]
    return [None if line is None else (line.file, line.line) for line in found]


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_files_and_folders(version: int) -> None:
    number = ONE[version]
    program = AT + bytes((4, number, 1, 2, 4, 4, number + 1, 1, 2, 4)) + END
    assert lines_of(program, 0, 4, 8, version=version) == [("/src/one.c", 1), ("/src/inc/two.h", 1), None]


def test_each_standard_opcode_moves_what_the_specification_says() -> None:
    start = AT + b"\x04\x00"  # set_file 0
    assert lines_of(start + b"\x03\x09\x01" + b"\x02\x08" + END, 0, 7, 8) == [("/src/one.c", 10)] * 2 + [None]
    assert lines_of(start + b"\x03\x7e\x03\x0b\x01" + b"\x02\x01" + END, 0) == [("/src/one.c", 10)]  # advance -2, +11
    # const_add_pc: as special opcode 255, (255 - 13) // 14 = 17 units
    assert lines_of(start + b"\x01\x08\x03\x01\x01\x02\x01" + END, 16, 17, 18) == [
        ("/src/one.c", 1),
        ("/src/one.c", 2),
        None,
    ]
    assert lines_of(start + b"\x01\x09\x20\x00\x03\x01\x01\x02\x01" + END, 31, 32) == [
        ("/src/one.c", 1),
        ("/src/one.c", 2),
    ]
    # negate_stmt, basic_block, prologue_end, epilogue_begin, set_isa: nothing here
    assert lines_of(start + b"\x06\x07\x0a\x0b\x0c\x05\x01\x02\x01" + END, 0) == [("/src/one.c", 1)]


def test_special_opcodes_move_both() -> None:
    # 13 + 14 * 3 + 5 + 2: three units on, two lines on
    program = AT + b"\x04\x00\x01" + bytes((13 + 14 * 3 + 7,)) + b"\x02\x04" + END
    assert lines_of(program, 0, 2, 3, 6, 7) == [("/src/one.c", 1)] * 2 + [("/src/one.c", 3)] * 2 + [None]


def test_the_minimum_length_of_an_instruction_scales_advances_but_not_the_fixed_one() -> None:
    program = AT + b"\x04\x00\x01\x02\x02\x03\x01\x01\x09\x02\x00" + END
    assert lines_of(program, 7, 8, 9, 10, unit=4) == [("/src/one.c", 1), ("/src/one.c", 2), ("/src/one.c", 2), None]


def test_a_discriminator_holds_for_one_row_and_columns_until_changed() -> None:
    program = AT + b"\x04\x00\x05\x07" + extended(4, b"\x03") + b"\x01\x02\x04\x01\x02\x04" + END
    info = debug_info(image(program))
    assert info.line_at(BASE) == Line("/src/one.c", 1, 7, 3)
    assert info.line_at(BASE + 4) == Line("/src/one.c", 1, 7, 0)


def test_an_unknown_extended_opcode_is_passed_over_and_an_end_starts_afresh() -> None:
    again = extended(2, address(BASE + 0x20)) + b"\x04\x00\x01\x02\x04" + END
    program = AT + b"\x04\x01\x03\x05\x01" + extended(0x80, b"abc") + b"\x02\x04" + END + again
    assert lines_of(program, 0, 4, 0x20) == [("/src/inc/two.h", 6), None, ("/src/one.c", 1)]


def test_rows_outside_the_image_and_of_no_length_are_left_out() -> None:
    gone = extended(2, address(0)) + b"\x01\x02\x04" + END
    program = gone + AT + b"\x04\x00\x01\x03\x01\x01\x02\x04" + END
    info = debug_info(image(program))
    assert info.line_at(0) is None
    assert info.line_at(BASE) == Line("/src/one.c", 2)


@pytest.mark.parametrize(
    ("program", "detail"),
    [
        (AT + b"\x01", "no end"),
        (AT + b"\x02", "bytes wanted"),
        (b"\x00\x00", "an extended opcode of 0 bytes"),
        (b"\x00\x7f\x01", "an extended opcode of 127 bytes"),
        (AT + b"\x02" + b"\x80" * 20, "LEB128"),
    ],
)
def test_damage_is_a_typed_error_that_names_the_place(program: bytes, detail: str) -> None:
    info = debug_info(image(program))
    [problem] = info.problems
    assert detail in problem.detail
    assert problem.section == ".debug_line" and problem.offset > 0
    assert info.line_at(BASE) is None


def test_a_count_of_files_that_no_bytes_stand_for_is_an_error_and_takes_no_time() -> None:
    data = bytearray(image(END).sections[".debug_line"].data)
    where = bytes(data).index(FILES_5)
    for replacement in (b"\x00\xff\xff\xff\xff\x0f", b"\x01\x01\x08\xff\xff\xff\xff\x0f"):
        changed = bytes(data[:where]) + replacement.ljust(len(FILES_5), b"\0") + bytes(data[where + len(FILES_5) :])
        damaged = image(END)
        sections = {**damaged.sections, ".debug_line": Section(".debug_line", 0, 0, changed)}
        [problem] = debug_info(replace(damaged, sections=sections)).problems
        assert "names in a line table's header" in problem.detail


# Chains of tail calls: which are certain, ambiguous, or not to be known.


def chain(calls: dict[str, list[str]], executing: str, *, unlisted: tuple[str, ...] = (), pointer: str = "") -> Chain:
    """The answer for ``main -> first``, with the tail calls ``calls``; ``pointer`` also jumps through one."""
    every = list(dict.fromkeys(("main", *calls, *(callee for callees in calls.values() for callee in callees))))
    at = {name: BASE + 0x10 * i for i, name in enumerate(every)}

    def sites(name: str) -> tuple[CallSite, ...]:
        if name == "main":
            return (CallSite(at["main"] + 8, None, CallTarget(next(iter(calls)), at[next(iter(calls))]), tail=False),)
        tails = (
            CallSite(None, at[name] + 1 + i, CallTarget(callee, at[callee]), tail=True)
            for i, callee in enumerate(calls.get(name, ()))
        )
        return (*tails, *((CallSite(None, at[name] + 9, None, tail=True),) if name == pointer else ()))

    functions = tuple(
        Function(n, "", ((at[n], at[n] + 0x10),), at[n], (), sites(n), n not in unlisted, (at[n],)) for n in every
    )
    info = told(functions)
    return tail_chain(info, at["main"] + 8, next(f for f in functions if f.name == executing))


def links(answer: Chain) -> list[str]:
    return [link.function.name for link in answer.links]


CERTAIN, AMBIGUOUS, UNKNOWN = Certainty.CERTAIN, Certainty.AMBIGUOUS, Certainty.UNKNOWN
Calls = dict[str, list[str]]
CYCLE: Calls = {"a": ["b"], "b": ["a", "c"], "c": []}

# tail calls, the function that executes, how certain the chain is, its links, what is said of it
CHAINS: list[tuple[Calls, str, Certainty, list[str], str]] = [
    # It runs from the target to before the executing function.
    ({"a": ["b"], "b": ["c"], "c": ["d"], "d": []}, "d", CERTAIN, ["a", "b", "c"], ""),
    ({"a": ["b"], "b": []}, "a", CERTAIN, [], ""),
    # Side branches and cycles that lead elsewhere do not matter.
    ({"a": ["b", "x", "y"], "b": ["c"], "x": ["y"], "y": [], "c": ["x"]}, "c", CERTAIN, ["a", "b"], ""),
    ({"a": ["b", "x"], "b": [], "x": ["y"], "y": ["x"]}, "b", CERTAIN, ["a"], ""),
    # Two ways are ambiguous; a short cut is a second one.
    ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, "d", AMBIGUOUS, [], ""),
    ({"a": ["b", "c"], "b": ["c"], "c": []}, "c", AMBIGUOUS, [], ""),
    # So is a cycle on the way, even where each function is passed once only, and a function that calls itself.
    *((CYCLE, executing, AMBIGUOUS, [], "laps") for executing in ("a", "b", "c")),
    ({"a": ["a", "b"], "b": []}, "b", AMBIGUOUS, [], ""),
    # No listed tail call reaches it.
    ({"a": [], "b": []}, "b", UNKNOWN, [], "no listed tail call leads from a"),
]


@pytest.mark.parametrize(("calls", "executing", "certainty", "expected", "because"), CHAINS)
def test_a_chain_is_certain_ambiguous_or_unknown(
    calls: Calls, executing: str, certainty: Certainty, expected: list[str], because: str
) -> None:
    answer = chain(calls, executing)
    assert (answer.certainty, links(answer)) == (certainty, expected)
    assert because in answer.because


def test_two_ways_are_both_named() -> None:
    answer = chain({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, "d")
    assert sorted(answer.candidates) == [("a", "b"), ("a", "c")]


@pytest.mark.parametrize("where", ["a", "b", "x"])
def test_a_jump_through_a_pointer_anywhere_within_reach_makes_it_unknown(where: str) -> None:
    answer = chain({"a": ["b", "x"], "b": ["c"], "c": [], "x": []}, "c", pointer=where)
    assert (answer.certainty, answer.links) == (UNKNOWN, ())
    assert "a pointer" in answer.because


def test_call_sites_that_are_not_all_listed_prove_nothing() -> None:
    answer = chain({"a": ["b"], "b": []}, "b", unlisted=("a",))
    assert (answer.certainty, answer.links) == (UNKNOWN, ())


TO_LEAF = BASE + 0x80


AT_CONSTANT, AT_VARIABLE = BASE + 0x200, 0x8000  # words that hold the address of leaf


def through_a_pointer(expression: bytes, *, clobbered: bool = False) -> Chain:
    """The answer for ``main -> first``, which jumps to leaf through a pointer that is computed so."""
    first = first_child()
    jump = tail_call(BASE + 0x48, expression, clobbered=clobbered)
    image = image_of(
        function("first", BASE + 0x40, 0x20, jump),
        function("main", BASE, 0x20, call(first, BASE + 8)),
        function("leaf", TO_LEAF, 0x20),
    )
    [code] = image.segments
    data = code.data[:0x200] + address(TO_LEAF) + code.data[0x208:]
    variables = Segment(AT_VARIABLE, address(TO_LEAF), 8, True, True, False)
    info = debug_info(replace(image, segments=(replace(code, data=data), variables)))
    assert info.problems == ()
    return tail_chain(info, BASE + 8, next(f for f in info.functions if f.name == "leaf"))


# the expression of a pointer, whether the call clobbers it, how certain the chain is, what is said of it
POINTERS: list[tuple[bytes, bool, Certainty, str]] = [
    # A pointer that is always the same is followed:
    (b"\x03" + address(TO_LEAF), False, CERTAIN, ""),  # DW_OP_addr
    (b"\x03" + address(AT_CONSTANT) + b"\x06", False, CERTAIN, ""),  # DW_OP_deref of what nobody writes
    (b"\x03" + address(AT_CONSTANT - 0x90) + b"\x23\x90\x01\x06", False, CERTAIN, ""),  # DW_OP_plus_uconst
    # one that may be another is not:
    (b"", False, UNKNOWN, "a pointer"),
    (b"\x55", False, UNKNOWN, "a pointer"),  # DW_OP_reg5
    (b"\x75\x08\x06", False, UNKNOWN, "a pointer"),  # DW_OP_breg5 8, DW_OP_deref
    (b"\xa3\x01\x55", False, UNKNOWN, "a pointer"),  # DW_OP_entry_value of DW_OP_reg5, as gcc writes it
    (b"\x03" + address(AT_VARIABLE) + b"\x06", False, UNKNOWN, "a pointer"),  # a word that a store can change
    (b"\x03" + address(0x9000) + b"\x06", False, UNKNOWN, "a pointer"),  # a word outside the file
    (b"\x03" + address(TO_LEAF) + b"\x9f\x30", False, UNKNOWN, "a pointer"),
    (b"\x06", False, UNKNOWN, "a pointer"),
    (b"\x03" + address(TO_LEAF), True, UNKNOWN, ""),
    (b"\x03" + address(BASE + 0x500), False, UNKNOWN, "0x1500"),  # no function
]


@pytest.mark.parametrize(("expression", "clobbered", "certainty", "because"), POINTERS)
def test_a_jump_through_a_pointer(expression: bytes, clobbered: bool, certainty: Certainty, because: str) -> None:
    answer = through_a_pointer(expression, clobbered=clobbered)
    assert (answer.certainty, links(answer)) == (certainty, ["first"] if certainty is CERTAIN else [])
    assert because in answer.because


def test_a_hundred_functions_in_a_row_and_a_mesh_of_thirty_end_soon() -> None:
    row = {f"f{i}": [f"f{i + 1}"] for i in range(100)}
    assert len(chain(row, "f100").links) == 100
    mesh = {f"f{i}": [f"f{j}" for j in range(i + 1, 31)] for i in range(30)}
    answer = chain(mesh, "f30")
    assert answer.certainty is Certainty.AMBIGUOUS
    assert 2 <= len(answer.candidates) <= 4
