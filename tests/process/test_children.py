"""Processes that have children: what they print natively they print here, and each has a truth of its own."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from testbed.campaign.prove import prove
from testbed.cli.table_readers import evaluate_rule
from testbed.image import describe
from testbed.process import ProcessRun, run_process
from testbed.process.pieces import run_in_pieces
from testbed.profiling.judge import judge_process, watch_process
from testbed.truth import observe
from tests.process.builds import TARGETS, built, elsewhere, host_is_x86_64, ran, told
from unwinders import UNWINDERS

WAYS = ("fork", "pipe", "signals", "broken", "exec", "vfork", "group", "poll", "orphan", "missing")
LEFT_TO_NATIVE = {"exec", "vfork"}  # qemu-user hands execve to the host, which has no file there
SCRIPTS = (
    "echo a b | tr a-z A-Z | cat; echo $?",
    "x=$(echo hi | wc -c); echo $x; (exit 3); echo $?",
    "sleep 1 & wait $!; echo $?; false || echo or; ! true; echo $?",
    "trap 'echo term' TERM; kill -TERM $$; (kill -KILL $(exec sh -c 'echo $PPID')) ; echo $?",
    "printf '3\\n1\\n2\\n' | sort | head -n 2 | while read x; do echo got $x; done",
    "echo one > /tmp/x-$$; cat < /tmp/x-$$ | sed s/one/two/; rm /tmp/x-$$; test -e /tmp/x-$$ || echo gone",
    "exec expr 6 \\* 7",
    "no-such-program 2> /dev/null; echo $?; /bin 2> /dev/null; echo $?",
    "yes | head -n 3; seq 3 | xargs -n 1 echo n",
    "set -- a b; for i; do echo $i; done | awk '{ print NR, $1 }'",
    "cat <<end | tee /dev/null | grep -c x\nx\ny\nx\nend",
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("target", TARGETS)
def test_children_do_what_they_do_elsewhere(way: str, target: str) -> None:
    run = ran("children", target, "static", way)
    there = "x86_64" if way in LEFT_TO_NATIVE and target != "x86_64" else target
    if there == "x86_64" and not host_is_x86_64():
        pytest.skip("it is compared with a native run, and this machine is not x86_64")
    assert told(run) == elsewhere("children", there, "static", way)
    assert bool(run.children) == (way != "missing")


@pytest.mark.skipif(not host_is_x86_64(), reason="runs programs of the host")
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_print_what_they_print_natively(shell: str, script: str) -> None:
    run = run_process(shell, ["-c", script])
    native = subprocess.run(
        [shell, "-c", script], stdin=subprocess.DEVNULL, capture_output=True, env={"PATH": "/usr/bin:/bin", "LANG": "C"}
    )
    assert told(run) == (native.stdout, native.returncode), run.stderr


@pytest.mark.parametrize("target", TARGETS)
def test_a_forked_child_goes_on_on_its_parents_stack(target: str) -> None:
    run = ran("children", target, "static", "fork")
    (child,) = run.children
    (parent,), (track,) = run.tracks, child.tracks
    assert child.parent == run.number and child.status == 8 and child.steps == len(track.trace) - track.begins
    assert np.array_equal(track.trace.registers[: track.begins], parent.trace.registers[: track.begins])
    callers = observe(track.trace).stack(track.begins).frames
    names = [describe(track.trace.images, each.pc, caller=i > 0).partition("+")[0] for i, each in enumerate(callers)]
    assert [name for name in names if name in ("_Fork", "deep", "main")] == ["_Fork", "deep", "main"]
    share = judge_process(watch_process(child), UNWINDERS["fp_chain" if target == "x86_64" else "stack_scan"])
    assert share.sites == child.steps


@pytest.mark.parametrize("target", ["x86_64", "arm64"])
@pytest.mark.parametrize("way", ["fork", "pipe", "exec"])
def test_the_witnesses_agree_about_parents_and_children_and_tables_are_explained(way: str, target: str) -> None:
    run = ran("children", target, "static", way)
    for each in (run, *run.children):
        process = watch_process(each)
        for thread in process.threads:
            proof = prove(thread.watched)
            assert proof.disagreed == proof.unfollowed == 0, proof.dissents
            assert proof.steps > 1_000
        assert judge_process(process, UNWINDERS["eh_frame"], evaluate=evaluate_rule).unexplained == 0


def test_the_memory_of_a_child_is_its_own() -> None:
    """One variable, counted up by the child only."""
    run = ran("children", "x86_64", "static", "fork")
    symbol = run.images[0].image.symbol_named("shared")
    assert symbol is not None
    place = symbol.address + run.images[0].bias
    traces = run.tracks[0].trace, run.children[0].tracks[0].trace
    found = [int.from_bytes(trace.memory(len(trace) - 1).read(place, 4), "little") for trace in traces]
    assert found == [1, 2]


def every_row(run: ProcessRun) -> list[bytes]:
    return [track.trace.registers.tobytes() for each in (run, *run.children) for track in each.tracks]


def test_the_same_seed_gives_the_same_tree() -> None:
    first, program = ran("children", "x86_64", "static", "group"), built("children", "x86_64", "static")
    again, other = run_process(program, ["group"]), run_process(program, ["group"], seed=8)
    assert every_row(first) == every_row(again) != every_row(other)
    assert first.stdout == other.stdout and len(first.children) == 3


def test_what_a_call_that_is_not_emulated_ends_is_its_process() -> None:
    run = ran("children", "x86_64", "static", "unknown")
    (child,) = run.children
    assert (run.status, run.stdout) == (0, b"signal 31\n")
    assert child.status is None and "lookup_dcookie is not emulated, called at syscall+0x" in child.why


def test_a_run_with_children_is_cut_into_pieces_of_the_program_that_was_named() -> None:
    long = run_in_pieces(built("children", "x86_64", "static"), ["pipe"], budget=1_000_000, piece=4096)
    whole = ran("children", "x86_64", "static", "pipe")
    chunks = list(long.chunks(long.threads[0]))
    assert long.run.steps > 4096 and (long.run.stdout, long.run.steps) == (whole.stdout, whole.steps)
    assert [each.steps for each in long.run.children] == [each.steps for each in whole.children]
    assert np.array_equal(np.concatenate([each.trace.registers for each in chunks]), whole.tracks[0].trace.registers)
