"""Paths through a function: every side of every branch is gone, and what no run can do counts for nothing."""

from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from testbed.micro import exploring
from testbed.micro.batches import one_trace
from testbed.micro.calling import Caller, Over
from testbed.micro.exploring import Exploration, Explorer, TakenPath
from testbed.micro.functions import pieces_of
from testbed.micro.layout import make_callable
from testbed.micro.plans import PLANS
from testbed.truth import observe
from tests.micro.callers import built, library


def explored(
    text: str, arch: str, suffix: str = ".S", name: str = "f", *, thorough: bool = False, runs: int = 200
) -> tuple[Exploration, list[TakenPath], Caller]:
    image = built(text, suffix, arch)
    pieces = pieces_of(image)
    caller = Caller(make_callable(image), seed=1)
    piece = next(piece for piece in pieces if piece.name == name)
    found, paths = Explorer(caller, pieces).explore(piece, PLANS, runs=runs, steps=400, thorough=thorough)
    return found, list(paths), caller


SWITCH = """
extern int g(int);
int f(int n, int m) {
    switch (n) {
    case 10: return g(1);
    case 11: return g(2) + 1;
    case 12: return m * 7;
    case 13: return g(m) / 3;
    case 14: return g(m ^ 5);
    case 15: return 9;
    case 16: return g(3) - m;
    }
    return 0;
}
"""


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "arm32"])
def test_every_case_of_a_switch_is_reached(arch: str) -> None:
    found, _, _ = explored(SWITCH, arch, ".c")
    assert found.missing == 0
    assert found.forced, "with made-up arguments it does not get to all of them by itself"


# Of what `own` is asked it says more than 0; answered, and not executed, it says 0.
GATE = """
extern int g(int);
static volatile int some = 3;
__attribute__((noinline)) int own(void) { return some; }
int f(void) {
    int n = 1;
    if (own() != 0 && own() != 1) {
        n = g(0);
        if (g(1) > 40) n += g(2) * 3 + g(5);
        g(3);
    }
    return g(n);
}
"""


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "arm32"])
def test_code_behind_what_only_executed_callees_lead_to_is_reached_thoroughly(arch: str) -> None:
    plain, _, _ = explored(GATE, arch, ".c")
    found, _, _ = explored(GATE, arch, ".c", thorough=True)
    assert (plain.missing > 0, found.missing) == (True, 0)


# The index is none of the table's: where the jump is reached by force it leads out of the function, behind its frame.
FAR_SWITCH = """
        .syntax unified
        .thumb
        .text
        .globl  f
        .type   f, %function
        .thumb_func
f:      push    {r4, lr}
        movs    r3, #6
        cmp     r3, #1
        bhi     9f
        tbb     [pc, r3]
1:      .byte   (2f-1b)/2, (3f-1b)/2
2:      movs    r1, #1
        movs    r2, #2
        movs    r0, #200
        bl      g
        b       9f
3:      bl      g
9:      pop     {r4, pc}
        .size   f, .-f
        .space  1000
"""


def test_cases_are_entered_where_only_a_path_that_went_astray_comes_to_the_switch() -> None:
    plain, _, _ = explored(FAR_SWITCH, "arm32")
    found, _, _ = explored(FAR_SWITCH, "arm32", thorough=True)
    assert plain.dropped and found.dropped
    assert (plain.missing > 0, found.missing) == (True, 0)


def test_a_function_with_many_branches_has_more_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploring, "BRANCHES", 10)
    text = "extern int g(int);\nint f(int n) {\n"
    text += "".join(f"    if (g({k}) > {k + 3}) n += g(n);\n" for k in range(20)) + "    return n;\n}\n"
    plain, _, _ = explored(text, "arm32", ".c", runs=15)
    found, _, _ = explored(text, "arm32", ".c", runs=15, thorough=True)
    assert found.missing == 0 < plain.missing


def test_branches_that_belong_together_throw_a_path_away() -> None:
    text = """
        .text
        .globl f
        .type f, @function
f:      mov %rdi, %r10
        cmp $0x12345678, %r10
        jne 1f
        push %rbx
1:      cmp $0x12345678, %r10
        jne 2f
        pop %rbx
2:      ret
        .size f, .-f
"""
    found, paths, _ = explored(text, "x86_64")
    assert found.missing == 0
    assert found.dropped.total() >= 1
    assert {path.tape.over for path in paths} == {Over.RETURNED}, "with SP and every callee-saved register as before"


def test_a_branch_out_of_a_function_is_forced_to_its_other_side_with_the_same_stack() -> None:
    text = """
        .text
        .globl f
        .type f, @function
f:      cmp $1, %rdi
        jne elsewhere
        push %rbx
        pop %rbx
        ret
        .size f, .-f
        .globl elsewhere
        .type elsewhere, @function
elsewhere: ret
        .size elsewhere, .-elsewhere
"""
    image = built(text, ".S", "x86_64")
    pieces = pieces_of(image)
    caller = Caller(make_callable(image), seed=1)
    found, paths = Explorer(caller, pieces).explore(pieces[0], PLANS[:1], runs=50, steps=100)
    taken = list(paths)
    assert found.missing == 0
    index, push = caller.image.loaded.image.arch.index, pieces[0].start + 10 + caller.image.loaded.bias
    rows = [row for path in taken for row in path.tape.registers.tolist() if row[index["rip"]] == push]
    assert rows
    assert {row[index["rsp"]] for row in rows} == {caller.image.sp - 8}


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "arm32"])
def test_many_paths_are_one_trace_whose_truth_is_the_calls(arch: str) -> None:
    found, paths, caller = explored(SWITCH, arch, ".c")
    batch = one_trace(caller.image, paths, caller.forget_asked(), seed=1)
    watched = observe(batch.trace)
    assert len(batch.trace) == 1 + sum(len(path.tape) for path in paths)
    entry = found.piece.start + caller.image.loaded.bias
    at_entry = [step for step, pc in enumerate(batch.trace.pc.tolist()) if pc == entry]
    assert len(at_entry) == len(paths)
    for step in at_entry:
        frames = watched.stack(step).frames
        assert [len(frames), frames[0].cfa] == [2, caller.image.sp]
    assert not watched.transition.any()


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "arm32"])
def test_paths_that_do_not_come_back_leave_no_frame_behind(arch: str) -> None:
    text = "extern void abort(void); int f(int n) { while (n) if (n++ == 7) abort(); return n; }"
    _, paths, caller = explored(text, arch, ".c")
    assert {Over.NEVER_RETURNS} < {path.tape.over for path in paths}
    batch = one_trace(caller.image, paths, caller.forget_asked(), seed=1)
    watched = observe(batch.trace)
    start = caller.image.harness.image.entry
    at_start = [step for step, pc in enumerate(batch.trace.pc.tolist()) if pc == start]
    assert len(at_start) == len(paths)
    assert {len(watched.stack(step)) for step in at_start} == {1}


# Conditions that never hold, on paths of which nothing is forced: in front, between, at the end, and all of a block.
BLOCKS = """
        .syntax unified
        .thumb
        .text
        .globl f
        .type f, %function
f:      push {r4, lr}
        movs r4, #0
        cmp r4, #0
        ittee ne
        addne.w r0, r0, #1000
        movne r1, r2
        moveq r1, r3
        addeq r0, r1
        cmp r4, #0
        iteet eq
        addeq r0, #1
        subne r0, #1
        strne r0, [sp]
        addeq r0, #2
        cmp r4, #0
        itt ne
        popne {r4, lr}
        bxne lr
        pop {r4, pc}
        .size f, .-f
"""


def test_conditional_instructions_that_control_passes_over_are_steps() -> None:
    found, paths, caller = explored(BLOCKS, "arm32")
    assert found.missing == 0
    assert not found.forced
    arch, bias = caller.image.loaded.image.arch, caller.image.loaded.bias
    (natural, *_) = (path.tape for path in paths)
    steps = [pc - bias for pc in natural.registers[:, arch.index["pc"]].tolist()]
    code = found.code.sizes
    own = [step for step, pc in enumerate(steps) if pc in code]
    assert [steps[step] for step in own] == sorted(code), "each instruction once, in order"
    assert [int(natural.sizes[step]) for step in own] == [code[pc] for pc in sorted(code)]
    # What was passed over did nothing: it wrote nothing, and left every register as it was.
    over = {sorted(code)[k] for k in (4, 5, 11, 12, 16, 17)}
    passed = [step for step in own if steps[step] in over]
    assert len(passed) == 2 + 2 + 2
    for step in passed:
        same = natural.registers[step] == natural.registers[step + 1]
        assert [name for name, column in arch.index.items() if not same[column]] == ["pc"]
    assert not set(natural.writes.step.tolist()) & set(passed)
    # The harness's return address is pushed by the first instruction, wherever that has come to stand.
    pushes = natural.writes.step[natural.writes.address < caller.image.sp]
    assert pushes.tolist()[:2] == [own[0]] * 2


@pytest.mark.parametrize("jump", ["b 1f", "itt eq; moveq r1, r3; beq 1f"])
def test_a_jump_forward_is_nothing_that_control_passed_over(jump: str) -> None:
    """It stands in no block, or is a block's last instruction."""
    old = "cmp r4, #0\n        itt ne\n        popne {r4, lr}\n        bxne lr"
    text = BLOCKS.replace(old, f"cmp r4, #0; {jump}\n movs r1, #1\n movs r2, #2\n1:")
    found, paths, caller = explored(text, "arm32")
    (natural, *_) = (path.tape for path in paths if not path.forced)
    column = caller.image.loaded.image.arch.index["pc"]
    pcs = {pc - caller.image.loaded.bias for pc in natural.registers[:, column].tolist()}
    left_out = set(sorted(found.code.sizes)[-3:-1])
    assert not pcs & left_out
    assert pcs >= found.code.sizes.keys() - left_out


# An interpreter: its code has one entry, with words of its own. Who is called in it has the frame that it has.
MACHINE = """
        .syntax unified
        .text
        .globl  f
        .type   f, %function
        .thumb_func
f:      .fnstart
        push    {r4, lr}
        .save   {r4, lr}
        bl      2f
        pop     {r4, pc}
        .fnend
        .size   f, .-f
2:      .fnstart
        .save   {r4, r5, r6, lr}
        .pad    #16
        b       1f
3:      mov     r10, lr
        bl      elsewhere
        bx      r10
1:      push    {r4, r5, r6, lr}
        sub     sp, #16
        bl      3b
        add     sp, #16
        pop     {r4, r5, r6, pc}
        .personality machines
        .handlerdata
        .word   0
        .text
        .fnend
        .globl  machines
        .type   machines, %function
        .thumb_func
machines:
        .fnstart
        .cantunwind
        bx      lr
        .fnend
        .size   machines, .-machines
"""


def test_what_is_called_in_an_entry_with_words_of_its_own_has_the_frame_of_its_caller(tmp_path: Path) -> None:
    library(MACHINE, "arm32", tmp_path, ".S", "-Bsymbolic", "-s")
    check = check_file(tmp_path / "code.so", CheckOptions(), READERS)
    assert not check.findings
    assert len(check.functions) == 3  # f, machines, the interpreter
