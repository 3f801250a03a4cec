"""The reason that a report prints is the reason: what a clause says of a frame is found again, another way."""

from __future__ import annotations

from collections import Counter

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.contract.assumption import LEADS, ZERO
from testbed.runs.judging import judge
from testbed.runs.run import Run, run_program
from unwinders import UNWINDERS

SAMPLE = [
    *(("alloca_vla", arch, "clang-O0") for arch in ARCHES),
    *(("leaf_call", arch, "keystone") for arch in ARCHES),
    *(("early_return", arch, "keystone") for arch in ARCHES),
    *(("recursion", arch, "clang-O2-fp") for arch in ARCHES),
    ("interworking", "arm32", "keystone"),
]


@pytest.mark.parametrize(("program", "arch", "recipe"), SAMPLE)
def test_a_chain_fails_where_no_record_of_that_frame_is_at_its_frame_pointer(
    program: str, arch: str, recipe: str
) -> None:
    """From the snapshot: the true frame's frame pointer, and the words there, are what the reason says."""
    run, chain = run_program(PROGRAMS[program], ARCHES[arch], recipe), UNWINDERS["fp_chain"]
    told = Counter[str]()
    for step in range(len(run)):
        verdict = judge(run, step, chain.unwind(run[step]), chain)
        if verdict.transition:
            continue
        failed, frames = verdict.failed, run.truth(step).frames
        inner = range(failed.frame if failed else len(frames) - 1)
        assert all(_has_record(run, step, frame) for frame in inner), (step, verdict)
        if failed is not None and failed.clause in (LEADS, ZERO):
            assert not _has_record(run, step, failed.frame), (step, verdict)
            told[failed.clause.name] += 1
        if failed is not None and failed.clause is LEADS:
            assert failed.evidence["found"] == _return_address(run, step, failed.frame)
            assert failed.evidence["true"] == frames[failed.frame + 1].pc
    assert told, "nothing to look at"


def _return_address(run: Run, step: int, frame: int) -> int:
    true = run.truth(step).frames[frame]
    record = run.built.image.frame_record_at(true.lookup_pc - run.loaded.bias)
    at = true.registers[record.pointer] + record.return_address
    return run.arch.without_signature(run[step].memory.unsigned(at, run.arch.word))


def _has_record(run: Run, step: int, frame: int) -> bool:
    true, caller = run.truth(step).frames[frame : frame + 2]
    record = run.built.image.frame_record_at(true.lookup_pc - run.loaded.bias)
    pointer = true.registers[record.pointer]
    own = true.registers[run.arch.sp] <= pointer < caller.registers[run.arch.sp]
    return own and _return_address(run, step, frame) == caller.pc
