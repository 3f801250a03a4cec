"""What the reader of assembly sources takes, and where it says that something is wrong."""

from __future__ import annotations

import pytest

from testbed.arch import ARCHES
from testbed.build import directives as d
from testbed.build.assembly import read_assembly
from testbed.build.expressions import Expression
from testbed.build.link import assemble_program
from testbed.build.source_place import Place
from testbed.build.statements import Cfi, Data, Ehabi, Fill, Label, SourceInstruction
from testbed.program.model import program_from_text
from testbed.words.errors import BuildError

ARM32, X86 = ARCHES["arm32"], ARCHES["x86_64"]


def read(text: str, isa: str = "a32") -> list[object]:
    arch = X86 if isa == "x86_64" else ARM32
    chosen = arch.isa_named(isa)
    assert chosen is not None
    source = program_from_text("t", arch, f"// summary: t\n// exit: 0\n{text}", isa=isa).sources[isa]
    return list(read_assembly(source, arch, chosen).statements)


def built(text: str, isa: str = "x86_64") -> bytes:
    arch = X86 if isa == "x86_64" else ARM32
    chosen = arch.isa_named(isa)
    assert chosen is not None
    return assemble_program(program_from_text("t", arch, text, isa=isa).sources[isa], arch, chosen)


def test_labels_comments_and_instructions() -> None:
    found = read("f: .Lg: add r0, r0, #1 // more\n.arm\n.thumb\n  bx lr\n")
    assert [(type(s).__name__, getattr(s, "name", "")) for s in found[:2]] == [("Label", "f"), ("Label", ".Lg")]
    add, bx = (s for s in found if isinstance(s, SourceInstruction))
    assert (add.mnemonic, add.operands, add.isa.name, bx.isa.name) == ("add", "r0, r0, #1", "a32", "thumb")
    assert (add.place.line, add.place.column, bx.place.line, bx.place.column) == (3, 9, 6, 3)


def test_data_and_strings() -> None:
    found = read('.word 1, f + 4\n.byte 2\n.asciz "a//b\\n"\n.space 3, 0xff\n')
    words, byte, text, space = found
    assert isinstance(words, Data)
    assert words.size == 4
    assert [v.text for v in words.values] == ["1", "f + 4"]
    assert isinstance(byte, Data)
    assert byte.size == 1
    assert [f.content for f in (text, space) if isinstance(f, Fill)] == [b"a//b\n\0", b"\xff\xff\xff"]


@pytest.mark.parametrize(
    ("text", "directive"),
    [
        (".cfi_startproc", d.cfi("startproc")),
        (".cfi_startproc simple", d.cfi("startproc", 1)),
        (".cfi_endproc", d.cfi("endproc")),
        (".cfi_def_cfa sp, 8", d.cfi("def_cfa", 13, 8)),
        (".cfi_def_cfa_offset 4*2", d.cfi("def_cfa_offset", 8)),
        (".cfi_def_cfa_register fp", d.cfi("def_cfa_register", 11)),
        (".cfi_adjust_cfa_offset -8", d.cfi("adjust_cfa_offset", -8)),
        (".cfi_offset lr, -4", d.cfi("offset", 14, -4)),
        (".cfi_offset 264, -16", d.cfi("offset", 264, -16)),
        (".cfi_rel_offset r4, 0", d.cfi("rel_offset", 4, 0)),
        (".cfi_val_offset sp, 4", d.cfi("val_offset", 13, 4)),
        (".cfi_register lr, r3", d.cfi("register", 14, 3)),
        (".cfi_restore d8", d.cfi("restore", 264)),
        (".cfi_undefined lr", d.cfi("undefined", 14)),
        (".cfi_same_value r4", d.cfi("same_value", 4)),
        (".cfi_remember_state", d.cfi("remember_state")),
        (".cfi_restore_state", d.cfi("restore_state")),
        (".cfi_escape 0x0f, 3, -1", d.cfi("escape", *b"\x0f\x03\xff")),
        (".cfi_negate_ra_state", d.cfi("negate_ra_state")),
        (".cfi_signal_frame", d.cfi("signal_frame")),
        (".cfi_return_column 3", d.cfi("return_column", 3)),
        (".fnstart", d.FnStart()),
        (".fnend", d.FnEnd()),
        (".cantunwind", d.CantUnwind()),
        (".save {r4-r6, lr}", d.Save(0x4070)),
        (".vsave {d8-d9}", d.VSave(0x300)),
        (".setfp r7, sp, #4", d.SetFp(7, 13, 4)),
        (".pad #16", d.Pad(16)),
        (".movsp r7, #4", d.MovSp(7, 4)),
        (".personalityindex 1", d.PersonalityIndex(1)),
        (".unwind_raw 4, 0xb1, 0x08", d.UnwindRaw(4, b"\xb1\x08")),
    ],
)
def test_each_unwind_directive_is_read(text: str, directive: object) -> None:
    (statement,) = read(text)
    assert isinstance(statement, Cfi | Ehabi)
    assert statement.directive == directive


def test_words_after_handlerdata_belong_to_it() -> None:
    found = read(".fnstart\n.personality f\n.handlerdata\n.word 1, 2\n.long 3\n.fnend\n.word 4")
    data = next(s.directive for s in found if isinstance(s, Ehabi) and isinstance(s.directive, d.HandlerData))
    assert [w.constant() for w in data.words] == [1, 2, 3]
    assert isinstance(found[-1], Data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".sectoin .data", r"3:1: unknown directive \.sectoin"),
        ("  .section .data", r"3:3: unknown directive \.section"),
        (".cfi_ofset lr, -4", r"3:1: unknown directive \.cfi_ofset; did you mean \.cfi_offset"),
        (".cfi_offset lr", r"3:1: \.cfi_offset takes a register and an offset, not lr"),
        (".cfi_offset r99, 4", "3:1: arm32 has no register 'r99'"),
        (".cfi_escape 256", "3:1: 0x100 is no byte"),
        (".cfi_sections .text", "3:1: .cfi_sections takes"),
        (".save r4", "3:1: a register list in braces"),
        (".save {d8}", "3:1: 'd8' is no core register"),
        (".vsave {r4}", "3:1: 'r4' is none of d0 to d31"),
        (".type f, function", "3:1: .type: %function or %object"),
        (".align 13", "3:1: .align 13: not a power of two up to 4096 bytes"),
        (".p2align 40", "3:1: .p2align 40: not a power of two"),
        (".space -1", "3:1: -1 bytes"),
        (".asciz f", "3:1: a string in double quotes"),
        ("nop; nop", "3:1: 'nop; nop' is neither|3:1: ';'"),
        ("add r0, r0, #1 @ one", "3:1: '@' in the operands"),
        ("movw r0, #:lower16:f", "3:1: ':' in the operands"),
        ("ldr r0, =f", "3:1: '=' in the operands"),
        (".handlerdata", "3:1: .handlerdata without .fnend"),
        ("1: nop", "3:1: '1: nop' is neither"),
    ],
)
def test_what_is_not_understood_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(BuildError, match=rf"t\.a32\.S:({message})"):
        read(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("_start:\n  nop\n  movv rax, rbx\n", r"3:3: keystone: Invalid mnemonic"),
        ("_start: jmp nowhere\n", r"1:9: keystone: Cannot find a symbol"),
        ("_start: nop\n_start: nop\n", r"2:1: '_start' is already defined in line 1"),
        ("f: nop\n", r".* there is no label '_start'"),
        (".globl g\n_start: nop\n", r"1:1: 'g' is not defined"),
        ("_start: .cfi_startproc\n nop\n", r"1:9: \.cfi_startproc without \.cfi_endproc"),
        ("_start: .cfi_def_cfa_offset 8\n nop\n", r"1:9: a \.cfi directive outside"),
        ("_start: nop\n.byte 256\n", r"2:1: '256' is 0x100: that does not fit 1 bytes"),
        ("_start: nop\n.quad f\n", r"2:1: 'f' is not defined here"),
        ("_start: .quad 1\n", r".*there is no instruction in it"),
        ("_start: nop\nmov eax, 09\n", r"2:1: '09' is no number"),
    ],
)
def test_what_does_not_assemble_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(BuildError, match=rf"t\.x86_64\.S:({message}| ?{message[2:]})"):
        built(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2*3", 7),
        ("(1 + 2)*3", 9),
        ("-8", -8),
        ("~0 & 0xff", 255),
        ("1 << 4 | 1", 17),
        ("f - 2", 98),
        ("0b11", 3),
        ("7 / 2 % 2", 1),
    ],
)
def test_expressions(text: str, value: int) -> None:
    place = Place(program_from_text("t", X86, "nop").sources["x86_64"].path, 1, 1)
    assert Expression(place, text).value({"f": 100}.get) == value


@pytest.mark.parametrize("text", ["", "1 +", "(1", "1 2", "1 / 0", "1 << -1", "f", "'a'", "(" * 60 + "1" + ")" * 60])
def test_a_wrong_expression_is_an_error(text: str) -> None:
    place = Place(program_from_text("t", X86, "nop").sources["x86_64"].path, 4, 2)
    with pytest.raises(BuildError, match=r"t\.x86_64\.S:4:2: "):
        Expression(place, text).constant()


def test_labels_are_read_before_any_statement() -> None:
    assert [type(s) for s in read("a:\nb: nop")] == [Label, Label, SourceInstruction]
