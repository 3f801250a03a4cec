"""The catalogue of conventions: what each keeps, as its document says, and how one is named."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.arch import ARCHES, Arch
from testbed.conventions import CONVENTIONS, Convention, convention_named, platform
from testbed.conventions.chosen import chosen, said_of
from testbed.image import Image, Section, Symbol
from testbed.words.errors import UsageError
from tests.unwinders.frames import START, X86_64
from tests.unwinders.go_tables import SIZE, Go
from tests.unwinders.go_tables import made as image_with_table

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
    assert symbol is not None
    choice = chosen(made, symbol.address + 4)
    return choice.convention.name, choice.why


@pytest.mark.parametrize(
    ("arch", "name", "convention"),
    [
        ("x86_64", "plain", "sysv"),
        ("x86_64", "runtime.memmove.abi0", "go_abi0"),
        ("x86_64", "camlStdlib__map_1", "ocaml"),
        ("x86_64", "camlStdlib$map_1", "ocaml"),
        ("x86_64", "caml_call_gc", "sysv"),  # of a file without OCaml code
        ("x86_64", "__svml_sin4", "svml"),
        ("x86_64", "_ZGVnN2v_f", "sysv"),  # arm64's
        ("arm64", "_ZGVnN2v_f", "aarch64_vector_pcs"),
        ("arm64", "__svml_sin4", "aapcs64"),
        ("arm32", "camlStdlib__map_1", "ocaml"),
    ],
)
def test_a_name_shows_a_convention(arch: str, name: str, convention: str) -> None:
    found, why = at(image(arch), name)
    assert found == convention
    assert (why == "") == (convention in ("sysv", "aapcs64", "aapcs")), "why, where it is not the platform's"


@pytest.mark.parametrize("section", [".gopclntab", ".note.go.buildid"])
def test_a_file_of_go_shows_it(section: str) -> None:
    of_go = image("x86_64", section)
    assert at(of_go, "plain") == at(of_go, "main.run") == ("go", f"the file has {section}")
    assert at(of_go, "runtime.memmove.abi0")[0] == "go_abi0", "a symbol comes before the file"
    assert at(of_go, "camlStdlib__map_1")[0] == "ocaml"
    assert at(image("arm32", section), "plain") == ("go_abi0", f"the file has {section}"), "it has no other one there"


def test_code_of_c_in_a_file_of_go_is_its_platforms() -> None:
    made = image("x86_64", ".gopclntab", symbols=("_start", "runtime.text", "main.run", "runtime.etext", "crosscall1"))
    assert [at(made, name)[0] for name in ("_start", "main.run", "crosscall1")] == ["sysv", "go", "sysv"]


def test_code_of_c_in_a_stripped_file_of_go_lies_outside_of_gos_table() -> None:
    made = image_with_table(Go("main.run"), Go("main.more"), arch=X86_64)
    inside, outside = chosen(made, START + SIZE), chosen(made, START + 2 * SIZE)
    assert (inside.convention.name, outside.convention.name) == ("go", "sysv")


def test_what_is_said_comes_before_all_and_the_last_that_fits_counts() -> None:
    made = image("x86_64", ".gopclntab", said=("caml*=preserve_none", "camlS*=sysv-rbx"))
    assert at(made, "camlStdlib__map_1") == ("sysv-rbx", "it was said")
    assert at(made, "caml_call_gc") == ("preserve_none", "it was said")
    assert at(made, "plain")[0] == "go"


def test_what_is_said_of_a_file_holds_in_that_file() -> None:
    assert at(image("x86_64", said=("a!main.*=ocaml",)), "main.run")[0] == "ocaml"
    assert at(image("x86_64", said=("lib*!main.*=ocaml",)), "main.run")[0] == "sysv"
    assert at(image("x86_64", said=("?!=ocaml",)), "plain")[0] == "ocaml"


def test_what_is_said_of_all_is_said_of_code_without_a_name() -> None:
    assert chosen(image("x86_64", symbols=(), said=("ocaml",)), 0x5000).convention.name == "ocaml"
    assert chosen(image("x86_64", symbols=(), said=("f*=ocaml",)), 0x5000).convention.name == "sysv"


def test_what_another_architecture_has_is_said_of_that() -> None:
    assert at(image("arm32", said=("plain=preserve_most",)), "plain") == ("aapcs", "")


def test_a_variant_symbol_shows_vector_calls() -> None:
    made = image("arm64")
    marked = replace(made, symbols=tuple(replace(symbol, variant=True) for symbol in made.symbols))
    assert at(marked, "plain") == ("aarch64_vector_pcs", "its symbol says STO_AARCH64_VARIANT_PCS")


@pytest.mark.parametrize("table", ["caml_frametable", "caml_system__frametable", "caml_system.frametable"])
def test_the_helpers_of_ocamls_runtime_are_ocamls_in_its_files(table: str) -> None:
    names = ("caml_call_gc", "caml_program", "caml_apply3", "caml_curry10_1_app", "caml_raise_exception", "caml_alloc")
    found = [at(image("x86_64", symbols=(*names, table)), name)[0] for name in names]
    assert found == ["ocaml", "ocaml", "ocaml", "ocaml", "ocaml_raise", "sysv"]
    assert {at(image("x86_64", symbols=names), name)[0] for name in names} == {"sysv"}


@pytest.mark.parametrize("text", ["golang", "f=golang", "f=", ""])
def test_a_name_that_no_architecture_has_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no convention"):
        said_of(text)
