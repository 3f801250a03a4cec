"""A process on the terminal: what is counted as what, how lines wrap, the last sentence."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from rich.console import Console, Group

from testbed.profiling.result import CountedProcess, StrategyShare, WrongPlace
from testbed.report.process_text import _places, _summary, _threads, process_answer
from testbed.verdicts.assumptions.along import Accord
from testbed.verdicts.counts import SiteKind
from testbed.words.outcome import Outcome

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


def answer(*shares: StrategyShare) -> str:
    return process_answer(cast(CountedProcess, _Process()), shares).plain.strip()


def test_the_answer_names_who_was_asked_at_a_sample() -> None:
    honest = "the others stop honestly: nobody lies."
    assert answer(EXACT) == "1 of 1 strategy exact at all 100 steps."
    assert answer(EXACT, STOPS) == f"1 of 2 strategies exact at all 100 steps; {honest}"
    assert answer(EXACT, SAMPLED) == f"1 of 2 strategies exact at all 100 steps (gdb: at 30 of them); {honest}"
    assert answer(SAMPLED) == f"0 of 1 strategy exact at the 30 sampled of 100 steps; {honest}"


def test_crashes_are_no_honest_stops() -> None:
    assert answer(EXACT, DEAD).endswith("; nobody lies, and drgn gives no answer at 4.")
    told = " ".join(printed(_summary([SAMPLED, DEAD])).split())
    assert "drgn: exact 83.3 %, all callers, no root 0 %, honest stops 3.3 %, no answer 13.3 %, lies 0 %" in told
    assert "no answer" not in printed(_summary([EXACT, SAMPLED]))


def test_a_long_cause_wraps_below_its_beginning() -> None:
    lines = printed(Group(*_places(replace(EXACT, places=(WHERE,))))).splitlines()
    first = next(line for line in lines if "12  " in line)
    begin = first.index("+0x1a2d0")
    assert first[:begin].split() == ["12"]
    assert len(lines) > 4 and all(not line[:begin].strip() for line in lines[lines.index(first) + 1 :])


def test_a_process_without_system_calls_has_no_list_of_them() -> None:
    def told(calls: dict[str, int]) -> str:
        run = SimpleNamespace(calls=calls, refused=(), notes=(), status=0, why="")
        return printed(Group(*_threads(cast(Any, SimpleNamespace(threads=(), run=run))))).strip()

    assert told({}) == "calls   0 system calls"
    assert told({"write": 2, "exit": 1}) == "calls   3 system calls: write 2, exit 1"
