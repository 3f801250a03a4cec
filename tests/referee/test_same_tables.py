"""Real unwinders and our reader of the same table: where a tool is exact, both find the same frames and registers."""

import pytest

import testbed
from testbed.conventions import platform
from testbed.referee import present
from testbed.runs.run import judge_all
from testbed.words.outcome import Outcome
from unwinders import UNWINDERS

# (tool's unwinder, ours, registers that it recovers, where it is exact, (program, architecture, recipe) ...)
TOOLS = [
    (
        *("libunwind", "eh_frame_hdr", "all", "everywhere"),
        [
            (program, "x86_64", "keystone")
            for program in ("leaf_call", "val_expression", "rows_everywhere", "realigned")
        ],
    ),
    (
        *("llvm_libunwind_exact", "eh_frame_hdr", "all", "everywhere"),
        [
            (program, "x86_64", "keystone")
            for program in ("leaf_call", "val_expression", "rows_everywhere", "realigned")
        ],
    ),
    (
        *("libunwindstack", "eh_frame", "some", "everywhere"),
        [
            ("leaf_call", "x86_64", "keystone"),
            ("leaf_call", "arm64", "clang-asm"),
            ("callee_saved", "arm64", "keystone"),
            ("mutual_recursion", "x86_64", "gcc-O2"),
            ("switch_table", "arm64", "gcc-O2-fp"),
            ("inlined_call", "x86_64", "clang-O2"),
        ],
    ),
    ("libunwindstack", "debug_frame", "some", "everywhere", [("leaf_call", "arm32", "keystone-thumb")]),
    (
        *("perf", "eh_frame", "none", "everywhere"),
        [
            ("leaf_call", "x86_64", "keystone"),
            ("callee_saved", "x86_64", "clang-asm"),
            ("inlined_call", "x86_64", "clang-O2"),
            ("signal", "x86_64", "keystone"),
        ],
    ),
    (
        *("drgn", "eh_frame", "some", "somewhere"),
        [
            ("leaf_call", "x86_64", "keystone"),
            ("leaf_call", "arm64", "clang-asm"),
            ("callee_saved", "arm64", "keystone"),
            ("val_expression", "x86_64", "keystone"),
            ("inlined_call", "x86_64", "clang-O2"),
            ("signal", "arm64", "keystone"),
            ("early_return_wrong", "x86_64", "keystone"),
        ],
    ),
    (
        *("drgn_debug_frame", "debug_frame", "some", "somewhere"),
        [
            ("inlined_call", "arm32", "clang-O2"),
            ("inlined_call", "arm32", "clang-thumb-O2"),
            ("noreturn_last_call", "arm32", "clang-thumb-O2-fp"),
        ],
    ),
    (
        *("symbolic", "eh_frame", "some", "somewhere"),
        [("leaf_call", "x86_64", "keystone"), ("early_return", "arm64", "keystone"), ("signal", "x86_64", "keystone")],
    ),
    (
        *("symbolic_debug_frame", "debug_frame", "some", "somewhere"),
        [("leaf_call", "arm32", "keystone-thumb"), ("alloca_vla", "arm32", "clang-O2")],
    ),
    (
        *("symbolic_compact", "compact_unwind", "some", "somewhere"),
        [("big_frame", "x86_64", "macho-O2-nofp"), ("alloca_vla", "arm64", "macho-O2")],
    ),
]
CASES = [(*tool, *program) for *tool, programs in TOOLS for program in programs]


@pytest.mark.parametrize(("tool", "ours", "recovers", "exact", "program", "arch", "recipe"), CASES)
def test_where_a_tool_is_exact_it_says_what_our_reader_says(
    tool: str, ours: str, recovers: str, exact: str, program: str, arch: str, recipe: str
) -> None:
    unwinder, reader = present([tool]).get(tool), UNWINDERS[ours]
    if unwinder is None:
        pytest.skip(f"{tool} is not installed: testbed list referees")
    run = testbed.run(program, arch=arch, recipe=recipe)
    assert unwinder.applies_to(run.built.image)
    verdicts, compared = judge_all(run, unwinder), set[str]()
    settled = [step for step, verdict in enumerate(verdicts) if verdict.exact]
    outcomes = {verdict.outcome for verdict in verdicts if not verdict.transition}
    assert settled and (exact == "somewhere" or outcomes == {Outcome.EXACT})
    for step in settled[::3]:
        told, said = unwinder.unwind(run[step]), reader.unwind(run[step])
        if not testbed.judge(run, step, said).exact:
            continue  # the row is wrong, and the tool was lucky
        assert [frame.pc for frame in told.frames] == [frame.pc for frame in said.frames]
        for theirs, mine in zip(told.frames[1:], said.frames[1:], strict=True):
            known = {*platform(run.arch).preserved, run.arch.sp} & mine.registers.keys()
            both = known & theirs.registers.keys()
            assert recovers != "all" or both == known
            assert {name: theirs.registers[name] for name in both} == {name: mine.registers[name] for name in both}
            assert theirs.cfa in (None, mine.cfa)
            compared |= both
    assert bool(compared) == (recovers != "none")
