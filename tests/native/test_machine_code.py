"""Machine code on disk: whole or not there; and no state of the disk changes what a function says."""

from __future__ import annotations

import os
import pickle
import warnings
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from testbed.cli.cache import command
from testbed.native import machine_code
from testbed.native.compiled import VARIABLE, callback, compiled, is_kept, native
from testbed.native.compiler import compiled_form
from testbed.words.files import checksum
from tests.native.example import Pair, difference

FUNCTION = "tests.native.example.difference"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(machine_code.VARIABLE, raising=False)
    return tmp_path / "cache" / "native"


def fresh() -> Any:
    """The example as a process sees it that has just started."""
    return compiled_form.__wrapped__(difference)


def hits(function: Any) -> int:
    return sum(function.stats.cache_hits.values())


def test_whether_code_is_kept_is_known_without_calling(folder: Path) -> None:
    function = fresh()
    assert not is_kept(difference)
    function(Pair(3.0, 1.0))
    assert is_kept(difference)
    function._cache.flush()
    assert not is_kept(difference)


def test_nothing_is_compiled_where_that_is_switched_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    fresh()(Pair(3.0, 1.0))
    assert not is_kept(difference)
    assert native(difference)(Pair(3.0, 1.0)) == 2.0 and not hasattr(native(difference), "stats")


def test_words_wrap_around_in_both_forms(folder: Path) -> None:
    pair = Pair(np.uint64(1), np.uint64(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert native(difference)(pair) == native(difference, when=False)(pair) == (1 << 64) - 1


def test_code_is_kept_for_each_kind_of_arguments(folder: Path) -> None:
    first = fresh()
    assert (first(Pair(5, 2)), first(Pair(0.5, 0.25))) == (3, 0.25)
    files = list(folder.glob(f"*/{FUNCTION}.*.code"))
    assert len(files) == 2 and hits(first) == 0
    second = fresh()
    assert (second(Pair(0.5, 0.25)), second(Pair(5, 2))) == (0.25, 3)
    assert hits(second) == 2


def _other_code(content: bytes) -> bytes:
    key, code = pickle.loads(content.partition(b"\n")[2])
    other = pickle.dumps(((*key[:1], "another.function", *key[2:]), code))
    return checksum(other) + b"\n" + other


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut off": lambda content: content[:-100],
    "one bit": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    "whole, but nothing that can be read": lambda content: checksum(b"\x80nothing") + b"\n\x80nothing",
    "whole, but of another function": _other_code,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_code_is_compiled_again(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    fresh()(Pair(5, 2))
    (path,) = folder.glob(f"*/{FUNCTION}.*.code")
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
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


@pytest.mark.parametrize("what", ["file", "folder"])
def test_code_that_others_may_have_written_is_compiled_again(folder: Path, what: str) -> None:
    fresh()(Pair(5, 2))
    (path,) = folder.glob(f"*/{FUNCTION}.*.code")
    (path if what == "file" else path.parent).chmod(0o777)
    second = fresh()
    assert second(Pair(5, 2)) == 3 and hits(second) == 0


def test_the_cache_command_says_what_is_not_used(folder: Path) -> None:
    machine_code.keep(machine_code.path_of("a" * 64, "f", "1" * 64), b"code")
    assert "is not used" not in CliRunner().invoke(command).output
    folder.parent.chmod(0o777)
    assert f"{folder.parent} is not used: other users may write it" in CliRunner().invoke(command).output


def test_only_code_is_counted_and_removed_of_whatever_sources(folder: Path) -> None:
    for sources in ("a" * 64, "b" * 64):
        for types in ("1" * 64, "2" * 64):
            machine_code.keep(machine_code.path_of(sources, "f", types), b"code")
    (folder / "mine").mkdir()
    (folder / "mine" / "f.code").write_text("code")
    size = len(checksum(b"code") + b"\ncode")
    assert machine_code.usage() == (4, 4 * size)
    assert "; 4 compiled functions, 0.0 MB (" in CliRunner().invoke(command).output
    machine_code.forget("a" * 64, "f")
    assert machine_code.usage() == (2, 2 * size)
    assert "and 2 compiled functions from" in CliRunner().invoke(command, ["--clear"]).output
    assert machine_code.usage() == (0, 0)
    assert [path.name for path in folder.iterdir()] == ["mine"]


def test_code_of_sources_long_gone_is_forgotten_when_there_are_new_ones(folder: Path) -> None:
    paths = [machine_code.path_of(sources * 64, "f", "1" * 64) for sources in "abc"]
    for path in paths[:2]:
        machine_code.keep(path, b"code")
    os.utime(paths[0].parent, (0, 0))
    machine_code.keep(paths[1], b"code")
    assert paths[0].exists()  # nothing new
    machine_code.keep(paths[2], b"code")
    assert [path.exists() for path in paths] == [False, True, True]


def test_another_folder_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine_code.VARIABLE, str(tmp_path / "elsewhere"))
    assert fresh()(Pair(5, 2)) == 3
    assert len(list((tmp_path / "elsewhere").glob(f"*/{FUNCTION}.*.code"))) == 1


def test_a_function_elsewhere_is_refused() -> None:
    def elsewhere() -> None: ...

    elsewhere.__qualname__, elsewhere.__module__ = "elsewhere", "unwinders.scans"
    for decorate in (compiled(), callback("void()")):
        with pytest.raises(TypeError, match=r"unwinders\.scans\.elsewhere: .* native"):
            decorate(elsewhere)
    elsewhere.__qualname__, elsewhere.__module__ = "outer.<locals>.elsewhere", "unwinders.native"
    with pytest.raises(TypeError, match="at the top of a module"):
        compiled()(elsewhere)


def test_named_tuples_are_declared_in_native_modules() -> None:
    """Code knows a field by its number, and the key of the code knows a tuple by its name only."""
    foreign = namedtuple("foreign", "first second", module="testbed.trace.model")
    with pytest.raises(TypeError, match="takes a foreign, whose fields no native module says"):
        fresh()(foreign(5, 2))
