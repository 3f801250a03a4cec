"""Which tests a plain pytest runs, and which files it reads for a name."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import costs, kept_names, sampling


class Item:
    """A test as pytest collects it, as far as it is asked here."""

    def __init__(self, nodeid: str, *markers: str) -> None:
        self.nodeid, self.markers = nodeid, markers

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.markers else None

    def iter_markers(self) -> list[Any]:
        return [SimpleNamespace(name=name) for name in self.markers]


def left_out(*items: Item, long: tuple[str, ...] = ()) -> list[str]:
    return [item.nodeid for item in sampling.left_out(items, long)]  # type: ignore[arg-type]


def test_of_many_cases_the_same_sample_runs_wherever_they_stand() -> None:
    many = [Item(f"a.py::test_it[{number}]") for number in range(100)]
    out = left_out(*many)
    assert len(out) == 100 - sampling.CASES
    assert sorted(out) == sorted(left_out(*reversed(many)))
    assert left_out(*many[: sampling.CASES]) == []
    assert left_out(Item("a.py::test_other"), Item("a.py::test_it")) == []


def test_what_is_marked_runs_whole_or_only_with_everything() -> None:
    assert left_out(*(Item(f"a.py::test_it[{number}]", "whole") for number in range(100))) == []
    assert left_out(Item("a.py::test_it", "everything")) == ["a.py::test_it"]


def test_what_takes_long_is_left_to_long_but_for_what_runs_whole() -> None:
    some = [Item("a.py::test_it[1]"), Item("a.py::test_it[2]"), Item("a.py::test_other")]
    assert left_out(*some, long=("a.py::test_it",)) == ["a.py::test_it[1]", "a.py::test_it[2]"]
    assert left_out(Item("a.py::test_it[1]", "whole"), long=("a.py::test_it",)) == []


def test_who_takes_long_is_written_down_and_what_did_not_run_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "LIST", tmp_path / "long.txt")
    costs.LIST.write_text("    2.0  a.py::test_not_run\n   30.0  a.py::test_faster_now\n", encoding="utf-8")
    reports = [
        SimpleNamespace(nodeid=name, user_properties=[("cpu", seconds), ("other", 9)])
        for name, seconds in (("a.py::test_long[x]", 0.3), ("a.py::test_long[y]", 0.4), ("a.py::test_faster_now", 0.1))
    ]
    costs.write(costs.taken(reports))
    assert costs.long_ones() == {"a.py::test_not_run": 2.0, "a.py::test_long": 0.7}


def test_what_takes_long_exists() -> None:
    root = Path(__file__).parents[1]
    for name in costs.long_ones():
        file, *parts = name.split("::")
        assert (root / file).is_file(), f"{costs.LIST}: {name} is gone: pytest --long --update-costs"
        assert f"def {parts[-1]}(" in (root / file).read_text(encoding="utf-8"), f"{costs.LIST}: {name} is gone"


@pytest.mark.parametrize(
    ("option", "part"),
    [({}, True), ({"keyword": "x"}, False), ({"markexpr": "x"}, False), ({"everything": True}, False)],
)
def test_whoever_names_something_gets_all_of_it(option: dict[str, Any], part: bool) -> None:
    assert sampling.is_part(config(Path(), **option)) is part


def config(folder: Path, **option: Any) -> Any:
    options = {"keyword": "", "markexpr": "", "cacheclear": False} | option
    sources = SimpleNamespace(ARGS="args", TESTPATHS="testpaths")
    return SimpleNamespace(
        option=SimpleNamespace(**options),
        getoption=lambda name: options.get(name.removeprefix("--"), False),
        getini=lambda name: ".kept",
        rootpath=folder,
        pluginmanager=SimpleNamespace(hasplugin=lambda name: True),
        args_source="testpaths",
        ArgsSource=sources,
    )


class Config(SimpleNamespace):
    __hash__ = object.__hash__


def asked(folder: Path, **option: Any) -> dict[str, int]:
    return {path.name: count for path, count in kept_names.matching(Config(**vars(config(folder, **option)))).items()}


def test_only_files_with_such_names_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text("")
    items: Any = [Item("test_a.py::test_cell[leaf-arm64]"), Item("test_b.py::test_other", "slow")]
    kept_names.keep(config(tmp_path), items)
    assert asked(tmp_path) == {}, "no words"
    assert asked(tmp_path, keyword="LEAF and arm64") == {"test_a.py": 1, "test_b.py": 0}
    assert asked(tmp_path, keyword="not leaf") == {"test_a.py": 0, "test_b.py": 1}
    assert asked(tmp_path, keyword="slow") == {"test_a.py": 0, "test_b.py": 1}, "a marker is a name too"
    assert asked(tmp_path, keyword="leaf", cacheclear=True) == {}

    (tmp_path / "test_b.py").write_text("another = 1\n")
    assert asked(tmp_path, keyword="leaf") == {"test_a.py": 1}, "what has changed is read"

    path = kept_names.place(config(tmp_path))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"shared": "another corpus"}))
    assert asked(tmp_path, keyword="leaf") == {}
