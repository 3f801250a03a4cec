"""Both witnesses of the truth, held against each other; and a truth that is spoiled, to see that it is noticed."""

from dataclasses import replace

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.campaign.cells import Unit, run_unit
from testbed.campaign.prove import prove, prove_unit, total
from testbed.trace import Trace
from testbed.truth import Truth, observe
from testbed.truth.model import Activation, Activations
from testbed.witness import Testimony, attest
from tests.cli.command import Testbed, data_of, tells
from tests.corpus import UNITS
from tests.process.builds import ran
from tests.witness.rules import LEAVING, RULES
from tests.witness.witnessed import agreed, recorded

# Everything that is more than calls and returns, by one recipe; of the rest every thirtieth.
TRICKS = (
    *(
        "callee_pops",
        "coroutine",
        "interworking",
        "landing_pad",
        "longjmp",
        "null_call",
        "other_stack",
        "pac_ret",
        "plt",
    ),
    *("push_ret", "raise", "retpoline", "signal", "signal_alternate", "signal_nested"),
)
SAMPLE = [
    *(unit for unit in UNITS if unit.program in TRICKS and unit.recipe.startswith("keystone")),
    *UNITS[::30],
]


@pytest.mark.parametrize("unit", SAMPLE, ids=str)
def test_both_witnesses_say_the_same(unit: Unit) -> None:
    proof = agreed(run_unit(unit, PROGRAMS).watched)
    assert proof.agreed + proof.transition + proof.undecided == proof.steps > 0


@pytest.mark.parametrize(
    ("isa", "body"), [pytest.param(i, b, id=f"{rule}-{i}") for rule, by_isa in RULES.items() for i, b in by_isa.items()]
)
def test_both_witnesses_say_the_same_of_each_rule(isa: str, body: str) -> None:
    agreed(observe(recorded(isa, body + "\n")))


@pytest.mark.parametrize(("name", "target"), [("contexts", "arm64"), ("signals", "thumb")])
def test_both_witnesses_say_the_same_of_real_programs(name: str, target: str) -> None:
    """glibc's `swapcontext` comes back to a stub; its `longjmp` branches after it has the target's SP."""
    for track in ran(name, target, "static").tracks:
        assert agreed(observe(track.trace)).transition < 20


def test_what_is_counted_adds_up() -> None:
    runs = [prove_unit(unit, run_unit(unit, PROGRAMS).watched) for unit in SAMPLE[:3]]
    added = total(runs)
    assert added.units == 3
    assert (
        added.steps
        == added.agreed + added.transition + added.undecided + added.disagreed
        == sum(r.proof.steps for r in runs if r.proof)
    )


RECURSION = {
    isa: Unit("recursion", arch.name, "clang-thumb-O2" if isa == "thumb" else "clang-O0")
    for arch in ARCHES.values()
    for isa in (isa.name for isa in arch.isas)
}


def _spoiled(truth: Truth, index: int, **changes: int) -> Truth:
    activations: list[Activation] = list(truth.activations)
    activations[index] = replace(activations[index], **changes)
    return replace(truth, activations=Activations.of(activations))


@pytest.mark.parametrize("isa", RECURSION)
def test_a_spoiled_truth_is_noticed(isa: str) -> None:
    """An activation that is left out, one with another caller, another return address, CFA or first step."""
    run = run_unit(RECURSION[isa], PROGRAMS)
    truth, said = run.watched, attest(run.trace)
    index = len(truth.activations) // 2
    activation = truth.activations[index]
    inside = {index}
    for each in truth.activations[index + 1 :]:
        if each.parent in inside:
            inside.add(each.index)
    steps = int(np.isin(truth.node, list(inside)).sum())
    assert activation.parent and activation.return_address and activation.cfa and steps
    further = truth.activations[activation.parent].parent
    assert further is not None
    for changes in (
        {"parent": further},
        {"return_address": activation.return_address + 4},
        {"cfa": activation.cfa + 8},
        {"opened": activation.opened + 1},
    ):
        assert prove(_spoiled(truth, index, **changes), said).disagreed == steps
    gone = np.where(truth.node == index, activation.parent, truth.node).astype(np.int32)
    assert prove(replace(truth, node=gone), said).disagreed == int((truth.node == index).sum())


@pytest.mark.parametrize(("isa", "back", "call"), [("x86_64", "back: ", "call f2\n"), ("arm64", "back: ", "bl f2\n")])
def test_a_jump_back_into_a_function_that_then_calls_is_told_wrong_and_noticed(isa: str, back: str, call: str) -> None:
    """The truth takes it for who was left there, which is wrong; the witness tells whose it is."""
    body = RULES["left"][isa].replace(back, back + call).replace("fn other", "fn f2\nin_f2: ret\nfn other")
    proof = prove(observe(recorded(isa, body + "\n")))
    assert {dissent.truth.count(" < ") for dissent in proof.dissents} <= {1, 2}
    assert all(" < main" in f" < {dissent.witness}" for dissent in proof.dissents)
    assert proof.disagreed


def test_a_step_without_a_single_right_answer_is_counted_apart() -> None:
    run = run_unit(Unit("longjmp", "x86_64", "keystone"), PROGRAMS)
    truth, said = run.watched, attest(run.trace)
    (step, *_) = np.flatnonzero(truth.transition).tolist()
    node = truth.node.copy()
    node[step] = 0
    proof = prove(replace(truth, node=node), said)
    assert (proof.transition, proof.disagreed) == (1, 0)


def test_a_disagreement_is_told_in_words() -> None:
    run = run_unit(Unit("leaf_call", "x86_64", "keystone"), PROGRAMS)
    truth = run.watched
    inner = int(truth.node.max())
    (dissent,) = prove(replace(truth, node=np.where(truth.node == inner, 0, truth.node).astype(np.int32))).dissents
    assert dissent.truth.startswith("leaf")
    assert " < " not in dissent.truth
    assert dissent.witness.count(" < ") == dissent.witness.count(", from step ") == 3
    assert f", from step {dissent.step} on) < middle" in dissent.witness
    assert f"at {dissent.steps} steps from {dissent.step}, leaf" in str(dissent)


COMPARED = ("run", "leaf_call", "--cross-check")


def test_the_command_compares_a_program_and_refuses_nonsense(testbed: Testbed) -> None:
    tells(testbed, 0, COMPARED, ["25 steps compared, 25 agree, 0 disagree"])
    for units_of, unit in (("fuzz -n 1", "gen:0-arm64-keystone"), ("matrix -p leaf_call", "leaf_call-arm64-keystone")):
        done = testbed(*units_of.split(), "--cross-check", "-r", "keystone", "-a", "arm64", "-j", "1")
        assert (done.status, done.out.count(unit)) == (0, 1)
    for wrong in (["run", "leaf_call", "--explain"], ["matrix", "-r", "no-such-recipe"], ["fuzz", "--save", "x"]):
        tells(testbed, 2, [*wrong, "--cross-check"])


def test_the_command_fails_where_the_two_disagree(monkeypatch: pytest.MonkeyPatch, testbed: Testbed) -> None:
    """And its JSON is as its schema says, with a disagreement in it and without one."""
    data_of(tells(testbed, 0, [*COMPARED, "--json"]).out, "cross_check")

    def blind(trace: Trace) -> Testimony:
        said = attest(trace)
        return replace(said, node=np.zeros_like(said.node))

    monkeypatch.setattr("testbed.campaign.prove.attest", blind)
    found = data_of(tells(testbed, 1, [*COMPARED, "--json"]).out, "cross_check")
    assert (found["runs"][0]["disagreed"], found["disagreed"]) == (20, 20)
    tells(testbed, 1, COMPARED, ["by provenance:     leaf\n"])


@pytest.mark.parametrize("isa", ["arm64", "a32", "thumb"])
def test_a_leaf_leaves_its_caller_for_a_pad_right_behind_the_callers_call(isa: str) -> None:
    """``bl throw`` was no jump, and ``throw`` did not return for ``f``: it took the address from another register."""
    proof = prove(observe(recorded(isa, LEAVING[isa] + "\n")))
    assert proof.agreed + proof.transition + proof.undecided == proof.steps
