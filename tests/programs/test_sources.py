"""The files of the corpus: their headers, their list, and the assembly that both assemblers understand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from programs import PROGRAMS
from programs.generated import GENERATED
from testbed.arch import ARCHES
from testbed.program.fragments import numbered_lines
from testbed.program.model import Expectation, Language, parse_header, program_name, read_source
from testbed.words.errors import ProgramError
from testbed.words.traits import Trait

pytestmark = pytest.mark.whole

FOLDER = Path(__file__).parents[2] / "programs"
ISAS = [isa.name for arch in ARCHES.values() for isa in arch.isas]
SINGLE_ISA = {
    "att_syntax": "AT&T's syntax is x86's",
    "go_convention": "Go keeps no register on the other instruction sets either: two of them show it",
    "ocaml_convention": "OCaml keeps no register on the other instruction sets either: two of them show it",
    "svml_call": "SVML is a library of x86's vector instructions",
    "index_exchanged": "32-bit Arm has no .eh_frame_hdr",
    "interworking": "A32 and Thumb in one image: only arm32 has two instruction sets",
    "callee_pops": "only x86 has a return that pops arguments",
    "conditional_return": "only A32 executes any instruction under a condition: a Thumb block ends behind a jump",
    "veneer": "a call on x86 reaches 2 GB: linkers make no veneers",
    "cant_unwind": "a mark of the exception-handling tables of 32-bit Arm",
    "pointer_back": "x86_64 has few registers, so its compilers use rbp as one more; it was met in no other code",
    "nameless_caller": "its leaves keep their return address in a link register",
    "frame_in_part": "EHABI's tables have one row for a function",
    "kept_in_register": "only a link register is kept in another register",
    "passed_changed": "what glibc's swapcontext does on 32-bit ARM",
    "record_replaced": "EHABI's unwinders have the registers in memory of their own",
    "same_return": "a live link register is taken for a record that is linked",
    "signal_interworking": "a handler and a trampoline of two instruction sets",
    "signal_number": "Thumb's frame pointer is the register of a system call's number",
    "record_below": "what Go's compiler does around its `duffzero` on x86_64",
    "signal_zero_record": "as `pointer_back`: rbp is one more register; it was met in no other code",
    "adjusted_again": "one instruction set is enough for a defect of an assembler's directives",
    "drap": "GCC makes this for x86",
    "drap_wrong": "GCC makes this for x86",
    "outlined": "what LLVM's outliner does on arm64",
    "no_plt": "calls through memory are what x86_64 and arm64 do; `bti` and `endbr64` are theirs",
    "overlap": "32-bit Arm has no .eh_frame",
    "overlap_wrong": "32-bit Arm has no .eh_frame",
    "pac_early": "only arm64 signs return addresses",
    "pac_ret": "only arm64 signs return addresses",
    "pac_ret_wrong": "only arm64 signs return addresses",
    "plt": "Thumb code calls the stubs of A32",
    "push_ret": "where calls push, a return can jump",
    "record_place": "the psABI of x86_64 fixes the place",
    "retpoline": "a mitigation for x86 processors",
}

FILES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".c", ".cc", ".S"))
ASSEMBLY = [path for path in FILES if path.suffix == ".S"]


def test_the_corpus_is_there_and_every_file_belongs_to_a_program() -> None:
    assert {program_name(path) for path in FILES} | GENERATED.keys() == set(PROGRAMS)
    written = [program for name, program in PROGRAMS.items() if name not in GENERATED]
    assert len(FILES) == sum(len(program.sources) for program in written)
    assert {"leaf_call", "tail_call", "interworking", "big_frame", "struct_return"} <= set(PROGRAMS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_header_has_a_sentence_a_status_and_declared_frames(path: Path) -> None:
    header = read_source(path).header
    assert 20 < len(header.summary) < 120
    assert header.exit, "0 is what a program that did nothing returns"
    assert header.entry == "_start"
    assert header.frames
    roots = {header.entry, *(["coroutine"] if "coroutine" in path.name else [])}
    assert all(expectation.frames[-1] in roots for expectation in header.frames), "a stack ends at its root"


@pytest.mark.parametrize("name", [n for n, p in PROGRAMS.items() if "c" not in p.sources])
def test_an_assembly_program_exists_for_every_instruction_set_or_says_why_not(name: str) -> None:
    assert "c" not in PROGRAMS[name].sources
    if name in SINGLE_ISA:
        assert len(PROGRAMS[name].sources) < len(ISAS), SINGLE_ISA[name]
    else:
        assert sorted(PROGRAMS[name].sources) == sorted(ISAS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_sources_of_a_program_declare_the_same(name: str) -> None:
    def said(frames: tuple[Expectation, ...]) -> list[tuple[object, ...]]:
        return [(e.location, e.visit, e.frames) for e in frames]

    first, *others = (source.header for source in PROGRAMS[name].sources.values())
    for other in others:
        assert (other.summary, other.exit) == (first.summary, first.exit)
        assert said(other.frames) == said(first.frames)


def test_c_and_assembly_are_never_mixed_in_one_program() -> None:
    for program in PROGRAMS.values():
        assert len({source.language for source in program.sources.values()}) == 1, program.name
        assert all(s.language is not Language.ELF for s in program.sources.values())


def test_the_readme_lists_exactly_the_catalogue() -> None:
    listed = re.findall(
        r"^\| `([a-z_0-9]+)` \| (?:C|C\+\+|assembly[^|]*) \| (.*) \|$", (FOLDER / "README.md").read_text(), re.M
    )
    assert listed == [(program.name, program.summary) for name, program in PROGRAMS.items() if name not in GENERATED]


def test_the_readme_explains_every_header_key() -> None:
    """The parser's own complaint about an unknown key lists those that there are."""
    with pytest.raises(ProgramError) as caught:
        parse_header("x.c", "// qqqqqqqq: 1\n")
    keys = caught.value.detail.partition("there are: ")[2].split(", ")
    table = re.findall(r"^\| `([a-z-]+)` \| `// \1: [^`]+` \|", (FOLDER / "README.md").read_text(), re.M)
    assert len(keys) >= 8
    assert table == keys


# The subset that both assemblers understand

_DIRECTIVES = re.compile(
    r"\.(cfi_\w+|globl|type|size|thumb_func|word|quad|p2align|bss|space|arm|thumb|syntax unified|intel_syntax noprefix"
    r"|arch armv8.3-a|fnstart|fnend|save|vsave|setfp|pad|movsp|cantunwind|personality|handlerdata)\b"
)


@pytest.mark.parametrize("path", ASSEMBLY, ids=lambda path: path.name)
def test_assembly_stays_inside_the_common_subset(path: Path) -> None:
    source = read_source(path)
    if source.header.clang_only or source.header.syntax:
        return
    for file, number, line in numbered_lines(path, source.text, source.fragments):
        code = re.sub(r"//.*", "", line).strip()
        where = f"{file.name}:{number}: {line}"
        assert not re.search(r"/\*|;|@(?!function)", code), (
            f"{where}: only // begins a comment, one line is one statement"
        )
        assert not re.match(r"\d+:", code), f"{where}: a numeric label"
        assert not re.search(r"(?<![\w.])[1-9]\d+\b", code), f"{where}: a decimal number of two digits"
        if code.startswith(".") and not code.endswith(":"):
            assert _DIRECTIVES.match(code), f"{where}: not in the subset"


@pytest.mark.parametrize("path", ASSEMBLY, ids=lambda path: path.name)
def test_every_assembly_function_has_a_type_a_size_and_a_table(path: Path) -> None:
    source = read_source(path)
    text = "".join(f"{line}\n" for _, _, line in numbered_lines(path, source.text, source.fragments))
    functions = re.findall(r"^\.type ([\w.]+), [@%]function$", text, re.M)
    assert functions[0] == "_start"
    assert "main" in functions or source.header.frames[0].frames[-2] in functions, "what the root calls"
    for function in functions:
        assert re.search(rf"^{re.escape(function)}:$", text, re.M), function
        assert f".size {function}, . - {function}\n" in text, function
    header = source.header
    tabled = text.count(".cfi_startproc")
    assert tabled == text.count(".cfi_endproc")
    assert tabled == len(functions) or (header.untabled and tabled < len(functions))
    if ".syntax unified" in text:
        assert text.count(".fnstart") == text.count(".fnend") == tabled
        marked_otherwise = header.traits & {Trait.OPEN_END, Trait.CANNOT_UNWIND} or "coroutine" in path.name
        assert text.count(".cantunwind") == 1 or marked_otherwise
        assert ".cfi_sections .debug_frame" in text
