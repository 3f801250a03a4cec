"""The catalogue of conventions: what each keeps, as its document says, and how one is named."""

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from testbed.arch import ARCHES, Arch
from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck, FindingKind, Severity
from testbed.checks.options import CheckOptions
from testbed.checks.row_checks import check_rows, wrong_things
from testbed.cli.table_readers import READERS
from testbed.conventions import CONVENTIONS, Convention, convention_named, platform
from testbed.conventions.chosen import chosen, fitting_nothing, said_of
from testbed.image import Image, Section, Symbol
from testbed.report.check_report import FORMATS, CheckReport, told_beside
from testbed.report.json_data import run_data
from testbed.report.json_forms import schema
from testbed.runs.by_name import FileFacts, run_file
from testbed.runs.run import Run, judge_all, run_built
from testbed.verdicts.trace import Verdicts
from testbed.verdicts.verdict import OUTCOMES
from testbed.words.errors import UsageError
from testbed.words.outcome import Outcome
from tests import corpus
from tests.unwinders.frames import START, X86_64
from tests.unwinders.go_tables import SIZE, Go
from tests.unwinders.go_tables import made as image_with_table
from unwinders import UNWINDERS

EVERY = [each for of in CONVENTIONS.values() for each in of.values()]


def named(text: str) -> Convention:
    arch, name = text.split()
    return convention_named(ARCHES[arch], name)


@pytest.mark.parametrize(
    ("name", "keeps", "unwatched"),
    [
        ("x86_64 sysv", "rbx rbp r12 r13 r14 r15", ""),
        ("x86_64 svml", "rbx rbp r12 r13 r14 r15", "xmm8 xmm9 xmm10 xmm11 xmm12 xmm13 xmm14 xmm15"),
        ("x86_64 go", "rbp", ""),
        ("x86_64 go_abi0", "rbp", ""),
        ("x86_64 ocaml", "", ""),
        ("x86_64 ocaml_raise", "rbx rbp r12 r13", ""),
        ("x86_64 preserve_most", "rbx rbp r12 r13 r14 r15 rcx rsi rdi r8 r9 r10", ""),
        ("x86_64 preserve_none", "rbp", ""),
        ("x86_64 sysv-rbx-r12", "rbp r13 r14 r15", ""),
        ("arm64 go", "x29", ""),
        ("arm64 ocaml", "", ""),
        ("arm64 preserve_none", "x29", ""),
        ("arm32 go_abi0", "", ""),
        ("arm32 aapcs", "r4 r5 r6 r7 r8 r9 r10 r11 d8 d9 d10 d11 d12 d13 d14 d15", ""),
    ],
)
def test_what_a_convention_keeps(name: str, keeps: str, unwatched: str) -> None:
    convention = named(name)
    assert (" ".join(convention.preserved), " ".join(convention.unwatched)) == (keeps, unwatched)


def test_a_vector_call_keeps_whole_registers_of_which_the_lower_half_is_watched() -> None:
    plain, vector = named("arm64 aapcs64"), named("arm64 aarch64_vector_pcs")
    assert plain.preserved == vector.preserved and not plain.unwatched
    assert vector.unwatched == tuple(f"q{i}" for i in range(8, 24))
    assert {each.bits for each in vector.saved if each.column in (None, "d8")} == {128}


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_the_first_convention_is_the_platforms(arch: Arch) -> None:
    its = platform(arch)
    assert its is next(iter(CONVENTIONS[arch.name].values())) and its.arch is arch and its.judged


@pytest.mark.parametrize("convention", EVERY, ids=lambda each: f"{each.arch}-{each}")
def test_a_convention_names_registers_of_its_machine(convention: Convention) -> None:
    """And none twice: what is fixed, or holds an argument of no other convention's callee, is not saved besides."""
    arch, names = convention.arch, [each.name for each in convention.saved]
    general = {*convention.arguments, *convention.results, *convention.pointers, *convention.fixed}
    assert general <= arch.by_name.keys() and len(names) == len(set(names))
    assert not {*convention.results, *convention.fixed} & set(names)
    assert convention.return_register == arch.link
    assert arch.sp not in names and arch.pc not in names
    assert convention.record is None or convention.record.pointer in names
    assert all(each.bits >= 64 or each.column in arch.by_name for each in convention.saved)


@pytest.mark.parametrize("convention", [*EVERY, named("x86_64 sysv-rbx"), named("arm64 aapcs64-d8")], ids=repr)
def test_a_convention_from_another_process_is_the_one_of_the_catalogue(convention: Convention) -> None:
    assert pickle.loads(pickle.dumps(convention)) is convention
    assert copy.deepcopy(convention) is convention


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("x86_64 gо", "no convention 'gо' for x86_64; did you mean go"),
        ("arm32 go", "no convention 'go' for arm32; there are: aapcs, go_abi0"),
        ("x86_64 sysv-rax", "sysv of x86_64 does not save 'rax'; did you mean"),
        ("x86_64 go-rbx", "go of x86_64 does not save 'rbx'; did you mean rbp"),
    ],
)
def test_a_name_that_is_none(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says.replace("(", r"\(")):
        named(name)


# Which convention a function follows: who decides, in which order, and the words for why.

NAMES = (
    "plain",
    "main.run",
    "runtime.memmove.abi0",
    "camlStdlib__map_1",
    "camlStdlib$map_1",
    "caml_call_gc",
    "__svml_sin4",
    "_ZGVnN2v_f",
)


def image(arch: str, *sections: str, symbols: tuple[str, ...] = NAMES, said: tuple[str, ...] = ()) -> Image:
    made = tuple(Symbol(name, 0x1000 + 0x10 * i, 0x10, True) for i, name in enumerate(symbols))
    there = {name: Section(name, 0, 0, b"") for name in sections}
    return Image(Path("a"), ARCHES[arch], 0, (), there, made, conventions=tuple(map(said_of, said)))


def at(made: Image, name: str) -> tuple[str, str]:
    symbol = made.symbol_named(name)
    choice = chosen(made, symbol.address + 4)
    return choice.convention.name, choice.why


C_AND_GO = image("x86_64", ".gopclntab", symbols=("_start", "runtime.text", "main.run", "runtime.etext", "crosscall1"))
SAID_TWICE = image("x86_64", ".gopclntab", said=("caml*=preserve_none", "camlS*=sysv-rbx"))
PLATFORM = ""  # and why not the platform's: None where any reason will do

# a file, a function of it, its convention, and why
FOLLOWED: list[tuple[Image, str, str, str | None]] = [
    # a name shows a convention
    *(
        (image(arch), name, convention, why)
        for arch, name, convention, why in (
            ("x86_64", "plain", "sysv", PLATFORM),
            ("x86_64", "runtime.memmove.abi0", "go_abi0", None),
            ("x86_64", "camlStdlib__map_1", "ocaml", None),
            ("x86_64", "camlStdlib$map_1", "ocaml", None),
            ("x86_64", "caml_call_gc", "sysv", PLATFORM),  # of a file without OCaml code
            ("x86_64", "__svml_sin4", "svml", None),
            ("x86_64", "_ZGVnN2v_f", "sysv", PLATFORM),  # arm64's
            ("arm64", "_ZGVnN2v_f", "aarch64_vector_pcs", None),
            ("arm64", "__svml_sin4", "aapcs64", PLATFORM),
            ("arm32", "camlStdlib__map_1", "ocaml", None),
        )
    ),
    # a file of Go shows it; a symbol comes before the file; arm32 has no other one
    *(
        (image(arch, section), name, convention, f"the file has {section}" if why else None)
        for section in (".gopclntab", ".note.go.buildid")
        for arch, name, convention, why in (
            ("x86_64", "plain", "go", True),
            ("x86_64", "main.run", "go", True),
            ("x86_64", "runtime.memmove.abi0", "go_abi0", False),
            ("x86_64", "camlStdlib__map_1", "ocaml", False),
            ("arm32", "plain", "go_abi0", True),
        )
    ),
    # code of C in a file of Go is its platform's
    *((C_AND_GO, name, convention, None) for name, convention in (("_start", "sysv"), ("main.run", "go"))),
    (C_AND_GO, "crosscall1", "sysv", None),
    # what is said comes before all, and the last that fits counts
    (SAID_TWICE, "camlStdlib__map_1", "sysv-rbx", "it was said"),
    (SAID_TWICE, "caml_call_gc", "preserve_none", "it was said"),
    (SAID_TWICE, "plain", "go", None),
    # what is said of a file holds in that file, and what another architecture has is said of that
    (image("x86_64", said=("a!main.*=ocaml",)), "main.run", "ocaml", None),
    (image("x86_64", said=("lib*!main.*=ocaml",)), "main.run", "sysv", None),
    (image("x86_64", said=("?!=ocaml",)), "plain", "ocaml", None),
    (image("arm32", said=("plain=preserve_most",)), "plain", "aapcs", PLATFORM),
]


@pytest.mark.whole
@pytest.mark.parametrize(("made", "name", "convention", "why"), FOLLOWED)
def test_a_function_follows_a_convention(made: Image, name: str, convention: str, why: str | None) -> None:
    found, because = at(made, name)
    assert found == convention
    assert because == why if why is not None else because or found == "sysv", "why, where it is not the platform's"


def test_code_of_c_in_a_stripped_file_of_go_lies_outside_of_gos_table() -> None:
    made = image_with_table(Go("main.run"), Go("main.more"), arch=X86_64)
    inside, outside = chosen(made, START + SIZE), chosen(made, START + 2 * SIZE)
    assert (inside.convention.name, outside.convention.name) == ("go", "sysv")


def test_what_is_said_of_all_is_said_of_code_without_a_name() -> None:
    assert chosen(image("x86_64", symbols=(), said=("ocaml",)), 0x5000).convention.name == "ocaml"
    assert chosen(image("x86_64", symbols=(), said=("f*=ocaml",)), 0x5000).convention.name == "sysv"


def test_a_variant_symbol_shows_vector_calls() -> None:
    made = image("arm64")
    marked = replace(made, symbols=tuple(replace(symbol, variant=True) for symbol in made.symbols))
    assert at(marked, "plain") == ("aarch64_vector_pcs", "its symbol says STO_AARCH64_VARIANT_PCS")


@pytest.mark.parametrize(
    "table",
    ["caml_frametable", "caml_system__frametable", "caml_system.frametable", "caml_shared_startup__frametable"],
)
def test_the_helpers_of_ocamls_runtime_are_ocamls_in_its_files(table: str) -> None:
    own = ("caml_call_gc", "caml_alloc2_avx512", "caml_c_call_copy_stack_args", "caml_program", "caml_apply3")
    names = (*own, "caml_curry10_1_app", "caml_raise_exception", "caml_alloc")
    found = [at(image("x86_64", symbols=(*names, table)), name)[0] for name in names]
    assert found == [*["ocaml"] * (len(own) + 1), "ocaml_raise", "sysv"]
    assert {at(image("x86_64", symbols=names), name)[0] for name in names} == {"sysv"}


@pytest.mark.parametrize("text", ["golang", "f=golang", "f=", ""])
def test_a_name_that_no_architecture_has_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no convention"):
        said_of(text)


# Functions judged by their own convention: exact by it, where the platform's would call their right tables lies.


HERE = Path(__file__).parent
PLATFORMS = {"x86_64": "sysv", "arm64": "aapcs64"}


def run_of(program: str, arch: str, *said: str) -> Run:
    built = corpus.built(program, arch, "keystone")
    conventions = tuple(map(said_of, said)) or built.image.conventions
    return run_built(replace(built, image=replace(built.image, conventions=conventions)))


def outcomes(run: Run, natively: bool | None = None) -> set[Outcome]:
    verdicts = judge_all(run, UNWINDERS["eh_frame"], natively=natively)
    if isinstance(verdicts, Verdicts):  # what its columns say, which no specification made
        return {OUTCOMES[number] for number in verdicts.outcome.tolist()}
    return {verdict.outcome for verdict in verdicts}


@pytest.mark.parametrize("natively", [False, True])
@pytest.mark.parametrize("arch", PLATFORMS)
@pytest.mark.parametrize("program", ["go_convention", "ocaml_convention"])
def test_right_tables_are_exact_by_their_own_convention_and_lies_by_the_platforms(
    program: str, arch: str, natively: bool
) -> None:
    assert outcomes(run_of(program, arch), natively) == {Outcome.EXACT}
    of_c = run_of(program, arch, PLATFORMS[arch])
    assert outcomes(of_c, natively) == {Outcome.EXACT, Outcome.WRONG_REGISTER}
    assert not any(verdict.unexplained for verdict in judge_all(of_c, UNWINDERS["eh_frame"], natively=natively))


@pytest.mark.parametrize("natively", [False, True])
@pytest.mark.parametrize("arch", PLATFORMS)
@pytest.mark.parametrize("program", ["go_convention", "ocaml_convention"])
def test_assumptions_hold_a_register_to_the_convention_too(program: str, arch: str, natively: bool) -> None:
    run = run_of(program, arch)
    for unwinder in (each for each in UNWINDERS.values() if each.applies_to(run.built.image)):
        for step, verdict in enumerate(judge_all(run, unwinder, natively=natively)):
            assert not verdict.unexplained, (unwinder.name, step)
            assert bool(run.why(verdict, step)) == (verdict.failed is not None), (unwinder.name, step)


def test_what_is_said_is_told_in_text_and_json() -> None:
    run = run_of("go_convention", "x86_64")
    said, shown = run.conventions
    assert str(said) == "1 function by Go ABIInternal, not System V x86_64: it was said"
    assert str(shown) == "1 function by Go ABI0, not System V x86_64: its name ends in .abi0"
    (printed, _) = run_data(run, ())["conventions"]
    assert printed.keys() == schema("run")["properties"]["conventions"]["items"]["properties"].keys()
    assert (printed["name"], printed["functions"], printed["why"]) == ("go", 1, "it was said")
    assert "conventions" not in run_data(run_of("leaf_call", "x86_64"), ())


def checked(source: str, tmp_path: Path, *said: str, flags: Sequence[str] = (), arch: str | None = None) -> FileCheck:
    conventions = tuple(map(said_of, said))
    options = CheckOptions(runs=20, steps=200, arch=arch, flags=tuple(flags), conventions=conventions)
    return check_file(HERE / "sources" / source, options, READERS)


def wrong(check: FileCheck) -> set[str]:
    return {finding.function for finding in check.findings if finding.kind is FindingKind.WRONG_ROW}


@pytest.mark.parametrize(
    ("said", "those"),
    [
        ((), {"helper", "mistaken"}),
        (("helper=sysv-rbx",), {"mistaken"}),  # its callers know; another one's do not
        (("helper=sysv-r12",), {"helper", "mistaken"}),  # something else is said
        (("sysv-rbx",), set()),
        (("sysv-rbx", "mistaken=sysv"), {"mistaken"}),  # the last one that fits
    ],
)
def test_a_helper_that_is_said_to_have_a_contract_is_judged_by_it(
    said: tuple[str, ...], those: set[str], tmp_path: Path
) -> None:
    check = checked("helper.x86_64.S", tmp_path, *said)
    assert wrong(check) == those
    assert all("it was said" in str(each) for each in check.conventions) and bool(check.conventions) == bool(said)


def test_a_file_of_go_is_judged_by_go_and_says_why(tmp_path: Path) -> None:
    """And the frame pointer, which its tables never mention, is not held against them; a wrong CFA is."""
    check = checked("go.x86_64.S", tmp_path)
    assert wrong(check) == {"main.mistaken"}
    (taken,) = check.conventions
    assert (taken.name, taken.functions, taken.why) == ("go", 3, "the file has .gopclntab")
    assert {"main.sum", "main.outer"} <= wrong(checked("go.x86_64.S", tmp_path, "sysv"))


def test_a_function_that_keeps_more_than_the_platform_asks_is_held_to_it(tmp_path: Path) -> None:
    """preserve_most: r10 comes back, or the table, which says nothing of it, is wrong."""
    assert wrong(checked("keeps_more.x86_64.S", tmp_path)) == set()
    assert wrong(checked("keeps_more.x86_64.S", tmp_path, "loses=preserve_most", "keeps=preserve_most")) == {"loses"}


def test_debug_information_says_how_a_function_is_called_and_who_made_it(tmp_path: Path) -> None:
    check = checked("units.x86_64.S", tmp_path)
    assert wrong(check) == {"of_another"}
    assert {(each.name, each.why) for each in check.conventions} == {
        ("ocaml", "ocamlopt made its unit"),
        ("preserve_none", "its debug information says DW_CC_LLVM_PreserveNone"),
    }
    assert wrong(checked("units.x86_64.S", tmp_path, "of_itself=sysv")) == {"of_another", "of_itself"}


@pytest.mark.parametrize("arch", PLATFORMS)
def test_what_clang_writes_into_debug_information_is_read(arch: str, tmp_path: Path) -> None:
    check = checked("preserve_all.c", tmp_path, flags=("-O1", "-g"), arch=arch)
    (taken,) = check.conventions
    assert (taken.name, taken.functions) == ("preserve_all", 1)
    assert taken.why == "its debug information says DW_CC_LLVM_PreserveAll"


def test_the_rows_of_clang_come_late_where_it_saves_vector_registers(tmp_path: Path) -> None:
    """LLVM's X86FrameLowering: the CFA's row of `sub rsp` stands behind the saves of xmm0 to xmm15."""
    check = checked("preserve_all.c", tmp_path, "keeps=preserve_all", flags=("-O2", "-fasynchronous-unwind-tables"))
    finding = next(finding for finding in check.findings if finding.function == "keeps")
    assert finding.severity is Severity.ERROR and finding.things[0].what == "CFA"
    assert check.conventions[0].unwatched[0] == "xmm2"


def test_what_is_said_of_no_function_is_told(tmp_path: Path) -> None:
    (note,) = (note for note in checked("helper.x86_64.S", tmp_path, "helpers=go").notes if "--convention" in note)
    assert "'helpers'" in note and "no such function" in note
    assert not any("--convention" in note for note in checked("helper.x86_64.S", tmp_path, "help*=sysv").notes)


@pytest.mark.parametrize(("file", "is_told"), [("", True), ("{}!", True), ("*!", False), ("libc.so.6!", False)])
def test_what_names_this_file_and_no_function_of_it_is_told(file: str, is_told: bool) -> None:
    """What may be said of another file is not."""
    image = corpus.built("leaf_call", "x86_64", "keystone").image
    missing = file.format(image.path.name) + "no_such"
    assert fitting_nothing(image, [(missing, "sysv")]) == [missing] * is_told
    assert not fitting_nothing(image, [(file.format(image.path.name) + "_start", "sysv")])


def test_a_tail_call_goes_on_under_the_convention_of_the_function_that_was_called(tmp_path: Path) -> None:
    program = tmp_path / "tail_call"
    source = HERE / "sources" / "tail_call.x86_64.S"
    cc = (sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-musl", "-static", "-nostdlib")
    subprocess.run([*cc, source, "-o", program], check=True)
    run = run_file(program, facts=FileFacts(conventions=(("other", "ocaml"),)))
    verdicts = judge_all(run, UNWINDERS["eh_frame"], natively=True)
    lies = [step for step, verdict in enumerate(verdicts) if verdict.outcome is Outcome.WRONG_REGISTER]
    (loaded,) = run.trace.images
    rows = UNWINDERS["eh_frame"].rows
    checks = check_rows(run.watched, rows(loaded.image), loaded)
    assert [wrong_things(mask, run.trace.arch) for mask in checks.wrong[lies].tolist()] == [("rbx",)] * 3
    assert np.flatnonzero(checks.wrong).tolist() == lies, "the rows of `other` too, which were not asked to keep it"


def test_a_convention_of_another_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no convention 'aapcs64' for x86_64"):
        checked("helper.x86_64.S", tmp_path, "aapcs64")


def test_the_json_of_a_check_has_the_conventions_where_there_are_some(tmp_path: Path) -> None:
    def printed(*said: str) -> dict[str, Any]:
        report = CheckReport(told_beside((), [checked("helper.x86_64.S", tmp_path, *said)]), (), (), None, None)
        one: dict[str, Any] = json.loads(FORMATS["json"](report))["files"][0]
        return one

    assert "conventions" not in printed()
    (taken,) = printed("helper=sysv-rbx")["conventions"]
    assert taken["name"] == "sysv-rbx" and taken["title"] == "System V x86_64; changes rbx"
