"""The timeline: valid for both viewers, balanced, and the same stacks as the truth and the strategies."""

from __future__ import annotations

from collections.abc import Sequence

import jsonschema
import pytest

from testbed.report.schemas import schema
from testbed.report.timeline import Change, changes, timeline
from tests.report.judged import judged


def stacks(events: Sequence[dict[str, object]], steps: int) -> list[list[object]]:
    """The open frames after all events at or before each step, by replaying; fails where a close does not match."""
    at: list[list[object]] = []
    open_: list[object] = []
    rest = list(events)
    for step in range(steps):
        while rest and rest[0]["at"] == step:
            event = rest.pop(0)
            if event["type"] == "O":
                open_.append(event["frame"])
            else:
                assert open_.pop() == event["frame"]
        at.append(list(open_))
    for event in rest:
        assert (event["at"], event["type"], open_.pop()) == (steps, "C", event["frame"])
    assert open_ == []
    return at


@pytest.mark.parametrize(
    ("program", "arch", "recipe"),
    [("leaf_call", "arm64", "keystone"), ("recursion", "x86_64", "clang-O0"), ("tail_call", "arm32", "keystone")],
)
def test_a_timeline_replays_to_the_stacks(program: str, arch: str, recipe: str) -> None:
    run, answers, _ = judged(program, arch, recipe)
    data = timeline(run, answers)
    jsonschema.validate(data, schema("timeline"))
    names = [frame["name"] for frame in data["shared"]["frames"]]
    truth, *lanes = [stacks(profile["events"], len(run)) for profile in data["profiles"]]
    assert [len(stack) for stack in truth] == [len(run.truth(step)) for step in range(len(run))]
    for each, lane in zip(answers.each, lanes, strict=True):
        for step, stack in enumerate(lane):
            said = each.unwinder.unwind(run[step])
            claimed = [f"({said.stopped.reason})"] if said.stopped else []
            claimed += reversed(run.frame_names(said.frames))
            assert [names[int(str(frame))] for frame in stack] == claimed


def test_trace_events_say_the_same_as_the_profiles() -> None:
    run, answers, _ = judged("leaf_call", "arm64", "keystone")
    data = timeline(run, answers)
    for thread, profile in enumerate(data["profiles"]):
        names = [frame["name"] for frame in data["shared"]["frames"]]
        evented = [(e["type"] == "O", names[e["frame"]], e["at"]) for e in profile["events"]]
        traced = [
            (e["ph"] == "B", e["name"], e["ts"]) for e in data["traceEvents"] if e["tid"] == thread and e["ph"] in "BE"
        ]
        assert traced == evented
    truth, chain = (stacks(profile["events"], len(run)) for profile in data["profiles"][:2])
    shorter = [step for step, (a, b) in enumerate(zip(truth, chain, strict=True)) if len(a) > len(b)]
    assert shorter == [step for step, verdict in enumerate(answers.each[0].verdicts) if not verdict.exact]


def test_another_activation_of_the_same_function_is_another_frame() -> None:
    assert list(changes(iter([[(0, "main"), (1, "f")], [(0, "main"), (2, "f")]]))) == [
        Change(0, True, "main"),
        Change(0, True, "f"),
        Change(1, False, "f"),
        Change(1, True, "f"),
        Change(2, False, "f"),
        Change(2, False, "main"),
    ]
