"""A process on the terminal: what is counted as what, how lines wrap, the last sentence."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console, Group

from testbed.profiling.result import CountedProcess, StrategyShare, WrongPlace
from testbed.profiling.whose_code import CodePart, CodeShare, ProcessCode
from testbed.report.process_text import _functions, _places, _summary, _threads, process_answer
from testbed.verdicts.assumptions.along import Accord
from testbed.verdicts.counts import SiteKind
from testbed.words.outcome import Outcome
from tests.golden.whole import golden

WHERE = WrongPlace("+0x1a2d0", "ld-linux-x86-64.so.2", "a function uses the frame pointer for " * 4, 12, 12, 3, 1, "f")


def _share(name: str, *, sampled: bool = False, **outcomes: int) -> StrategyShare:
    kinds = {
        SiteKind(
            Outcome(word), Accord.HOLDS if word == "exact" else Accord.FAILS, "" if word == "exact" else "leads"
        ): number
        for word, number in outcomes.items()
    }
    exact, lies = outcomes.get("exact", 0), outcomes.get("skipped", 0)
    own = CodeShare(ProcessCode(CodePart.OWN, "main"), sum(outcomes.values()), exact, lies)
    return StrategyShare(kinds, name=name, sampled=sampled, code=(own,))


LIES = _share("stack_scan", exact=70, skipped=30)
EXACT, STOPS = _share("eh_frame", exact=100), _share("orc", exact=90, stopped=10)
SAMPLED = _share("gdb", sampled=True, exact=25, stopped=5)
DEAD = _share("drgn", sampled=True, exact=25, stopped=1, crashed=3, hung=1)


class _Process:
    threads = ()
    run = SimpleNamespace(
        path=Path("/bin/server"),
        images=(),
        calls={},
        refused=(),
        notes=(),
        conventions=(),
        status=0,
        why="",
        ending="exit 127",
    )


PROCESS = cast(CountedProcess, _Process())


def printed(part: object) -> str:
    out = io.StringIO()
    Console(width=60, file=out, highlight=False, markup=False).print(part)
    return out.getvalue()


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ([EXACT], "eh_frame is right at all 100 steps of your code, and nobody lies there."),
        ([STOPS, EXACT], "eh_frame is right at all 100 steps of your code, and nobody lies there."),
        ([SAMPLED], "gdb is right at 83.3 % of the 30 sampled steps of your code, and nobody lies there."),
        (
            [EXACT, DEAD],
            "eh_frame is right at all 100 steps of your code, and nobody lies there; drgn gives no answer at 4.",
        ),
        (
            [STOPS, LIES],
            "orc is right at 90.0 % of the 100 steps of your code; stack_scan lies at 30.0 %, most in main.",
        ),
        (
            [StrategyShare(name="eh_frame", sampled=False)],
            "No step of your code was judged; the process ended with exit 127.",
        ),
        ([LIES], "stack_scan is right at 70.0 % of the 100 steps of your code; it lies at 30.0 %, most in main."),
    ],
)
def test_the_answer_is_about_your_code(shares: list[StrategyShare], said: str) -> None:
    assert process_answer(PROCESS, shares).plain.strip() == said


def _system_calls(calls: dict[str, int]) -> Group:
    run = SimpleNamespace(calls=calls, refused=(), notes=(), conventions=(), status=0, why="", ending="exit 127")
    return Group(*_threads(cast(Any, SimpleNamespace(threads=(), run=run))))


PARTS = {
    "sums": Group(*_summary(PROCESS, [EXACT, SAMPLED, LIES])),
    "sums_with_crashes": Group(*_summary(PROCESS, [SAMPLED, DEAD])),
    "functions": Group(*_functions(PROCESS, [EXACT, LIES])),
    "places": Group(*_places(PROCESS, replace(EXACT, places=(WHERE,)))),
    "no_calls": _system_calls({}),
    "calls": _system_calls({"write": 2, "exit": 1}),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_told_as_it_was(name: str, request: pytest.FixtureRequest) -> None:
    golden(f"process/{name}.txt", printed(PARTS[name]), request)
