"""Values come back as they were, and data that are no such values are refused, whatever they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import jsonschema
import pytest

from testbed.arch import ARCHES, Arch
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
