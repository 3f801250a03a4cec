"""`.gopclntab`: its header in each version, the tables by pc, what is known of each kind of function; then names."""

from dataclasses import replace

import pytest

from testbed.arch import Arch
from testbed.contract.rows import Offset, RegisterPlus, Rule, SameValue, Undefined, UnwindRow
from testbed.image import Image, Section
from testbed.image.go_functions import go_symbols
from testbed.words.errors import MalformedTable, NoUnwindInfo, UnsupportedRule
from tests.unwinders.frames import ARM64, START, X86_64, read_alike, told, u
from tests.unwinders.go_tables import ASM, EVERY, MAGIC, SIZE, SP_WRITE, TOP, Go, made, section
from unwinders.formats.gopclntab import gopclntab_index

VERSIONS = pytest.mark.parametrize("version", MAGIC)
BOTH = pytest.mark.parametrize("arch", [X86_64, ARM64], ids=str)


def rows_of(function: Go, arch: Arch = X86_64) -> list[UnwindRow]:
    """The rows of one function, in front of another one."""
    table = told(gopclntab_index(made(function, Go("main.behind", ()), arch=arch)).all_rows())
    return list(table.rows)


def shown(row: UnwindRow, arch: Arch) -> str:
    """Where a row is, its CFA, and where return address and frame pointer are."""
    word: dict[type[Rule], str] = {Undefined: "lost", SameValue: "kept"}

    def said(rule: Rule | None) -> str:
        match rule:
            case Offset(offset):
                return f"[CFA{offset:+}]"
            case RegisterPlus(register, offset):
                return f"{register}{offset:+}"
            case None:
                return "-"
            case _:
                at = getattr(rule, "register", None)
                return word[type(rule)] if at is None else f"[{at}{rule.offset:+}]"  # type: ignore[union-attr]

    names = (row.return_address, arch.frame_pointers[0])
    rules = " ".join(said(row.registers.get(name)) for name in names)
    return f"+{row.start - START}..{row.end - START} {said(row.cfa)} {rules}"


PCS = range(START - 1, START + SIZE * len(EVERY) + 1)


@BOTH
@VERSIONS
def test_the_second_reader_has_the_same_rows(arch: Arch, version: str) -> None:
    image = made(*EVERY, version=version, arch=arch)
    read_alike(image, ".gopclntab", *PCS)
    read_alike(replace(image, entry=START - 1), ".gopclntab", *PCS)  # C may start Go
    read_alike(made(*EVERY, arch=arch, module=START), ".gopclntab", *PCS)
    read_alike(made(*EVERY, arch=arch, module=0), ".gopclntab", *PCS)


# What a function's record and its table by pc say.


@pytest.mark.parametrize(
    ("function", "arch", "said"),
    [
        (Go("f", ((32, 0),)), X86_64, ["+0..32 rsp+8 [CFA-8] kept"]),
        (
            Go("f"),
            X86_64,
            [
                *("+0..4 rsp+8 [CFA-8] kept", "+4..5 rsp+32 [CFA-8] kept", "+5..24 rsp+32 [CFA-8] [CFA-16]"),
                "+24..32 rsp+8 [CFA-8] kept",
            ],
        ),
        (
            Go("f", ((4, 0), (4, 16), (4, 0), (20, 16))),  # only what makes the frame first may come before the save
            X86_64,
            [
                *("+0..4 rsp+8 [CFA-8] kept", "+4..5 rsp+24 [CFA-8] kept", "+5..8 rsp+24 [CFA-8] [CFA-16]"),
                *("+8..12 rsp+8 [CFA-8] kept", "+12..32 rsp+24 [CFA-8] [CFA-16]"),
            ],
        ),
        (Go("f", ((8, 0), (24, 16)), ASM), X86_64, ["+0..8 rsp+8 [CFA-8] lost", "+8..32 rsp+24 [CFA-8] lost"]),
        (Go("f", ((1, 0), (6, 16), (1, 0)), ASM), ARM64, ["+0..4 sp+0 x30+0 lost", "+28..32 sp+0 x30+0 lost"]),
        (Go("f", ((8, 0), (8, -16), (16, 0))), X86_64, ["+0..8 rsp+8 [CFA-8] kept", "+16..32 rsp+8 [CFA-8] kept"]),
        (Go("f", ((8, 0),)), X86_64, ["+0..8 rsp+8 [CFA-8] kept"]),
        (Go("f", ((64, 0),)), X86_64, ["+0..32 rsp+8 [CFA-8] kept"]),
        (Go("f", ((0, 0), (32, 8))), X86_64, ["+0..1 rsp+16 [CFA-8] kept", "+1..32 rsp+16 [CFA-8] [CFA-16]"]),
        (
            Go("f", ((32, 1 << 30),)),
            X86_64,
            ["+0..1 rsp+1073741832 [CFA-8] kept", "+1..32 rsp+1073741832 [CFA-8] [CFA-16]"],
        ),
        (Go("f", ()), X86_64, []),
        (
            Go("f", ((1, 0), (6, 32), (1, 0))),
            ARM64,
            [
                *("+0..4 sp+0 x30+0 kept", "+4..5 sp+32 [sp+0] kept", "+5..28 sp+32 [sp+0] [sp-8]"),
                "+28..32 sp+0 x30+0 kept",
            ],
        ),
        (Go("runtime.goexit", ((32, 0),), TOP), X86_64, ["+0..32 - lost -"]),
        (Go("runtime.sigpanic", ((32, 0),)), X86_64, ["+0..32 rsp+8 [CFA-8] kept"]),
    ],
)
def test_rows(function: Go, arch: Arch, said: list[str]) -> None:
    assert [shown(row, arch) for row in rows_of(function, arch)] == said


@BOTH
@VERSIONS
def test_every_version_says_the_same(arch: Arch, version: str) -> None:
    """Go 1.16 has no flags: what sets SP is known by name, and assembly is not."""
    functions = [each for each in EVERY if each.name not in ("memmove", "runtime.asyncPreempt")]
    found, newest = (
        gopclntab_index(made(*functions, version=each, arch=arch)).all_rows() for each in (version, "1.20")
    )
    assert [shown(row, arch) for row in found] == [shown(row, arch) for row in newest]
    assert [(part.start, str(part.why)) for part in found.broken] == [
        (part.start, str(part.why)) for part in newest.broken
    ]


@pytest.mark.parametrize(("flags", "why"), [(TOP, "another stack"), (SP_WRITE, "sets SP"), (SP_WRITE | ASM, "sets SP")])
def test_where_only_the_runtime_knows_the_callers_stack_nothing_is_said(flags: int, why: str) -> None:
    (part,) = gopclntab_index(made(Go("f", flags=flags))).all_rows().broken
    assert isinstance(part.why, NoUnwindInfo) and why in str(part.why)


@pytest.mark.parametrize(("arch", "start"), [(X86_64, "_rt0_amd64"), (ARM64, "_rt0_arm64")])
def test_where_start_code_jumps_to_rt0_go_it_is_the_root(arch: Arch, start: str) -> None:
    table = gopclntab_index(
        made(Go("runtime.rt0_go", ((32, 0),), TOP | SP_WRITE), Go(start, flags=ASM), arch=arch)
    ).all_rows()
    assert shown(table.rows[0], arch) == "+0..32 - lost -"


@pytest.mark.parametrize(
    ("entry", "arch", "start"),
    [(START - 1, X86_64, "_rt0_amd64"), (START - 1, ARM64, "_rt0_arm64"), (START, ARM64, "main"), (START, X86_64, "x")],
)
def test_where_somebody_may_have_called_rt0_go_it_is_no_root(entry: int, arch: Arch, start: str) -> None:
    """C did, or start code that does not jump."""
    image = made(Go("runtime.rt0_go", flags=TOP), Go(start, flags=ASM), arch=arch)
    (part,) = gopclntab_index(replace(image, entry=entry)).all_rows().broken
    assert isinstance(part.why, NoUnwindInfo) and "another stack" in str(part.why)


@pytest.mark.parametrize("name", ["runtime.sigpanic", "runtime.asyncPreempt", "runtime.debugCallV2"])
def test_a_caller_that_a_signals_handler_made_up_was_interrupted(name: str) -> None:
    """On arm64 the handler put the link register on the stack, and SP down by 16."""
    assert all(row.signal_frame for row in rows_of(Go(name)))
    row = rows_of(Go(name), ARM64)[-1]
    assert (row.return_address, row.registers["x30"], row.signal_frame) == ("pc", Offset(0), True)
    assert str(row.registers["sp"]) == "ValOffset(offset=16)"


# What cannot be read.


def altered(at: int, content: bytes, *functions: Go) -> Image:
    """The table of these functions with other bytes at a place."""
    sound = made(*functions)
    data = sound.sections[".gopclntab"].data
    at = at if at >= 0 else len(data) + at
    there = replace(sound.sections[".gopclntab"], held=data[:at] + content + data[at + len(content) :])
    return replace(sound, sections={**sound.sections, ".gopclntab": there})


@pytest.mark.parametrize(
    ("at", "content", "error", "why"),
    [
        (0, b"\xfb", UnsupportedRule, "Go 1.2 to 1.15"),
        (0, b"\xf2", MalformedTable, "magic 0xfffffff2"),
        (4, b"\1", MalformedTable, "instructions of 1 bytes"),
        (6, b"\3", MalformedTable, "instructions of 3 bytes"),
        (7, b"\4", MalformedTable, "pointers of 4"),
        (8, b"\xff\xff\xff\xff", MalformedTable, "reach past the end"),
        (8, b"\7", MalformedTable, "reach past the end"),
        (8 + 7 * 8, b"\xff\xff", MalformedTable, "past the end of the section"),
    ],
)
def test_a_header_that_breaks_the_format(at: int, content: bytes, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        gopclntab_index(altered(at, content, Go("f"))).all_rows()


@pytest.mark.parametrize(
    ("from_end", "content", "why"),
    [
        (44, b"\1", "a function at 0x1001, not 0x1000"),
        (40, b"\xff\xff", "past the end of the section"),
        (28, b"\xff\xff", "past the end of the section"),
    ],
)
def test_a_broken_record_is_the_matter_of_its_function(from_end: int, content: bytes, why: str) -> None:
    """A record is 44 bytes: entry, name, two that are not asked, pcsp ..."""
    table = gopclntab_index(altered(-from_end - 44, content, Go("f"), Go("g"))).all_rows()
    assert [why in str(part.why) for part in table.broken] == [True]
    assert table.at(START) is None and table.at(START + SIZE) is not None


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff" * 11, "LEB128"),
        (b"\xff\xff\xff\xff\x7f\1", "more than 32 bits"),
        (b"\xfe\xff\xff\xff\x0f\1" * 2, "a frame of"),
    ],
)
def test_a_table_by_pc_that_breaks_the_format(content: bytes, why: str) -> None:
    long = Go("f", ((1, 0), *((1, 8), (1, 16)) * 8))
    at = section([long]).index(b"\2\1\x10\1\x10\1")
    (part,) = gopclntab_index(altered(at, content, long)).all_rows().broken
    assert isinstance(part.why, MalformedTable) and why in str(part.why)


def test_from_go_1_26_on_the_module_says_where_the_code_begins() -> None:
    unsaid = made(Go("f"), module=0)
    relocation = b"".join(u(8, each) for each in (0x5000 + 22 * 8, 8, START))  # R_X86_64_RELATIVE
    rela = Section(".rela.dyn", 0x6000, 0, bytes(24) + relocation)
    relocated = replace(unsaid, sections={**unsaid.sections, ".rela.dyn": rela})
    for said in (made(Go("f"), module=START), relocated):
        assert gopclntab_index(said).all_rows().rows[0].start == START
    for broken in (unsaid, replace(unsaid, sections={".gopclntab": unsaid.sections[".gopclntab"]})):
        with pytest.raises(UnsupportedRule, match="before the file is loaded"):
            gopclntab_index(broken).all_rows()


# Names.


@BOTH
@VERSIONS
def test_names_of_functions(arch: Arch, version: str) -> None:
    sound = made(*EVERY, version=version, arch=arch)
    symbols = go_symbols(sound.sections, sound.account)
    assert [(s.name, s.address, s.size) for s in symbols] == [
        (each.name, START + SIZE * i, SIZE) for i, each in enumerate(EVERY)
    ]
