"""Theorem, converse and foretelling, by technique and architecture, at sites of the whole corpus.

``pytest --update-golden tests/verdicts/assumptions/test_theorem.py`` writes the counts anew; those of GCC's recipes are
not in them, since they change with its version. All sites of all programs: ``pytest --everything`` with this file.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest

from programs import PROGRAMS
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Unit, run_unit
from testbed.contract.assumption import FIRST
from testbed.contract.unwinder import Unwinder
from testbed.runs.run import Run, judge, judge_steps
from testbed.verdicts.assumptions import Failed, FoundCaller, failed_at
from testbed.verdicts.assumptions.words import reason
from testbed.verdicts.verdict import Accord
from tests import corpus
from tests.golden import OURS
from unwinders import UNWINDERS

# Every unwinder with an assumption beside it, at some sites of a run.


class Judged(NamedTuple):
    """An unwinder at a site: how its answer and its assumption stand to each other."""

    unwinder: str
    step: int
    accord: Accord
    failed: Failed | None

    def told(self, run: Run) -> str:
        """Where it is, and why, for people."""
        why = reason(self.failed, run.trace.images) if self.failed else "it holds"
        return f"{run}, {self.unwinder} at @{self.step}: {self.accord.value}; {why}"


def evenly(run: Run, most: int) -> range:
    """Steps of a run, at most about so many, at the same distance."""
    return range(0, len(run), max(1, len(run) // most))


def beside(run: Run, unwinders: Iterable[Unwinder], steps: Iterable[int]) -> Iterator[Judged]:
    """The unwinders that have an assumption, and apply."""
    chosen = [each for each in unwinders if each.assumption is not None and each.applies_to(run.built.image)]
    steps = list(steps)
    for unwinder in chosen:
        for step, verdict in zip(steps, judge_steps(run, unwinder, steps), strict=True):
            yield Judged(unwinder.name, step, verdict.accord, verdict.failed)


BESIDE = (Accord.HOLDS, Accord.FAILS, Accord.LUCK, Accord.UNFOUNDED, Accord.OTHERWISE, Accord.OPEN)


def table(counts: Counter[tuple[str, str, Accord]]) -> str:
    """Sites by unwinder and architecture, a line each, and of each accord how many."""
    lines = [f"{'unwinder':24}{'arch':8}" + "".join(f"{each.name.lower():>11}" for each in BESIDE)]
    for name, arch in dict.fromkeys(key[:2] for key in counts):
        lines.append(f"{name:24}{arch:8}" + "".join(f"{counts[name, arch, each]:11}" for each in BESIDE))
    return "\n".join(lines) + "\n"


GOLDEN = OURS.folder / "assumptions.txt"
PART, SITES = 11, 24  # of so many units one, and of it so many sites


def test_theorem_converse_and_foretelling(request: pytest.FixtureRequest) -> None:
    counts: Counter[tuple[str, str, Accord]] = Counter()
    for unit in [each for each in corpus.UNITS if not RECIPES[each.recipe].tool.gnu][::PART]:
        run = run_unit(unit, PROGRAMS)
        for judged in beside(run, UNWINDERS.values(), evenly(run, SITES)):
            assert not judged.accord.unexplained, judged.told(run)
            if judged.failed is not None:
                assert judged.failed.clause in UNWINDERS[judged.unwinder].assumption.clauses, judged.told(run)
            counts[judged.unwinder, unit.arch, judged.accord] += 1
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(table(counts), encoding="utf-8")
    assert table(counts) == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.everything
@pytest.mark.parametrize("unit", corpus.UNITS, ids=str)
def test_at_every_site(unit: Unit) -> None:
    run = run_unit(unit, PROGRAMS)
    for judged in beside(run, UNWINDERS.values(), range(len(run))):
        assert judged.accord in (Accord.HOLDS, Accord.FAILS, Accord.OPEN), judged.told(run)


# Reasons in words: whose a return address is that a scan finds, and what was foretold of an unexplained answer.


def scan_fails(run: Run, step: int) -> Failed | None:
    """Where the assumption of scanning fails at a step."""
    assumption = UNWINDERS["stack_scan"].assumption
    assert assumption is not None
    return failed_at(run.watched, [step], assumption)[0]


@pytest.mark.parametrize(
    ("program", "recipe", "kinds"),
    [
        ("stale_addresses", "keystone", {"an earlier call of"}),
        ("moved_return", "keystone", {"in a copy that"}),
    ],
)
def test_a_copy_of_a_return_address_is_told_from_the_original(program: str, recipe: str, kinds: set[str]) -> None:
    """On x86-64 the original is the word below its activation's CFA: here by place, in the words by who wrote it."""
    run, told = corpus.ran(program, "x86_64", recipe), Counter[str]()
    writers: dict[int, dict[int, int]] = {}  # by step: of each word the step that wrote it last
    last: dict[int, int] = {}
    writes = iter(zip(run.trace.writes.step.tolist(), run.trace.writes.address.tolist(), strict=True))
    write = next(writes, None)
    for step in range(len(run)):
        while write is not None and write[0] < step:
            last[write[1] & ~7] = write[0]
            write = next(writes, None)
        writers[step] = dict(last)
    for step in evenly(run, 200):
        failed = scan_fails(run, step)
        if failed is None or failed.clause is not FIRST or not isinstance(failed.foretold, FoundCaller):
            continue
        at, reason = failed.foretold.at, run.reason(failed, step)
        assert at is not None
        originals = [
            activation
            for activation in run.watched.activations
            if (activation.return_address, activation.cfa) == (failed.foretold.pc, at + 8)
            and activation.opened - 1 == writers[step].get(at)
        ]
        assert ("in a copy that" in reason) is (not originals), reason
        if not originals:
            assert f"in a copy that {run.function(int(run.trace.pc[writers[step][at]]))} wrote" in reason
        told.update(kind for kind in kinds if kind in reason)
    assert told.keys() == kinds


def test_a_saved_link_register_is_the_original_and_its_reload_stored_again_is_not() -> None:
    run = corpus.ran("leaf_call", "arm64", "keystone")
    failed = scan_fails(run, 7)
    assert failed is not None and "= _start+0xc (main's return address) passes first" in run.reason(failed, 7)


@pytest.mark.parametrize(
    ("chosen", "step", "foretold"),
    [
        ("fp_chain", 7, "foretold are the true callers as far as middle, then _start+0xc, for at middle x29 leads to"),
        ("eh_frame", 7, "foretold are the true callers, to the root"),
    ],
)
def test_an_unexplained_answer_is_told_with_what_was_foretold(chosen: str, step: int, foretold: str) -> None:
    run, unwinder = corpus.ran("leaf_call", "arm64", "keystone"), UNWINDERS[chosen]
    said = unwinder.unwind(run.trace.snapshot(step))
    verdict = judge(run, step, replace(said, frames=said.frames[:1]), unwinder)
    assert verdict.accord in (Accord.OTHERWISE, Accord.UNFOUNDED)
    assert run.why(verdict, step).startswith(f"UNEXPLAINED: {foretold}")
    reason = "" if verdict.failed is None else run.reason(verdict.failed, step)
    assert reason in run.why(verdict, step)
