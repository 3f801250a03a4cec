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
    soonest. ``sample`` is how many mutants the short run takes: most of those that say what is true and read code. A
    larger one (``--sample``) begins with them.
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

    def stages_for(self, module: str) -> tuple[tuple[str, ...], ...]:
        """The stages that a mutant of a module meets: before all others the room's test files named after it.

        Those are `test_walk.py` for `walk.py`; where there is none, those that share the first word of its name.
        """
        stem = Path(module).stem
        word = stem.partition("_")[0]

        def named(stage: tuple[str, ...], begin: str) -> tuple[str, ...]:
            tests = [test for test in stage if test.startswith("tests/")]
            files = [file for test in tests for file in _test_files(test) if f"{Path(file).stem}_".startswith(begin)]
            return (*files, *stage[len(tests) :]) if files else ()

        same = [chosen for stage in self.stages if (chosen := named(stage, f"test_{stem}_"))]
        related = [chosen for stage in self.stages if (chosen := named(stage, f"test_{word}_"))]
        return tuple(dict.fromkeys((*(same or related), *self.stages)))


def _test_files(word: str) -> list[str]:
    """The test files that a word of a stage names, as paths from the root."""
    path = ROOT / word
    found = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
    return [file.relative_to(ROOT).as_posix() for file in found]


# A few units on which every strategy is judged: what no test of the room notices may show there.
_CELLS = ("tests/campaign/test_matrix.py", "-k", "(leaf_call or tail_call or longjmp or alloca_vla) and keystone")

# Only tests that end soon are asked. What they do not notice is a hole in them, even if one of the long ones (each site
# of the corpus, whole libraries, other tools) would notice it.
ROOMS: Mapping[str, MutatedRoom] = MappingProxyType(
    {
        room.name: room
        for room in (
            MutatedRoom(
                "truth",
                ("testbed/truth/*.py", "testbed/truth/windows/*.py", "testbed/truth/native/*.py"),
                (
                    ("tests/truth/test_trait_counts.py", "tests/truth/test_declared.py", "-k", "holds or right_stack"),
                    (
                        "tests/truth/test_departures.py",
                        "tests/truth/test_expectations.py",
                        "tests/truth/test_phases.py",
                    ),
                    tuple(f"tests/truth/test_{name}.py" for name in ("stack_traits", "stack_words", "traits")),
                    ("tests/truth/test_pointer_traits.py", "tests/truth/test_tail_call_traits.py"),
                    ("tests/truth/test_calls.py", "tests/truth/test_on_the_way.py"),
                    ("tests/truth/test_phases.py", "tests/truth/test_signatures.py"),
                    tuple(f"tests/truth/test_{name}.py" for name in ("moved_returns", "behind_data", "two_step_calls")),
                    tuple(f"tests/truth/test_{name}.py" for name in ("entered_again", "landings", "calls_or_jumps")),
                    tuple(f"tests/truth/test_{name}.py" for name in ("transfers", "changed_returns", "vectors")),
                    tuple(f"tests/truth/test_{name}.py" for name in ("row_traits", "registers", "shapes", "jumps")),
                    tuple(f"tests/truth/test_{name}.py" for name in ("assumed", "other_stacks", "scanned", "straight")),
                    tuple(
                        f"tests/truth/test_{name}.py" for name in ("frame_sites", "further_records", "followed_traits")
                    ),
                    _CELLS,
                    ("tests/truth/test_columns.py",),
                ),
                100,
                slow=("testbed/truth/native/*.py", "testbed/truth/windows/*.py"),
            ),
            MutatedRoom(
                "verdicts",
                ("testbed/verdicts/*.py",),
                (
                    ("tests/verdicts/test_comparing.py", "tests/verdicts/test_one.py"),
                    _CELLS,
                    ("tests/verdicts/test_trace.py", "-k", "not every_site"),
                ),
                40,
                slow=("testbed/verdicts/native.py",),
            ),
            MutatedRoom(
                "rows",
                ("unwinders/rows/*.py", "unwinders/rows/native/*.py"),
                (
                    tuple(f"tests/unwinders/rows/test_{name}.py" for name in ("apply", "apply_return_address")),
                    tuple(f"tests/unwinders/rows/test_{name}.py" for name in ("walk", "walk_progress")),
                    tuple(f"tests/unwinders/rows/test_{name}.py" for name in ("expression", "expression_faults")),
                    ("tests/unwinders/rows/test_signed_tables.py",),
                    _CELLS,
                ),
                40,
                slow=("unwinders/rows/native/*.py",),
            ),
            MutatedRoom(
                "formats",
                ("unwinders/formats/*.py",),
                (
                    ("tests/unwinders/formats", "-k", "not damage and not mutated and not settled and not quick"),
                    ("tests/unwinders/tables/test_eh_frame_hdr_fields.py",),
                    ("tests/unwinders/tables/test_eh_frame_hdr.py", "-k", "not damage and not linear"),
                    (
                        "tests/unwinders/tables/test_ehabi.py",
                        "tests/unwinders/tables/test_compact_unwind.py",
                        "-k",
                        "not settled",
                    ),
                ),
                40,
            ),
            MutatedRoom(
                "analysis",
                ("unwinders/analysis/*.py",),
                (
                    ("tests/unwinders/analysis/test_prologue_instructions.py",),
                    ("tests/unwinders/analysis/test_indirect_control.py",),
                    ("tests/unwinders/analysis/test_arm32_accesses.py", "tests/unwinders/analysis/test_decoders.py"),
                    (
                        "tests/unwinders/analysis/test_prologue_flow.py",
                        "tests/unwinders/analysis/test_function_bounds.py",
                    ),
                    tuple(f"tests/unwinders/analysis/test_control_flow{part}.py" for part in ("", "_limits")),
                    ("tests/unwinders/analysis/test_function_code.py",),
                    ("tests/unwinders/analysis/test_landings.py", "tests/unwinders/analysis/test_landing_pads.py"),
                    ("tests/unwinders/analysis/test_analysis_budget.py",),
                    _CELLS,
                    ("tests/unwinders/analysis/test_executed_effects.py",),
                ),
                100,
            ),
            MutatedRoom(
                "checks",
                ("testbed/checks/*.py",),
                (
                    (
                        "tests/checks/test_code_spans.py",
                        "tests/checks/test_headers.py",
                        "tests/checks/test_table_findings.py",
                    ),
                    (
                        "tests/checks/test_impossible.py",
                        "tests/checks/test_overwritten.py",
                        "tests/checks/test_odd_frames.py",
                    ),
                    ("tests/checks/test_row_checks.py", "tests/checks/test_repair.py", "tests/checks/test_kept.py"),
                    ("tests/checks/test_repair_directives.py",),
                    ("tests/checks/test_watched_run.py", "tests/checks/test_other_entries.py"),
                    tuple(f"tests/checks/test_{name}.py" for name in ("parts", "parts_elsewhere", "sized_stack")),
                    ("tests/checks/test_check_file.py", "tests/checks/test_check_file_reach.py"),
                    tuple(
                        f"tests/checks/test_{name}.py"
                        for name in ("adjustments", "save_directives", "source_directives")
                    ),
                    tuple(
                        f"tests/checks/test_{name}.py"
                        for name in ("called_pieces", "static_rows", "alike", "kept_groups")
                    ),
                ),
                8,
                slow=("testbed/checks/native/*.py",),
            ),
            MutatedRoom(
                "micro",
                ("testbed/micro/*.py",),
                (
                    (
                        "tests/micro/test_functions.py",
                        "tests/micro/test_merged_entries.py",
                        "tests/micro/test_plans.py",
                    ),
                    ("tests/micro/test_calling.py", "tests/micro/test_linkage.py"),
                    ("tests/micro/test_exploring.py",),
                    ("tests/checks/test_check_file_reach.py",),
                ),
                24,
            ),
            MutatedRoom(
                "naming",
                ("testbed/naming/*.py",),
                (("tests/naming",), ("tests/image/test_damaged_debug_info.py",), ("tests/campaign/test_names.py",)),
                40,
            ),
        )
    }
)
