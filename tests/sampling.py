"""Which tests a plain `pytest` runs, and what `pytest --long` and `pytest --everything` add.

A test with more than ``CASES`` cases runs a sample of them: those whose names come first by checksum, the same in every
run and on every machine. The matrix, the rules of the house and whatever else says ``pytest.mark.whole`` run whole.
``--long`` runs the tests that take long as well (`tests.costs`); ``--everything`` all cases of all tests, and what says
``pytest.mark.everything`` because it repeats at length what another test shows in short. Whoever names a file, a folder
or words (``-k``, ``-m``) gets all that the name means.
"""

import zlib
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from typing import Any

import pytest

from tests.costs import function_of, long_ones

CASES = 24
WHOLE_TREE = "whole tree"
MARKERS = (
    "whole: all cases run, also where pytest was told nothing",
    "everything: only with pytest --everything, or where it is named",
)


def tell(node: Any) -> None:
    """Tell a worker process, which does not see what was typed, whether files or folders were named."""
    node.workerinput[WHOLE_TREE] = is_whole_tree(node.config)


def is_whole_tree(config: pytest.Config) -> bool:
    """Whether no file and no folder was named."""
    told: dict[str, bool] | None = getattr(config, "workerinput", None)
    return config.args_source is not config.ArgsSource.ARGS if told is None else told[WHOLE_TREE]


def is_part(config: pytest.Config) -> bool:
    """Whether this run takes samples: nothing was named, and ``--everything`` was not given."""
    options = ("--everything", "--update-golden")
    named = config.option.keyword or config.option.markexpr or any(map(config.getoption, options))
    return is_whole_tree(config) and not named


def left_out(items: Sequence[pytest.Item], long: Container[str], most: int = CASES) -> Iterator[pytest.Item]:
    """The tests that a run does not run which takes ``most`` cases; ``long`` are the functions that it leaves out."""
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        function = function_of(item.nodeid)
        if item.get_closest_marker("everything"):
            yield item
        elif not item.get_closest_marker("whole"):
            if function in long:
                yield item
            else:
                cases[function].append(item)
    for of_one in cases.values():
        yield from sorted(of_one, key=lambda item: zlib.crc32(item.nodeid.encode()))[most:]


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out of ``items``, in place, what this run does not run, and tell pytest so."""
    if not is_part(config):
        return
    out = set(left_out(items, () if config.getoption("--long") else long_ones()))
    if out:
        config.hook.pytest_deselected(items=sorted(out, key=lambda item: item.nodeid))
        items[:] = [item for item in items if item not in out]


def header(config: pytest.Config) -> list[str]:
    if not is_part(config):
        return []
    sample = f"of tests with more than {CASES} cases a sample (pytest --everything: all)"
    if config.getoption("--long"):
        return [f"all tests; {sample}"]
    return [f"the matrix, and what else is quick (pytest --long: the rest); {sample}"]
