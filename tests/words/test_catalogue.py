"""Catalogues make what they are asked for, once, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from testbed.words.catalogue import Catalogue, joined, matches, value_of


def counting(made: list[str], name: str) -> Callable[[], str]:
    def make() -> str:
        made.append(name)
        return name.upper()

    return make


def test_names_make_no_value_and_a_value_is_made_once() -> None:
    made: list[str] = []
    catalogue = Catalogue({name: counting(made, name) for name in ("b", "a", "c")})
    assert list(catalogue) == list(catalogue.keys()) == ["b", "a", "c"], "in the order given"
    assert len(catalogue) == 3 and "a" in catalogue and "d" not in catalogue
    assert catalogue.get("d") is None and repr(catalogue) == "<catalogue of b, a, c>"
    assert made == []
    assert catalogue["a"] is catalogue["a"] and made == ["a"]
    assert dict(catalogue) == {"b": "B", "a": "A", "c": "C"} and made == ["a", "b", "c"]
    with pytest.raises(KeyError, match="d"):
        catalogue["d"]


def test_what_making_raises_is_raised_and_tried_again() -> None:
    made: list[str] = []

    def fails_once() -> str:
        made.append("tried")
        if len(made) == 1:
            raise KeyError("inside")
        return "value"

    catalogue = Catalogue({"name": fails_once})
    with pytest.raises(KeyError, match="inside"):
        catalogue["name"]
    assert catalogue["name"] == "value"


def test_a_joined_catalogue_makes_no_more_than_its_parts() -> None:
    made: list[str] = []
    first = Catalogue({name: counting(made, name) for name in "ab"})
    whole = joined(first, {"c": "C"}, {"a": "other"})
    assert list(whole) == ["a", "b", "c"] and made == []
    assert whole["a"] == "other" and whole["b"] is first["b"] and made == ["b"]


def test_a_value_is_found_by_names() -> None:
    assert value_of("testbed.words.catalogue", "matches") is matches
    assert [name for name in ("fp_chain", "lr_leaf") if matches(name, ("fp_*", "x"))] == ["fp_chain"]
    assert matches("anything", ())
