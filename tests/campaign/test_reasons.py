"""The reason that a report prints is the reason: each mechanism is found again, another way, where it explains."""

from __future__ import annotations

from collections import Counter

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.judging import judge
from testbed.runs.run import Run, run_program
from testbed.words.traits import Trait
from unwinders import UNWINDERS

SAMPLE = [
    *(("alloca_vla", arch, "clang-O0") for arch in ARCHES),
    *(("leaf_call", arch, "keystone") for arch in ARCHES),
    *(("early_return", arch, "keystone") for arch in ARCHES),
    *(("recursion", arch, "clang-O2-fp") for arch in ARCHES),
    ("interworking", "arm32", "keystone"),
]
CHAINS = ("fp_chain", "builtin_return_address", "glibc_backtrace_fp")


@pytest.mark.parametrize(("program", "arch", "recipe"), SAMPLE)
def test_where_a_chain_is_said_to_be_unlinked_no_record_of_that_frame_is_at_its_frame_pointer(
    program: str, arch: str, recipe: str
) -> None:
    """From the snapshot: the true frame's frame pointer, and the word that would be its return address."""
    run = run_program(PROGRAMS[program], ARCHES[arch], recipe)
    explained: Counter[str] = Counter()
    for name in CHAINS:
        for step in range(len(run)):
            verdict = judge(run, step, UNWINDERS[name].unwind(run[step]), UNWINDERS[name])
            limit = verdict.explained_by
            if verdict.transition or limit is None or not {limit.trait, *limit.also} & {Trait.UNLINKED, Trait.LINKED}:
                continue
            linked = [_has_record(run, step, frame) for frame in range(verdict.since, verdict.frame + 1)]
            is_so = not all(linked) if Trait.UNLINKED in {limit.trait, *limit.also} else any(linked)
            assert is_so, (name, step, verdict)
            explained[limit.mechanism] += 1
    assert explained, "nothing to look at"


def _has_record(run: Run, step: int, frame: int) -> bool:
    frames, arch, memory = run.truth(step).frames, run.arch, run[step].memory
    true, caller = frames[frame], frames[frame + 1]
    record = run.built.image.frame_record_at(true.lookup_pc - run.loaded.bias)
    pointer = true.registers[record.pointer]
    if not true.registers[arch.sp] <= pointer < caller.registers[arch.sp]:
        return False
    return arch.without_signature(memory.unsigned(pointer + record.return_address, arch.word)) == caller.pc


@pytest.mark.parametrize(("program", "arch", "recipe"), SAMPLE)
def test_where_a_row_is_said_to_begin_the_instruction_in_front_changed_something(
    program: str, arch: str, recipe: str
) -> None:
    """From two snapshots of one activation, which lie beside each other or on both sides of a call."""
    run = run_program(PROGRAMS[program], ARCHES[arch], recipe)
    before: dict[int, int] = {}
    begins = 0
    for step in range(len(run)):
        activation = run.truth(step).frames[0].activation
        last = before.get(activation)
        before[activation] = step
        if last is None:
            continue
        names = [run.arch.sp, *(record.pointer for record in {run.watched.records[run.watched.sites.isa[step]]})]
        changed = any(run[last].registers[name] != run[step].registers[name] for name in names)
        assert changed == (Trait.ROW_BEGINS in run.frame_traits(step, 0)), step
        begins += changed
    assert 0 < begins < len(run)


def test_a_missing_start_function_is_not_blamed_on_the_callee_s_prologue() -> None:
    """A chain that finds the caller and misses `_start`: the frame that is wrong is the caller's."""
    run = run_program(PROGRAMS["alloca_vla"], ARCHES["x86_64"], "clang-O0")
    chain = UNWINDERS["fp_chain"]
    outer = [v for v in (judge(run, s, chain.unwind(run[s]), chain) for s in range(len(run))) if v.frame]
    assert outer
    assert not {v.explained_by.trait for v in outer if v.explained_by} & {Trait.PROLOGUE, Trait.EPILOGUE}
