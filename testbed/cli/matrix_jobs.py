"""A unit of a matrix as a job for any machine's processes, told in words: strategies hold code without a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from testbed.campaign.kept_results import judge_with_key
from testbed.campaign.results import Unit, UnitResult
from testbed.campaign.sampled import judge_unit_sample
from testbed.cli.choice import matching
from testbed.cli.corpus import chosen_programs
from testbed.cli.strategies import strategies_from_outside, strategies_named
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.referee import present
from testbed.words.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixWords:
    """What was typed of programs, strategies and how they are judged: all that decides a unit's result."""

    programs: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    names: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    referees: bool = False
    fresh: bool = False
    natively: bool | None = None
    steps: int | None = None

    def chosen_programs(self) -> Mapping[str, Program]:
        """The programs, by name. Raises UsageError."""
        return {program.name: program for program in chosen_programs(self.programs, self.folders)}

    def chosen_strategies(self) -> list[Unwinder]:
        """The strategies that were chosen; those of commands come last. Raises UsageError."""
        if not self.referees:
            return strategies_named(self.names, self.commands)
        if not (found := present()):
            raise UsageError("no real unwinder is installed; testbed list referees says which packages bring them")
        return [*matching(found, self.names, "strategy"), *strategies_from_outside((), self.commands)]


def judge_job(unit: Unit, words: MatrixWords) -> tuple[UnitResult, str]:
    """A unit's result and the key that whoever asked keeps it under (`testbed.campaign.kept_results`)."""
    programs, unwinders = _values(words)
    if words.steps:
        return judge_unit_sample(unit, programs, unwinders, most=words.steps), ""
    return judge_with_key(unit, programs, unwinders, fresh=words.fresh, natively=words.natively)


def lost_job(unit: Unit) -> tuple[UnitResult, str]:
    """What is said of a unit over which every process died."""
    return UnitResult(unit, failed="each process that judged it died"), ""


@lru_cache(maxsize=2)
def _values(words: MatrixWords) -> tuple[Mapping[str, Program], Sequence[Unwinder]]:
    return words.chosen_programs(), words.chosen_strategies()
