"""Catalogues make what they are asked for, once, and nothing else."""

from collections.abc import Callable
from importlib import import_module

import pytest
from unicorn import UcError

from testbed.contract.assumption import TableRow
from testbed.words.catalogue import Catalogue, joined, matches, value_of
from testbed.words.edges import edge, is_edge
from testbed.words.table_formats import AT_CALLS, CHECKED, OF_DIRECTIVES, TABLE_FORMATS, Promise, TableFormat
from unwinders import UNWINDERS


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


# What the system raises is one message; what is a mistake of ours keeps its traceback.


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file or directory", "/nowhere"), "/nowhere: No such file or directory"),
        (OSError("no reason"), "no reason"),
        (UcError(6), "UcError: .*TESTBED_TRACEBACK=1"),
        (RecursionError("x"), "nested too deeply"),
        (MemoryError(), "not enough memory"),
        (ValueError("one\ntwo"), "ValueError: one; TESTBED_TRACEBACK=1 shows where"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"), "UnicodeDecodeError: "),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_the_system_raises_is_one_message(error: Exception, said: str) -> None:
    import re

    assert is_edge(error)
    assert re.search(said, edge(error))
    assert "\n" not in edge(error)


@pytest.mark.parametrize("error", [KeyError("x"), AttributeError("x"), TypeError("x"), AssertionError("x")])
def test_a_mistake_of_ours_is_no_edge(error: Exception) -> None:
    assert not is_edge(error)


# Each format of tables is registered once, and what its entry names is there.

EVERY = TABLE_FORMATS.values()


@pytest.mark.parametrize("its", EVERY, ids=lambda its: its.name)
def test_what_an_entry_names_is_there(its: TableFormat) -> None:
    module, _, name = its.second.partition(":")
    assert callable(getattr(import_module(module), name))
    unwinder = UNWINDERS[its.name]
    assert unwinder.rows is not None, "a technique of the same name reads it"
    assert isinstance(unwinder.assumption, TableRow) and unwinder.assumption.format == its.section


def test_every_technique_that_reads_a_table_is_of_a_registered_format() -> None:
    sections = {its.section for its in EVERY}
    read = {each.assumption.format for each in UNWINDERS.values() if isinstance(each.assumption, TableRow)}
    assert read == sections and len(sections) == len(EVERY)


def test_what_rooms_ask_follows_from_the_entries() -> None:
    assert {*CHECKED} == {its.name for its in EVERY if its.checked} - {"eh_frame_hdr"}, "not what finds others' rows"
    promises = [TABLE_FORMATS[name].at_calls for name in CHECKED]
    assert promises == sorted(promises), "those first that promise a row for every instruction"
    assert {name for name in TABLE_FORMATS if TABLE_FORMATS[name].promise is not Promise.EVERYWHERE} == AT_CALLS
    assert AT_CALLS.isdisjoint(OF_DIRECTIVES), "directives are advised of tables that say something everywhere"
