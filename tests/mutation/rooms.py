"""What is mutated, and the tests that have to notice: one value per room."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class MutatedRoom:
    """A room and its tests.

    ``modules`` are globs from the root: the kernels of the room are among them. ``tests`` are globs of files below
    `tests`: of them a mutant meets those that execute its line. ``sample`` is how many mutants the short run takes. A
    larger one (``--sample``) begins with them.
    """

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    sample: int

    def files(self) -> tuple[Path, ...]:
        """The module files, as paths from the root, in order."""
        found = {path.relative_to(ROOT) for pattern in self.modules for path in ROOT.glob(pattern)}
        return tuple(sorted(path for path in found if path.name != "__init__.py"))

    def test_files(self, root: Path) -> list[str]:
        """The files of its tests in a tree, as paths from its root, in order."""
        found = dict.fromkeys(path for pattern in self.tests for path in sorted(root.glob(f"tests/{pattern}")))
        return [path.relative_to(root).as_posix() for path in found]


_THEOREM = "verdicts/assumptions/test_theorem.py"  # what no test of a room notices may show at sites of programs
_UNWINDERS = "unwinders/tables/test_unwinders.py"

# The samples are 500 mutants together: 175 of the truth, 200 of the unwinders, and of the others in proportion to the
# places of the rooms when they were last divided.
ROOMS: Mapping[str, MutatedRoom] = MappingProxyType(
    {
        room.name: room
        for room in (
            MutatedRoom(
                "truth",
                ("testbed/truth/*.py", "testbed/truth/windows/*.py", "testbed/truth/native/*.py"),
                ("truth/test_*.py", "witness/test_stacks.py", "campaign/test_prove.py", _THEOREM),
                175,
            ),
            MutatedRoom(
                "verdicts",
                ("testbed/verdicts/*.py", "testbed/verdicts/assumptions/*.py"),
                ("verdicts/**/test_*.py",),
                22,
            ),
            MutatedRoom(
                "rows",
                ("unwinders/rows/*.py", "unwinders/rows/native/*.py"),
                ("unwinders/rows/**/test_*.py", _UNWINDERS, _THEOREM),
                30,
            ),
            MutatedRoom(
                "formats",
                ("unwinders/formats/*.py",),
                (
                    *("unwinders/formats/**/test_*.py", "unwinders/rows/test_expression.py"),
                    *("unwinders/tables/test_eh_frame_hdr.py", _UNWINDERS),
                ),
                70,
            ),
            MutatedRoom(
                "techniques",
                ("unwinders/chains/*.py", "unwinders/scans/*.py", "unwinders/tables/*.py"),
                ("unwinders/chains/**/test_*.py", "unwinders/scans/**/test_*.py", _UNWINDERS, _THEOREM),
                25,
            ),
            MutatedRoom("analysis", ("unwinders/analysis/*.py",), ("unwinders/analysis/**/test_*.py", _THEOREM), 75),
            MutatedRoom(
                "rereading",
                ("testbed/rereading/*.py",),
                ("unwinders/formats/test_*.py", "unwinders/rows/test_expression.py", _THEOREM),
                18,
            ),
            MutatedRoom("checks", ("testbed/checks/*.py", "testbed/checks/native/*.py"), ("checks/**/test_*.py",), 41),
            MutatedRoom(
                "machine", ("testbed/machine/*.py", "testbed/machine/native/*.py"), ("machine/**/test_*.py",), 17
            ),
            MutatedRoom("micro", ("testbed/micro/*.py",), ("micro/**/test_*.py", "checks/test_check_file.py"), 24),
            MutatedRoom(
                "naming",
                ("testbed/naming/*.py",),
                ("naming/**/test_*.py", "image/test_lines.py", "campaign/test_names.py"),
                3,
            ),
        )
    }
)
