"""A store gives back what was kept, whole and under the same key, or nothing. All stores are of this kind."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import jsonschema
import pytest

from testbed.arch import ARCHES, Arch
from testbed.store import KEY_PATTERN, KeptFiles, key_of
from testbed.store.codec import (
    OR_NULL,
    Fraction,
    Natural,
    NotDecoded,
    decoded,
    encoded,
    from_json,
    schema_of,
    taken,
    to_json,
)

LINE = KeptFiles(room="line", patterns=("*.kept", "*.more"), variable="TESTBED_LINES")
BESIDE = KeptFiles(room="", patterns=(f"*.{KEY_PATTERN}.elf",), beside=True)
NAMES = {LINE: "a.kept", BESIDE: f"a.{'0f' * 12}.elf"}


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(params=[LINE, BESIDE], ids=["line", "beside"])
def store(request: pytest.FixtureRequest) -> KeptFiles:
    made: KeptFiles = request.param
    return made


def test_what_was_kept_comes_back_under_its_name_and_key(store: KeptFiles) -> None:
    name = NAMES[store]
    assert store.get(name) is None
    for content in (b"content", b"", b"\n\nmore\x00"):
        store.keep(name, content, "key")
        assert store.get(name, "key") == content
        assert store.get(name) is None and store.get(name, "kez") is None and store.get(f"b{name}", "key") is None
    assert (store.path(name).read_bytes() == b"\n\nmore\x00") is store.beside


def test_every_part_decides_a_key() -> None:
    parts = ((), ("ab",), ("a", "b"), ("b", "a"), ("a", "b", ""), ("\udcff",))
    assert len({key_of(*each) for each in parts}) == len(parts)


def test_a_file_with_any_byte_changed_is_not_there(store: KeptFiles) -> None:
    store.keep(NAMES[store], b"content")
    for path in list(store.folder.iterdir()):
        whole = path.read_bytes()
        changed = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole))]
        for damaged in (*changed, b"", whole[:-1], whole + b"x", b"rubbish"):
            path.write_bytes(damaged)
            assert store.get(NAMES[store]) is None
        path.unlink()
        assert store.get(NAMES[store]) is None
        os.mkfifo(path, 0o600)
        assert store.get(NAMES[store]) is None, "a pipe is not waited for"
        store.keep(NAMES[store], b"content")
        assert store.get(NAMES[store]) == b"content"


def test_what_others_may_have_written_is_not_there(store: KeptFiles) -> None:
    store.keep(NAMES[store], b"content")
    for path in (*store.folder.iterdir(), store.folder):
        mode = path.stat().st_mode
        path.chmod(mode | 0o002)
        assert store.get(NAMES[store]) is None, path
        if path == store.folder:
            store.keep("new", b"content")
            with pytest.raises(PermissionError, match="other users may write it"):
                store.put("new", b"content")
            assert not store.path("new").exists()
        path.chmod(mode)
        assert store.get(NAMES[store]) == b"content"


def test_folders_are_for_this_user_alone(store: KeptFiles, own_cache: Path) -> None:
    before = os.umask(0)
    try:
        store.keep(NAMES[store], b"content")
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (own_cache, store.folder)] == [0o700, 0o700]
    assert not any(path.stat().st_mode & 0o077 for path in store.folder.iterdir())


def test_a_folder_that_cannot_be_written_keeps_nothing(store: KeptFiles, own_cache: Path) -> None:
    own_cache.write_text("a file where a folder should be: nobody can write below it, not even root")
    store.keep(NAMES[store], b"content")
    assert store.get(NAMES[store]) is None and store.usage() == (0, 0) and store.clear() == 0
    with pytest.raises(OSError, match="directory"):
        store.put(NAMES[store], b"content")


def test_a_write_that_fails_leaves_what_was_there(store: KeptFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    store.keep(NAMES[store], b"content")
    there = sorted(store.folder.iterdir())
    monkeypatch.setattr(os, "replace", lambda *names: (_ for _ in ()).throw(OSError("disk full")))
    store.keep(NAMES[store], b"newer")
    assert store.get(NAMES[store]) == b"content" and sorted(store.folder.iterdir()) == there


def test_many_may_write_and_read_at_once(store: KeptFiles) -> None:
    contents = [bytes([number]) * 100_000 for number in range(4)]

    def work(content: bytes) -> set[bytes | None]:
        seen = set()
        for _ in range(20):
            store.keep(NAMES[store], content)
            seen.add(store.get(NAMES[store]))
        return seen

    with ThreadPoolExecutor(4) as pool:
        seen = set().union(*pool.map(work, contents))
    assert seen <= {*contents, None} and (store.beside or None not in seen)
    store.keep(NAMES[store], b"last")
    assert store.get(NAMES[store]) == b"last" and store.usage()[0] == 1


def test_only_its_own_files_are_counted_and_removed(store: KeptFiles) -> None:
    assert store.usage() == (0, 0) and store.clear() == 0, "the folder need not exist"
    names = [f"{letter}{NAMES[store]}" for letter in "abc"]
    for name in names:
        store.keep(name, b"content")
    notes = store.path("notes.elf")
    notes.write_text("mine")
    count, size = store.usage()
    assert count == 3 and size == sum(store.path(name).stat().st_size for name in names)
    store.forget("b*")
    assert [store.get(name) is not None for name in names] == [True, False, True]
    assert store.clear() == 2 and store.usage() == (0, 0)
    assert list(store.folder.iterdir()) == [notes]


def test_those_that_were_used_last_stay(store: KeptFiles) -> None:
    names = [f"{number}{NAMES[store]}" for number in range(5)]
    for number, name in enumerate(names):
        store.keep(name, b"content")
        os.utime(store.path(name), (number, number))
    store.get(names[0])
    store.forget_oldest(3)
    assert [store.path(name).exists() for name in names] == [True, False, False, True, True]


def test_another_folder_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTBED_LINES", str(tmp_path / "elsewhere"))
    LINE.keep("a.kept", b"content")
    assert (tmp_path / "elsewhere" / "a.kept").exists() and LINE.get("a.kept") == b"content"
    assert replace(LINE, variable="").get("a.kept") is None


@dataclass(frozen=True)
class Tree:
    count: int
    below: tuple[Tree, ...] = ()


def test_a_value_comes_back_as_it_was() -> None:
    value = Tree(1, (Tree(2), Tree(3, (Tree(4),))))
    LINE.keep_value("a.kept", Tree, value, "key")
    assert LINE.get_value("a.kept", Tree, "key") == value and LINE.get_value("a.kept", Tree) is None


FORGED: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "not compressed": lambda: b'{"count":1,"below":[]}',
    "cut off": lambda: zlib.compress(to_json(Tree, Tree(1)).encode())[:-5],
    "no JSON": lambda: zlib.compress(b"{"),
    "no text": lambda: zlib.compress(b"\xff"),
    "deep": lambda: zlib.compress(b"[" * 100_000),
    "deep trees": lambda: zlib.compress(b'{"count":1,"below":[' * 5000 + b"]}" * 5000),
    "digits": lambda: zlib.compress(b'{"count":' + b"9" * 5000 + b',"below":[]}'),
    "another type": lambda: zlib.compress(b'{"count":"1","below":[]}'),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_whole_and_yet_no_value_is_not_there(forged: Callable[[], bytes]) -> None:
    LINE.keep("a.kept", forged())
    assert LINE.get("a.kept") is not None and LINE.get_value("a.kept", Tree) is None


def test_a_value_that_unpacks_without_end_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    LINE.keep_value("a.kept", Tree, Tree(10**60))
    assert LINE.get_value("a.kept", Tree) == Tree(10**60)
    monkeypatch.setattr("testbed.store.MOST_UNPACKED", 40)
    assert LINE.get_value("a.kept", Tree) is None


# Values come back as they were, and data that are no such values are refused, whatever they are.


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Place(NamedTuple):
    x: int
    name: str | None


@dataclass(frozen=True)
class Node:
    place: Place
    colours: Mapping[Colour, float]
    below: tuple[Node, ...] = ()


NODE = Node(Place(1, None), {Colour.RED: 0.5}, (Node(Place(-2, "b"), {}),))
CASES: tuple[tuple[Any, Any, Any, tuple[Any, ...]], ...] = (  # a type, a value, its data, and data of no value
    (str, "a", "a", (1, None, [])),
    (int, 3, 3, (True, 3.0, "3", None)),
    (bool, True, True, (1, "true")),
    (Path, Path("/a/b"), "/a/b", (1,)),
    (Colour, Colour.BLUE, "blue", ("BLUE", 1, None, [], {})),
    (Literal[0, 1], 1, 1, (2, "1", [0])),
    (int | None, None, None, ("",)),
    (tuple[int, str], (1, "a"), [1, "a"], ([1], [1, "a", 2], ["a", 1], 5, {})),
    (tuple[int, ...], (1, 2), [1, 2], (["a"], "12", {"1": 2})),
    (Sequence[int], (1, 2), [1, 2], (None,)),
    (list[int], [1, 2], [1, 2], (1,)),
    (frozenset[str], frozenset("ba"), ["a", "b"], ([1],)),
    (dict[str, int], {"a": 1}, {"a": 1}, ({"a": "1"}, [], [["a", 1]])),
    (Mapping[Colour, int], {Colour.RED: 1}, {"red": 1}, ({"green": 1},)),
    (dict[tuple[str, Colour], int], {("a", Colour.RED): 1}, [[["a", "red"], 1]], ({}, [["a", 1]], [[["a", "red"]]])),
    (Place, Place(1, "a"), [1, "a"], ([1], ["a", 1])),
    (Arch, ARCHES["arm64"], "arm64", ("aarch64", "ARM64", 5, None, [])),
    (Annotated[int, "a text"], 5, 5, ("5",)),
    (
        Node,
        NODE,
        {"place": [1, None], "colours": {"red": 0.5}, "below": [{"place": [-2, "b"], "colours": {}, "below": []}]},
        ([], {}, {"place": [1, None], "colours": {}}, {"place": [1, None], "colours": {}, "below": [], "more": 1}),
    ),
)


@pytest.mark.parametrize(("kind", "value", "data", "others"), CASES, ids=[str(case[0]) for case in CASES])
def test_a_type_says_what_its_values_are_as_json(kind: Any, value: Any, data: Any, others: tuple[Any, ...]) -> None:
    assert encoded(kind, value) == data and decoded(kind, data) == value
    assert from_json(kind, to_json(kind, value).encode()) == value
    jsonschema.validate(data, schema_of(kind))
    for other in others:
        with pytest.raises(NotDecoded):
            decoded(kind, other)


def test_an_architecture_is_the_catalogues_own() -> None:
    assert decoded(Arch, "arm64") is ARCHES["arm64"]


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 100_000, b"9" * 5000, b'{"below":[' * 3000])
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(NotDecoded):
        from_json(Node, text)


def test_types_without_a_form_are_refused() -> None:
    for kind in (object, bytes, int | str):
        with pytest.raises(TypeError, match=r"no form|no type or None"):
            encoded(kind, b"")


class Leaf(TypedDict):
    x: int
    name: Annotated[str | None, "where", OR_NULL]


class Shown(TypedDict):
    schema: Literal[3]
    size: Annotated[Natural, taken(lambda node: len(node["below"])), "how many"]
    share: Fraction | None
    below: tuple[Leaf, ...]
    notes: NotRequired[tuple[str, ...]]


def test_a_printed_form_takes_its_keys_from_a_value() -> None:
    whole = {"below": (Place(1, ""), Place(2, "b")), "share": None, "notes": ()}
    said = encoded(Shown, whole)
    assert json.dumps(said) == (
        '{"schema": 3, "size": 2, "share": null, "below": [{"x": 1, "name": null}, {"x": 2, "name": "b"}]}'
    )
    assert encoded(Shown, whole | {"notes": ("a",), "share": 0.5}) == said | {"notes": ["a"], "share": 0.5}


def test_a_printed_form_has_a_schema_that_takes_it_and_nothing_else() -> None:
    schema = schema_of(Shown)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["size"] == {"type": "integer", "minimum": 0, "description": "how many"}
    fine = {"schema": 3, "size": 1, "share": 0.5, "below": [{"x": 1, "name": None}]}
    jsonschema.validate(fine, schema)
    jsonschema.validate(fine | {"notes": ["a"]}, schema)
    leaf = {"x": 1, "name": None, "more": 1}
    spoiled = ({"schema": 2}, {"size": -1}, {"share": 2}, {"below": [{"x": 1}]}, {"below": [leaf]}, {"notes": 1})
    for changed in (*spoiled, {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(fine | changed, schema)
    for missing in fine:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({name: value for name, value in fine.items() if name != missing}, schema)
