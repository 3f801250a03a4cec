"""What strategies said of a run, as the stepper's page holds it: outcomes, frames beside the truth, phases."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.campaign.results import Cell
from testbed.contract.unwinder import Limit
from testbed.naming.beside import Alignment, beside
from testbed.report.answers import NOTHING, Answers, StepAnswers
from testbed.report.json_data import counts
from testbed.report.strategy_sentences import strategy_sentence
from testbed.runs.run import Run
from testbed.truth.phases import PHASES, phases
from testbed.words.outcome import Outcome

StepperColumns = dict[str, NDArray[Any]]
_SHAPE = {Alignment.TRUE: "=", Alignment.MISSING: "-", Alignment.FALSE: "+"}


def answer_data(run: Run, answers: Answers, cells: Sequence[Cell], columns: StepperColumns) -> dict[str, Any]:
    """Per step and strategy: the outcome, what explains it, how deep it is right, what differs, its callers.

    ``besides`` are the ways in which frames lie beside the true ones, each named by a column of a strategy:
    ``=3-1=2+1`` are three frames that both have, one that the answer lacks, two that both have, one that never was;
    the empty one: they are the same from the innermost frame on, as far as the answer goes.
    """
    index = {outcome: i for i, outcome in enumerate(Outcome)}
    notes: dict[str, int] = {"": 0}
    besides = _Besides(run, answers)
    phase = phases(run.watched)
    strategies = []
    for i, (answer, cell) in enumerate(zip(answers.each, cells, strict=True)):
        limits: dict[Limit | None, int] = {limit: k + 1 for k, limit in enumerate(answer.unwinder.limits)}
        verdicts = answer.verdicts
        columns[f"s{i}outcome"] = np.array([index[v.outcome] for v in verdicts], np.uint8)
        columns[f"s{i}limit"] = np.array([limits.get(v.explained_by, 0) for v in verdicts], np.uint8)
        columns[f"s{i}unexplained"] = np.array([v.unexplained for v in verdicts], np.uint8)
        columns[f"s{i}depth"] = np.array([min(v.depth, 65535) for v in verdicts], np.uint16)
        columns[f"s{i}note"] = np.array([notes.setdefault(run.difference(v), len(notes)) for v in verdicts], np.uint32)
        columns[f"s{i}callers"] = answer.callers
        columns[f"s{i}cfa"] = answer.cfa
        columns[f"s{i}beside"] = besides.of(answer)
        strategies.append(
            {
                "name": answer.unwinder.name,
                "summary": answer.unwinder.summary,
                "sentence": strategy_sentence(run, verdicts),
                "phases": _by_phase(answer, phase),
                "counts": counts(cell),
                "limits": [[limit.mechanism, limit.because, limit.reference] for limit in answer.unwinder.limits],
            }
        )
    columns["frame_pc"], columns["frame_cfa"], columns["frame_outer"] = answers.pc, answers.cfa, answers.outer
    columns["transition"] = np.array([v.transition for v in answers.each[0].verdicts] if answers.each else [], np.uint8)
    return {"strategies": strategies, "notes": list(notes), "besides": list(besides.ways)}


def _by_phase(answer: StepAnswers, phase: NDArray[np.int8]) -> list[list[int]]:
    """For each of PHASES: sites, exact ones, honest stops, lies."""
    table = [[0, 0, 0, 0] for _ in PHASES]
    for at, verdict in zip(phase.tolist(), answer.verdicts, strict=True):
        if not verdict.transition:
            table[at][0] += 1
            table[at][1 if verdict.exact else 3 if verdict.outcome.lying else 2] += 1
    return table


class _Besides:
    """How answers lie beside the truth, each pair of a true stack and an answer compared once."""

    def __init__(self, run: Run, answers: Answers) -> None:
        self.run, self.answers = run, answers
        self.ways: dict[str, int] = {"": 0}
        self._known: dict[tuple[int, int], int] = {}

    def of(self, answer: StepAnswers) -> NDArray[np.uint32]:
        """For every step the number of a way."""
        found = np.zeros(len(self.run), np.uint32)
        node = self.run.watched.node.tolist()
        for step, (verdict, callers) in enumerate(zip(answer.verdicts, answer.callers.tolist(), strict=True)):
            if verdict.outcome is Outcome.EXACT or callers == NOTHING:
                continue
            key = node[step], callers
            if key not in self._known:
                self._known[key] = self.ways.setdefault(self._way(step, callers), len(self.ways))
            found[step] = self._known[key]
        return found

    def _way(self, step: int, callers: int) -> str:
        true = self.run.truth(step).pcs
        said = (true[0], *self.answers.chain(callers)[0])
        if said == true[: len(said)]:
            return ""
        compared = (each.alignment for each in beside(true, said))
        return "".join(f"{_SHAPE[kind]}{len(list(same))}" for kind, same in groupby(compared))
