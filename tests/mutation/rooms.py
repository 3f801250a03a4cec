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

    ``modules`` are globs from the root: the kernels of the room are among them. ``stages`` are groups of tests, asked
    one after the other until one fails: first those that fail soonest. ``sample`` is how many mutants the short run
    takes. A larger one (``--sample``) begins with them.
    """

    name: str
    modules: tuple[str, ...]
    stages: tuple[tuple[str, ...], ...]
    sample: int

    def files(self) -> tuple[Path, ...]:
        """The module files, as paths from the root, in order."""
        found = {path.relative_to(ROOT) for pattern in self.modules for path in ROOT.glob(pattern)}
        return tuple(sorted(path for path in found if path.name != "__init__.py"))

    def stages_for(self, module: str) -> tuple[tuple[str, ...], ...]:
        """The stages that a mutant of a module meets: before all others the room's test files named after it.

        Those are `test_walk.py` for `walk.py`; where there is none, those that share the first word of its name, or
        else the stages in a folder of its folder's name: for a kernel, the tests of kernels.
        """
        stem = Path(module).stem
        word = stem.partition("_")[0]

        def named(stage: tuple[str, ...], begin: str) -> tuple[str, ...]:
            tests = [test for test in stage if test.startswith("tests/")]
            files = [file for test in tests for file in _test_files(test) if f"{Path(file).stem}_".startswith(begin)]
            return (*files, *stage[len(tests) :]) if files else ()

        same = [chosen for stage in self.stages if (chosen := named(stage, f"test_{stem}_"))]
        related = [chosen for stage in self.stages if (chosen := named(stage, f"test_{word}_"))]
        beside = [stage for stage in self.stages if f"/{Path(module).parent.name}/" in stage[0]]
        return tuple(dict.fromkeys((*(same or related or beside), *self.stages)))


def _test_files(word: str) -> list[str]:
    """The test files that a word of a stage names, as paths from the root."""
    path = ROOT / word
    found = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
    return [file.relative_to(ROOT).as_posix() for file in found]


def _tests(folder: str, *names: str, but: tuple[str, ...] = ()) -> tuple[str, ...]:
    """A stage: files of tests of a folder, without the tests that have these words in their names."""
    files = tuple(f"tests/{folder}/test_{name}.py" for name in names)
    return (*files, "-k", " and ".join(f"not {word}" for word in but)) if but else files


# Some units, and at some of their sites every unwinder, its table and its assumption; and all sites of a few: what no
# test of a room notices may show there.
_SITES = ("tests/verdicts/assumptions/test_theorem.py", "-k", "noticed or no_defect")
_CELLS = (
    *_tests("campaign", "matrix"),
    "-k",
    "(leaf_call or tail_call or longjmp or alloca_vla) and keystone and test_cell",
)

# Only tests that end soon are asked. What they do not notice is a hole in them, even if one of the long ones (each site
# of the corpus, whole libraries, other tools) would notice it. The samples are 400 mutants together, in proportion to
# the places of the rooms when they were last divided.
ROOMS: Mapping[str, MutatedRoom] = MappingProxyType(
    {
        room.name: room
        for room in (
            MutatedRoom(
                "truth",
                ("testbed/truth/*.py", "testbed/truth/windows/*.py", "testbed/truth/native/*.py"),
                (
                    (
                        "tests/truth/test_words.py",
                        "tests/truth/test_declared.py",
                        "-k",
                        "(word or right_stack) and not corpus",
                    ),
                    ("tests/truth", "-k", "not on_every_program"),
                    _SITES,
                    _CELLS,
                ),
                75,
            ),
            MutatedRoom(
                "verdicts",
                ("testbed/verdicts/*.py", "testbed/verdicts/assumptions/*.py"),
                (
                    _tests("verdicts", "comparing", "native", "one"),
                    ("tests/verdicts/test_trace.py", "-k", "three or signal"),
                    _SITES,
                    _CELLS,
                    _tests("verdicts", "trace", but=("at_every_site",)),
                    ("tests/verdicts/assumptions", "-k", "not at_every_site"),
                ),
                37,
            ),
            MutatedRoom(
                "rows",
                ("unwinders/rows/*.py", "unwinders/rows/native/*.py"),
                (
                    _tests("unwinders/rows", "apply"),
                    _tests("unwinders/rows", "walk"),
                    _tests("unwinders/tables", "unwinders"),
                    _tests("unwinders/rows/native", "walk", but=("on_anything", "deeper")),
                    _tests("unwinders/rows", "expression"),
                    ("tests/unwinders/rows/native/test_walk.py", "-k", "on_anything and some"),
                    _SITES,
                    _CELLS,
                ),
                20,
            ),
            MutatedRoom(
                "formats",
                ("unwinders/formats/*.py",),
                (
                    ("tests/unwinders/formats", "-k", "not damage and not mutated and not settled and not quick"),
                    _tests("unwinders/tables", "eh_frame_hdr", but=("damage", "linear")),
                    _tests("unwinders/tables", "unwinders"),
                ),
                48,
            ),
            MutatedRoom(
                "rereading",
                ("testbed/rereading/*.py",),
                (
                    _tests("rereading", "dwarf", "ehabi"),
                    ("tests/rereading/test_corpus.py", "-k", "planted_mistake_of_the_first"),
                ),
                29,
            ),
            MutatedRoom(
                "analysis",
                ("unwinders/analysis/*.py",),
                (
                    _tests("unwinders/analysis", "prologue_instructions"),
                    _tests("unwinders/analysis", "arm32_accesses"),
                    _tests("unwinders/analysis", "prologue_flow"),
                    _tests("unwinders/analysis", "control_flow"),
                    _SITES,
                    _CELLS,
                    _tests("unwinders/analysis", "executed_effects"),
                ),
                52,
            ),
            MutatedRoom(
                "checks",
                ("testbed/checks/*.py", "testbed/checks/native/*.py"),
                (
                    _tests("checks", "inputs", "alike"),
                    _tests("checks", "row_checks", "repair", "kept"),
                    _tests("checks", "declared"),
                    _tests("checks", "watched_run"),
                    _tests("checks", "check_file"),
                ),
                67,
            ),
            MutatedRoom(
                "machine",
                ("testbed/machine/*.py", "testbed/machine/native/*.py"),
                (
                    _tests("machine", "hooks", "load", "signals"),
                    _tests("machine/native", "record", but=("on_every_program", "keyboard", "faults")),
                ),
                28,
            ),
            MutatedRoom(
                "micro",
                ("testbed/micro/*.py",),
                (
                    _tests("micro", "calling"),
                    _tests("micro", "exploring"),
                    _tests("checks", "check_file"),
                ),
                39,
            ),
            MutatedRoom(
                "naming",
                ("testbed/naming/*.py",),
                (("tests/naming",), _tests("image", "lines"), _tests("campaign", "names")),
                5,
            ),
        )
    }
)
