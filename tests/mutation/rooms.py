"""What is mutated, and the tests that have to notice: one value per room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class MutatedRoom:
    """A room and its tests.

    ``modules`` are globs from the root; of these, ``slow`` ones (compiled code: each mutant is compiled again) are left
    to the nightly run. ``stages`` are groups of tests, asked one after the other until one fails: first those that fail
    soonest. ``sample`` is how many mutants the short run takes.
    """

    name: str
    modules: tuple[str, ...]
    stages: tuple[tuple[str, ...], ...]
    sample: int
    slow: tuple[str, ...] = ()

    def files(self, *, everything: bool) -> tuple[Path, ...]:
        """The module files, as paths from the root, in order."""
        found = {path.relative_to(ROOT) for pattern in self.modules for path in ROOT.glob(pattern)}
        late = {path.relative_to(ROOT) for pattern in self.slow for path in ROOT.glob(pattern)}
        return tuple(sorted(path for path in found if path.name != "__init__.py" and (everything or path not in late)))


# A few units on which every strategy is judged and counted: what no test of the room notices may show there.
_CELLS = ("tests/campaign/test_matrix.py", "-k", "(leaf_call or tail_call or longjmp or alloca_vla) and keystone")

ROOMS: Mapping[str, MutatedRoom] = MappingProxyType(
    {
        room.name: room
        for room in (
            MutatedRoom(
                "truth",
                ("testbed/truth/*.py", "testbed/truth/windows/*.py", "testbed/truth/native/*.py"),
                (
                    ("tests/truth", "--ignore=tests/truth/native"),
                    ("tests/truth/native", "tests/programs/test_corpus.py", "-k", "not gcc"),
                ),
                90,
                slow=("testbed/truth/native/*.py", "testbed/truth/windows/*.py"),
            ),
            MutatedRoom(
                "verdicts",
                ("testbed/verdicts/*.py",),
                (("tests/verdicts/test_one.py",), ("tests/verdicts", "tests/runs"), _CELLS),
                60,
                slow=("testbed/verdicts/native.py",),
            ),
            MutatedRoom(
                "rows",
                ("unwinders/rows/*.py", "unwinders/rows/native/*.py"),
                (
                    ("tests/unwinders/rows/test_apply.py", "tests/unwinders/rows/test_walk.py"),
                    ("tests/unwinders/rows/test_expression.py", "tests/unwinders/rows/test_signed_tables.py"),
                    ("tests/unwinders/rows",),
                    _CELLS,
                ),
                60,
                slow=("unwinders/rows/native/*.py",),
            ),
            MutatedRoom(
                "formats",
                ("unwinders/formats/*.py",),
                (("tests/unwinders/formats",), ("tests/unwinders/tables", "tests/unwinders/rows"), _CELLS),
                120,
            ),
            MutatedRoom(
                "analysis",
                ("unwinders/analysis/*.py",),
                (("tests/unwinders/analysis",), _CELLS),
                90,
            ),
            MutatedRoom(
                "naming",
                ("testbed/naming/*.py",),
                (("tests/naming",), ("tests/campaign/test_names.py", "tests/remote")),
                40,
            ),
        )
    }
)
