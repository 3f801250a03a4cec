"""The catalogue of conventions: what each keeps, as its document says, and how one is named."""

from __future__ import annotations

import copy
import pickle

import pytest

from testbed.arch import ARCHES, Arch
from testbed.conventions import CONVENTIONS, Convention, convention_named, platform
from testbed.words.errors import UsageError

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
