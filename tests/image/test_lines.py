"""Lines of code, and the calls that were inlined or left as tail calls."""

import struct
from dataclasses import replace
from typing import Any

import pytest

from testbed.image import Image, Section, Segment
from testbed.image.debug import debug_info
from testbed.image.debug.functions import CallSite, CallTarget, Function
from testbed.image.debug.lines import Line
from testbed.image.debug.tail_chains import Certainty, Chain, tail_chain
from testbed.profiling.thread_run import look_ahead
from testbed.runs.places import addresses_at, place_of
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


START, ONE_C, TWO_H = AT + b"\x04\x00", "/src/one.c", "/src/inc/two.h"  # set_file 0

# a program, the version of its table, the least length of an instruction; file and line by the distance from BASE
LINES: list[tuple[bytes, int, int, dict[int, tuple[str, int] | None]]] = [
    # files and folders
    *(
        (
            AT + bytes((4, number, 1, 2, 4, 4, number + 1, 1, 2, 4)) + END,
            version,
            1,
            {0: (ONE_C, 1), 4: (TWO_H, 1), 8: None},
        )
        for version, number in ONE.items()
    ),
    # each standard opcode moves what the specification says
    (START + b"\x03\x09\x01" + b"\x02\x08" + END, 5, 1, {0: (ONE_C, 10), 7: (ONE_C, 10), 8: None}),
    (START + b"\x03\x7e\x03\x0b\x01" + b"\x02\x01" + END, 5, 1, {0: (ONE_C, 10)}),  # advance -2, +11
    # const_add_pc: as special opcode 255, (255 - 13) // 14 = 17 units
    (START + b"\x01\x08\x03\x01\x01\x02\x01" + END, 5, 1, {16: (ONE_C, 1), 17: (ONE_C, 2), 18: None}),
    (START + b"\x01\x09\x20\x00\x03\x01\x01\x02\x01" + END, 5, 1, {31: (ONE_C, 1), 32: (ONE_C, 2)}),
    # negate_stmt, basic_block, prologue_end, epilogue_begin, set_isa: nothing here
    (START + b"\x06\x07\x0a\x0b\x0c\x05\x01\x02\x01" + END, 5, 1, {0: (ONE_C, 1)}),
    # special opcodes move both; 13 + 14 * 3 + 5 + 2: three units on, two lines on
    (
        START + b"\x01" + bytes((13 + 14 * 3 + 7,)) + b"\x02\x04" + END,
        5,
        1,
        {0: (ONE_C, 1), 2: (ONE_C, 1), 3: (ONE_C, 3), 6: (ONE_C, 3), 7: None},
    ),
    # the least length of an instruction scales advances, but not the fixed one
    (
        START + b"\x01\x02\x02\x03\x01\x01\x09\x02\x00" + END,
        5,
        4,
        {7: (ONE_C, 1), 8: (ONE_C, 2), 9: (ONE_C, 2), 10: None},
    ),
    (START + b"\x01\x08\x03\x01\x01\x02\x01" + END, 5, 2, {33: (ONE_C, 1), 34: (ONE_C, 2), 35: (ONE_C, 2), 36: None}),
    (START + b"\x01" + bytes((13 + 14 * 3 + 7,)) + b"\x02\x04" + END, 5, 4, {11: (ONE_C, 1), 12: (ONE_C, 3), 28: None}),
    # an unknown extended opcode is passed over, and an end starts afresh
    (
        AT
        + (b"\x04\x01\x03\x05\x01" + extended(0x80, b"abc") + b"\x02\x04" + END)
        + (extended(2, address(BASE + 0x20)) + b"\x04\x00\x01\x02\x04" + END),
        5,
        1,
        {0: (TWO_H, 6), 4: None, 0x20: (ONE_C, 1)},
    ),
]


@pytest.mark.parametrize(("program", "version", "unit", "lines"), LINES)
def test_a_program_gives_each_address_its_line(
    program: bytes, version: int, unit: int, lines: dict[int, tuple[str, int] | None]
) -> None:
    info = debug_info(image(program, version, unit=unit))
    assert info.problems == (), info.problems
    found = {offset: info.line_at(BASE + offset) for offset in lines}
    assert {offset: line and (line.file, line.line) for offset, line in found.items()} == lines


def test_a_discriminator_holds_for_one_row_and_columns_until_changed() -> None:
    program = AT + b"\x04\x00\x05\x07" + extended(4, b"\x03") + b"\x01\x02\x04\x01\x02\x04" + END
    info = debug_info(image(program))
    assert info.line_at(BASE) == Line("/src/one.c", 1, 7, 3)
    assert info.line_at(BASE + 4) == Line("/src/one.c", 1, 7, 0)


def test_a_line_without_code_begins_where_the_table_has_it_unless_it_has_code_elsewhere() -> None:
    line_2 = b"\x03\x01\x01"
    program = START + b"\x01" + line_2 + b"\x03\x01\x01\x02\x04" + line_2 + b"\x02\x04" + b"\x03\x7e" + b"\x01" + END
    lined = image(program)  # lines 1 and 2 without code, 3 and 4 with some, 2 again at the end
    starts = {line: addresses_at(lined, place_of(f"one.c:{line}")) for line in (1, 2, 3, 4, 5)}
    assert starts == {1: [BASE], 2: [BASE, BASE + 8], 3: [BASE], 4: [BASE + 4], 5: []}
    assert (info := debug_info(lined)).line_at(BASE) == Line(ONE_C, 3) and info.line_at(BASE + 8) is None
    assert look_ahead(lined, "one.c:1") == "one.c:1 has no code of its own: shown is one.c:3"
    assert look_ahead(lined, "one.c:3") == ""


def test_rows_outside_the_image_are_left_out_and_those_of_no_length_name_no_address() -> None:
    gone = extended(2, address(0)) + b"\x01\x02\x04" + END
    program = gone + AT + b"\x04\x00\x01\x03\x01\x01\x02\x04" + END
    info = debug_info(image(program))
    assert info.line_at(0) is None
    assert info.line_at(BASE) == Line("/src/one.c", 2)


@pytest.mark.parametrize(
    ("program", "detail"),
    [
        (AT + b"\x01", "no end"),
        (AT + b"\x02", "bytes are needed"),
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

# tail calls, the function that executes, what differs from listed calls; how certain the chain is, its links, what is
# said of it
CHAINS: list[tuple[Calls, str, dict[str, Any], Certainty, list[str], str]] = [
    # It runs from the target to before the executing function.
    ({"a": ["b"], "b": ["c"], "c": ["d"], "d": []}, "d", {}, CERTAIN, ["a", "b", "c"], ""),
    ({"a": ["b"], "b": []}, "a", {}, CERTAIN, [], ""),
    # Side branches and cycles that lead elsewhere do not matter.
    ({"a": ["b", "x", "y"], "b": ["c"], "x": ["y"], "y": [], "c": ["x"]}, "c", {}, CERTAIN, ["a", "b"], ""),
    ({"a": ["b", "x"], "b": [], "x": ["y"], "y": ["x"]}, "b", {}, CERTAIN, ["a"], ""),
    # Two ways are ambiguous; a short cut is a second one.
    ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, "d", {}, AMBIGUOUS, [], ""),
    ({"a": ["b", "c"], "b": ["c"], "c": []}, "c", {}, AMBIGUOUS, [], ""),
    # So is a cycle on the way, even where each function is passed once only, and a function that calls itself.
    *((CYCLE, executing, {}, AMBIGUOUS, [], "laps") for executing in ("a", "b", "c")),
    ({"a": ["a", "b"], "b": []}, "b", {}, AMBIGUOUS, [], ""),
    # No listed tail call reaches it.
    ({"a": [], "b": []}, "b", {}, UNKNOWN, [], "no listed tail call leads from a"),
    # Nor is it known where one within reach jumps through a pointer, or not all call sites are listed.
    *(
        ({"a": ["b", "x"], "b": ["c"], "c": [], "x": []}, "c", {"pointer": where}, UNKNOWN, [], "a pointer")
        for where in ("a", "b", "x")
    ),
    ({"a": ["b"], "b": []}, "b", {"unlisted": ("a",)}, UNKNOWN, [], ""),
]


@pytest.mark.parametrize(("calls", "executing", "listed", "certainty", "expected", "because"), CHAINS)
def test_a_chain_is_certain_ambiguous_or_unknown(
    calls: Calls, executing: str, listed: dict[str, Any], certainty: Certainty, expected: list[str], because: str
) -> None:
    answer = chain(calls, executing, **listed)
    assert (answer.certainty, links(answer)) == (certainty, expected)
    assert because in answer.because


def test_two_ways_are_both_named() -> None:
    answer = chain({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, "d")
    assert sorted(answer.candidates) == [("a", "b"), ("a", "c")]


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
    info = debug_info(replace(image, segments=(replace(code, held=data), variables)))
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
