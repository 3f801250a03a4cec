"""The phases of steps: each by its definition, at instructions that are known by their place in the source."""

from __future__ import annotations

import testbed
from testbed.runs.run import Run
from testbed.truth.phases import PHASES, Phase, phases


def phase_at(run: Run, location: str) -> Phase:
    return PHASES[int(phases(run.watched)[run.step_at(location)])]


def test_a_leaf_passes_through_entry_prologue_body_and_epilogue() -> None:
    run = testbed.run("leaf_call", arch="arm64", recipe="keystone")
    said = [phase_at(run, place) for place in ("leaf", "leaf+0x4", "leaf+0x8", "leaf+0x14")]
    assert said == [Phase.ENTRY, Phase.PROLOGUE, Phase.BODY, Phase.EPILOGUE]


def test_every_call_and_only_a_call_is_followed_by_an_entry() -> None:
    """However it is made: by two instructions, too. An activation that begins with a call is at its entry first."""
    for program, arch in (("leaf_call", "x86_64"), ("two_step_call", "x86_64"), ("two_step_call", "arm64")):
        run = testbed.run(program, arch=arch, recipe="keystone")
        column = [PHASES[i] for i in phases(run.watched).tolist()]
        entered = [step for step, phase in enumerate(column) if phase is Phase.ENTRY and step]
        assert entered
        assert [step - 1 for step in entered] == [step for step, phase in enumerate(column) if phase is Phase.CALL]


def test_a_signal_that_arrives_is_no_call() -> None:
    run = testbed.run("signal", arch="x86_64", recipe="keystone")
    column = phases(run.watched)
    arrived = [step for step in range(len(run)) if run.trace.interrupted(step)]
    assert len(arrived) == 4  # at the entry, in the prologue, the body and the epilogue of one function
    said = [PHASES[int(column[step])] for step in arrived]
    assert said == [Phase.ENTRY, Phase.PROLOGUE, Phase.BODY, Phase.EPILOGUE]
    assert all(PHASES[int(column[step + 1])] is Phase.ENTRY for step in arrived)  # of the handler
