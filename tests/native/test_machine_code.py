"""Machine code on disk: whole or not there; and no state of the disk changes what a function says."""

import os
import pickle
import sys
import warnings
from collections import Counter, namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite.binding import Linkage

from testbed.native import compiled as compiled_module
from testbed.native import machine_code
from testbed.native.compiled import LOADING, VARIABLE, compiled, is_kept, native, pays, sooner
from testbed.native.compiler import compiled_form
from testbed.native.forms import FORMS
from testbed.native.machine_code import CODE, file_of
from tests.cli.command import Testbed
from tests.native.example import Pair, difference, rests

FUNCTION = "tests.native.example.difference"


@pytest.fixture(autouse=True)
def folder(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(machine_code.VARIABLE, raising=False)
    return own_cache / "native"


def fresh() -> Any:
    """The example as a process sees it that has just started."""
    return compiled_form.__wrapped__(difference)


def hits(function: Any) -> int:
    return sum(function.stats.cache_hits.values())


def test_nothing_is_compiled_where_that_is_switched_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    fresh()(Pair(3.0, 1.0))
    assert not is_kept(difference)
    assert native(difference)(Pair(3.0, 1.0)) == 2.0 and not hasattr(native(difference), "stats")


@pytest.mark.parametrize("is_one_process", [True, False])
def test_python_spends_on_a_kernel_at_most_what_compiling_it_takes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_one_process: bool
) -> None:
    gone: Counter[Any] = Counter()
    for natively in [False] * 3 + [True] * 3:
        monkeypatch.setattr(compiled_module, "_gone_through", gone if is_one_process else Counter())
        assert hasattr(sooner(difference, FORMS[difference].pays_from // 4), "stats") == natively
    assert not is_kept(difference)


def test_machine_code_that_is_kept_is_loaded_for_less(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh()(Pair(3.0, 1.0))
    assert pays(difference, 1), "the compiler is there already"
    monkeypatch.delitem(sys.modules, "numba")
    enough = FORMS[difference].pays_from // LOADING
    assert not pays(difference, enough - 1) and pays(difference, enough)
    monkeypatch.setenv(VARIABLE, "0")
    assert not pays(difference, enough)


def test_words_wrap_around_in_both_forms(folder: Path) -> None:
    pair = Pair(np.uint64(1), np.uint64(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert native(difference)(pair) == native(difference, when=False)(pair) == (1 << 64) - 1


def test_what_a_release_brings_along_is_for_any_processor(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    codegen = fresh().targetctx.codegen()
    with monkeypatch.context() as release:
        release.setattr(type(codegen), "magic_tuple", lambda self: (self._llvm_module.triple, "generic", ""))
        fresh()(Pair(5, 2))
    folder.rename(tmp_path / "installed")
    assert not is_kept(difference)
    monkeypatch.setattr(machine_code, "INSTALLED", tmp_path / "installed")
    assert is_kept(difference)
    there = fresh()
    assert (there(Pair(5, 2)), hits(there)) == (3, 1) and not folder.exists()


def test_what_only_a_kernel_calls_has_no_form_for_others(folder: Path) -> None:
    made = compiled_form.__wrapped__(rests)
    assert made(Pair(3.0, 1.0)) == rests(Pair(3.0, 1.0))
    ((_, done),) = made.overloads.items()
    assert not [
        each.name
        for each in done.library._final_module.functions
        if not each.is_declaration and each.linkage == Linkage.linkonce_odr
    ]


def test_code_is_kept_for_each_kind_of_arguments(folder: Path) -> None:
    first = fresh()
    assert (first(Pair(5, 2)), first(Pair(0.5, 0.25))) == (3, 0.25)
    files = list(folder.glob(f"*/{FUNCTION}.*.code"))
    assert len(files) == 2 and hits(first) == 0
    second = fresh()
    assert (second(Pair(0.5, 0.25)), second(Pair(5, 2))) == (0.25, 3)
    assert hits(second) == 2


def _other_code(content: bytes) -> bytes:
    key, code = pickle.loads(content)
    return pickle.dumps(((*key[:4], "another.function", *key[5:]), code))


FOREIGN: dict[str, Callable[[bytes], bytes]] = {
    "nothing that can be read": lambda content: b"\x80nothing",
    "of another function": _other_code,
}


@pytest.mark.parametrize("is_installed", [False, True])
@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
def test_code_that_is_whole_and_foreign_is_compiled_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, foreign: Callable[[bytes], bytes], is_installed: bool
) -> None:
    fresh()(Pair(5, 2))
    (path,) = folder.glob(f"*/{FUNCTION}.*.code")
    file = str(path.relative_to(folder))
    CODE.keep(file, foreign(CODE.get(file) or b""))
    if is_installed:
        folder.rename(tmp_path / "installed")
        monkeypatch.setattr(machine_code, "INSTALLED", tmp_path / "installed")
    second = fresh()
    assert second(Pair(5, 2)) == 3 and hits(second) == 0
    third = fresh()
    assert third(Pair(5, 2)) == 3 and hits(third) == 1, "it was not written again"


def test_a_folder_that_cannot_be_used_costs_only_time(folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("a file where a folder should be: nobody can read or write below it, not even root")
    assert fresh()(Pair(5, 2)) == 3
    folder.unlink()
    fresh()(Pair(5, 2))
    (path,) = folder.glob(f"*/{FUNCTION}.*.code")
    path.unlink()
    path.mkdir()
    assert fresh()(Pair(5, 2)) == 3


def test_the_cache_command_says_what_is_not_used(folder: Path, testbed: Testbed) -> None:
    CODE.keep(file_of("a" * 64, "f", "1" * 64), b"code")
    assert testbed("list", "cache").err == ""
    folder.parent.chmod(0o777)
    assert f"{folder.parent} is not used: other users may write it" in testbed("list", "cache").err


def test_code_of_sources_long_gone_is_forgotten_when_there_are_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "_MOST", 2)
    files = [file_of(sources * 64, "f", "1" * 64) for sources in "abc"]
    for age, file in enumerate(files):
        machine_code.keep(file, b"code")
        if file != files[-1]:
            os.utime(CODE.path(file), (age, age))
    assert [CODE.get(file) for file in files] == [None, b"code", b"code"]
    assert not CODE.path(files[0]).parent.exists()


def test_a_function_elsewhere_is_refused() -> None:
    def elsewhere() -> None: ...

    elsewhere.__qualname__, elsewhere.__module__ = "elsewhere", "unwinders.scans"
    with pytest.raises(TypeError, match=r"unwinders\.scans\.elsewhere: .* native"):
        compiled()(elsewhere)
    elsewhere.__qualname__, elsewhere.__module__ = "outer.<locals>.elsewhere", "unwinders.native"
    with pytest.raises(TypeError, match="at the top of a module"):
        compiled()(elsewhere)


def test_named_tuples_are_declared_in_native_modules() -> None:
    """Code knows a field by its number, and the key of the code knows a tuple by its name only."""
    foreign = namedtuple("foreign", "first second", module="testbed.trace.model")
    with pytest.raises(TypeError, match="takes a foreign, whose fields no native module says"):
        fresh()(foreign(5, 2))
