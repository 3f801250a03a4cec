"""Whose code a process's steps are: the program's own functions by name, libraries and the linker as one each."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import numpy as np
import pytest

from testbed.process import ProcessRun, run_process
from testbed.profiling.judge import judge_process, watch_process
from testbed.profiling.result import reaches_own_code
from testbed.profiling.whose_code import CodePart, CodeShare, ProcessCode, code_of_steps, joined_code, shares_of_code
from testbed.report.process_text import line_of
from unwinders import UNWINDERS

SORT = """#include <stdlib.h>
extern int twice(int);
static int compare(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}
int main(void) {
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof *numbers, compare);
    return twice(numbers[0]);
}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ProcessRun:
    folder = tmp_path_factory.mktemp("own")
    (folder / "sort.c").write_text(SORT)
    (folder / "twice.c").write_text("int twice(int n) { return 2 * n; }\n")
    for command in (
        "gcc -O1 -g -shared -fPIC -o libtwice.so twice.c",
        "gcc -O0 -g -o sort sort.c -L. -ltwice -Wl,-rpath,/own",
    ):
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return run_process(folder / "sort", folders={"/own": folder})


def test_own_functions_are_apart_and_a_library_beside_the_program_is_own(run: ProcessRun) -> None:
    trace = run.tracks[0].trace
    codes, of_step = code_of_steps(trace, 0, len(trace))
    own = {code.function: code for code in codes if code.part is CodePart.OWN}
    assert {"main", "compare", "twice"} <= set(own)
    assert [line_of(trace.images, own[name]) for name in ("compare", "main", "twice")] == [
        "sort.c:3",
        "sort.c:6",
        "twice.c:1",
    ]
    assert {code.part for code in codes} == set(CodePart)
    for step in np.flatnonzero(of_step == codes.index(own["main"]))[:3].tolist():
        symbol = trace.images[0].image.symbol_named("main")
        assert symbol is not None and 0 <= trace.pc[step] - trace.images[0].bias - symbol.address < symbol.size
    first = codes[of_step[0]]
    assert first.part is CodePart.LINKER  # it runs before the program does


def test_the_steps_of_each_code_add_up_to_those_that_are_judged(run: ProcessRun) -> None:
    process = watch_process(run)
    for name in ("eh_frame", "fp_chain"):
        share = judge_process(process, UNWINDERS[name])
        assert sum(each.steps for each in share.code) == share.judged
        assert sum(each.right for each in share.code) == share.exact + share.whole
        assert sum(each.lies for each in share.code) == share.lying
    assert share.lying > share.of(CodePart.OWN).lies > 0
    table = judge_process(process, UNWINDERS["eh_frame"])
    main = next(each for each in table.code if each.code.function == "main")
    assert main.right == main.steps > 0


def test_a_program_that_never_begins_is_no_pass(run: ProcessRun) -> None:
    def reaches(run: ProcessRun) -> bool:
        return reaches_own_code([judge_process(watch_process(run), UNWINDERS["fp_chain"])])

    assert reaches(run)
    lacking = run_process(run.path)  # nobody shows it the library beside it
    assert lacking.status == 127 and not reaches(lacking)
    sampled = judge_process(watch_process(lacking), UNWINDERS["eh_frame"], sample=1)
    assert reaches_own_code([replace(sampled, sampled=True)])


def test_shares_of_parts_of_a_run_are_joined_by_code() -> None:
    main, rest = ProcessCode(CodePart.OWN, "main"), ProcessCode(CodePart.LIBRARY)
    step, yes, no = np.array([0, 0, 1], np.int32), np.array([True, False, True]), np.array([False, True, False])
    once = shares_of_code(
        (main, rest, ProcessCode(CodePart.LINKER)), step, exact=yes, lies=no, whole=np.zeros(3, np.bool_)
    )
    assert once == (CodeShare(main, 2, 1, 1), CodeShare(rest, 1, 1, 0))
    assert joined_code([*once, *once]) == (CodeShare(main, 4, 2, 2), CodeShare(rest, 2, 2, 0))
