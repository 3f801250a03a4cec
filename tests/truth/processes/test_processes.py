"""Real processes, proven: both witnesses of the truth have the same frames at every step of every thread."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from testbed.campaign.cells import Unit
from testbed.campaign.prove import UnitProof, prove_unit, total
from testbed.truth import Truth, observe
from tests.truth.processes.cases import CASES, Asked, Case, answers, compiled, go, newer_go, run_of


@pytest.mark.parametrize("case", [case.param for case in CASES])
def test_both_witnesses_say_the_same_at_every_step(case: Case) -> None:
    run = run_of(case)
    proofs: list[UnitProof] = []
    for track in run.tracks:
        unit = Unit(case.name, run.arch.name, f"thread-{track.thread}")
        proofs.append(prove_unit(unit, observe(track.trace)))
    added = total(proofs)
    compared = f"{added.steps:,} steps compared, {added.transition:,} differ where no single answer is right"
    compared += f", {added.undecided:,} where no effect decides"
    print(f"{case.name}: {run.ending}; {len(proofs)} threads, {compared}")
    dissents = [str(dissent) for each in proofs if each.proof for dissent in each.proof.dissents[:3]]
    assert (added.disagreed, added.unfollowed) == (0, 0), "\n".join(dissents[:5])
    assert added.steps == run.steps


def test_what_goes_on_on_a_stack_that_another_thread_left_is_undecided() -> None:
    """Nothing that the thread did tells who called. Until it takes over such a stack, all is decided."""
    run = run_of(next(each for each in CASES if each.name == "Go, other threads"))
    taken = [track for track in run.tracks if track.trace.taken_over]
    assert len(taken) > 1
    for track in taken:
        truth, first = observe(track.trace), track.trace.taken_over[0]
        assert not truth.undecided[:first].any() and truth.undecided[first:].any()


def words_below(truth: Truth, step: int) -> Iterator[tuple[int, int]]:
    """(what lies where the call put its return address, the return address) of the frames at a step."""
    memory, frames, word = truth.trace.memory(step), truth.stack(step).frames, truth.trace.arch.word
    for frame, outer in pairwise(frames):
        if frame.cfa is not None and outer.calling:
            yield memory.unsigned(frame.cfa - word, word), outer.pc


def test_the_word_below_each_cfa_of_a_go_run_is_the_return_address() -> None:
    """Of goroutines, of stacks that were copied, of the system stack, behind a panic: where calls and returns are."""
    case = next(each for each in CASES if each.name == "Go, x86_64")
    compared = 0
    for track in run_of(case).tracks:
        truth = observe(track.trace)
        changes = np.flatnonzero(np.diff(truth.node)) + 1
        for step in changes[:: max(1, len(changes) // 500)].tolist():
            for found, address in words_below(truth, step):
                assert found == address, f"step {step}: {truth.stack(step)}"
                compared += 1
    assert compared > 1000


# Go's own `runtime.Callers`, executed inside the process: in goroutines, on a stack that grew by copies, in deferred
# functions, behind panics that are recovered and faults in Go and in assembly without a frame; and in Go that C called.

ask = (*go, "-gcflags=-l")
ask_newer = ("{root}/go/bin/go", *ask[1:])
GO_1_19_AND_NEWEST = (
    Case("x86_64", compiled(*ask, "callers.go")),
    Case("arm64", compiled(*ask, "callers.go", GOARCH="arm64")),
    Case("newest, x86_64", compiled(*ask_newer, "callers.go", root=newer_go), night=True),
    Case("newest, arm64", compiled(*ask_newer, "callers.go", root=newer_go, GOARCH="arm64"), night=True),
)
WITH_C = (
    Case("x86_64", compiled(*ask, "cgo_callers.go", CGO_ENABLED="1")),
    Case("newest, x86_64", compiled(*ask_newer, "cgo_callers.go", root=newer_go, CGO_ENABLED="1"), night=True),
)
# Go leaves out C and what leads there on the system stack, and tells where it had left its own.
TO_C = {"runtime.asmcgocall", "over_there", "back", "crosscall2", "runtime.systemstack_switch"}


@pytest.mark.parametrize("case", [case.param for case in GO_1_19_AND_NEWEST])
def test_the_truth_is_what_go_says(case: Case) -> None:
    run = run_of(case)
    said = {each.number: each for each in answers(run)}
    assert sorted(said) == list(range(27)) and run.stderr == b"27\n"
    assert max(len(each.addresses) for each in said.values()) > 60
    assert {number: each.differences for number, each in said.items() if each.differences} == {}
    one = said[0]
    less = Asked(0, one.addresses[:1] + one.addresses[2:], one.stack, one.places)
    more = Asked(0, (*one.addresses, one.addresses[0]), one.stack, one.places)
    assert [len(less.differences), len(more.differences)] == [1, 1]


@pytest.mark.parametrize("case", [case.param for case in WITH_C])
def test_of_go_that_c_called_only_what_go_has_no_table_of_differs(case: Case) -> None:
    said = list(answers(run_of(case)))
    assert [each.number for each in said] == list(range(4))
    for each in said:
        names = {difference.partition(": ")[2] for difference in each.differences}
        assert {name for name in names if not name.startswith("_cgo_")} <= TO_C, each.differences
        assert len(each.differences) > 4 * each.number
