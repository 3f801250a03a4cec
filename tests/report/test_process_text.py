"""A process on the terminal: what is counted as what, how lines wrap, the last sentence."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console, Group

from testbed.profiling.result import CountedProcess, StrategyShare, WrongPlace
from testbed.report.process_text import _places, _summary, _threads, process_answer
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
    return StrategyShare(kinds, name=name, sampled=sampled)


EXACT, STOPS = _share("eh_frame", exact=100), _share("orc", exact=90, stopped=10)
SAMPLED = _share("gdb", sampled=True, exact=25, stopped=5)
DEAD = _share("drgn", sampled=True, exact=25, stopped=1, crashed=3, hung=1)


class _Process:
    steps = 100


def printed(part: object) -> str:
    out = io.StringIO()
    Console(width=60, file=out, highlight=False, markup=False).print(part)
    return out.getvalue()


HONEST = "the others stop honestly: nobody lies."


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ([EXACT], "1 of 1 strategy exact at all 100 steps."),
        ([EXACT, STOPS], f"1 of 2 strategies exact at all 100 steps; {HONEST}"),
        ([EXACT, SAMPLED], f"1 of 2 strategies exact at all 100 steps (gdb: at 30 of them); {HONEST}"),
        ([SAMPLED], f"0 of 1 strategy exact at the 30 sampled of 100 steps; {HONEST}"),
        (
            [EXACT, DEAD],
            "1 of 2 strategies exact at all 100 steps (drgn: at 30 of them); nobody lies, and drgn gives no answer "
            "at 4.",
        ),
    ],
)
def test_the_answer_names_who_was_asked_at_a_sample(shares: list[StrategyShare], said: str) -> None:
    assert process_answer(cast(CountedProcess, _Process()), shares).plain.strip() == said


def _system_calls(calls: dict[str, int]) -> Group:
    run = SimpleNamespace(calls=calls, refused=(), notes=(), status=0, why="")
    return Group(*_threads(cast(Any, SimpleNamespace(threads=(), run=run))))


PARTS = {
    "sums": _summary([EXACT, SAMPLED]),
    "sums_with_crashes": _summary([SAMPLED, DEAD]),
    "places": Group(*_places(replace(EXACT, places=(WHERE,)))),
    "no_calls": _system_calls({}),
    "calls": _system_calls({"write": 2, "exit": 1}),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_told_as_it_was(name: str, request: pytest.FixtureRequest) -> None:
    golden(f"process/{name}.txt", printed(PARTS[name]), request)
