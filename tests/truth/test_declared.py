"""Programs whose right stacks follow from the code alone, and which look like something else while they run.

`declared/NAME.ISA.S` declares the right stacks. With `PLAIN` set, the same source gets to the same places by ordinary
calls, returns and switches. Each is watched readably, natively and in pieces, and by the second witness.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from testbed.campaign.prove import prove
from testbed.runs.by_name import named_run
from testbed.runs.run import Run
from testbed.truth import observe, path
from tests.truth.pieces import agree_in_pieces
from tests.truth.watched import agree, labels_where, watch
from tests.witness.rules import BY_HAND, RULES
from tests.witness.witnessed import agreed, recorded

SOURCES = sorted((Path(__file__).parent / "declared").glob("*.S"))
UNDECIDED = {"copied_stack.x86_64", "exchanged_returns.x86_64"}  # the programs with undecided steps: may only shrink
BY_NAME = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name.removesuffix(".S"))


@cache
def run_of(source: Path) -> Run:
    return named_run({}, str(source), None, None, seed=1, budget=10_000, fresh=False)


def ends_as_declared(run: Run) -> bool:
    """It ran to its exit, with its status, and was at every declared place."""
    header = run.built.source.header
    places = [f"{each.location}#{each.visit or 1}" for each in header.frames]
    return run.failure == "" and places != [] and all(run.step_at(place) > 0 for place in places)


@BY_NAME
def test_the_right_stack_is_told(source: Path) -> None:
    run = run_of(source)
    assert ends_as_declared(run)
    assert run.disagreements == ()
    assert run.watched.undecided.any() == (source.name.removesuffix(".S") in UNDECIDED)


@BY_NAME
def test_the_same_done_plainly_is_told_right(source: Path, tmp_path: Path) -> None:
    plain = tmp_path / source.name
    text = source.read_text(encoding="utf-8")
    assert text.count(".set PLAIN, 0\n") == 1
    plain.write_text(text.replace(".set PLAIN, 0\n", ".set PLAIN, 1\n"), encoding="utf-8")
    run = run_of(plain)
    assert ends_as_declared(run)
    assert run.disagreements == () and not run.watched.undecided.any()
    assert not prove(run.watched).dissents


@BY_NAME
def test_it_is_told_the_same_natively_and_in_pieces(source: Path) -> None:
    run = run_of(source)
    if run.trace.sizes.all():  # no signal arrives
        agree(run.trace)
        for length in (4, 5, 9, 30):
            agree_in_pieces(run.watched, length)


@BY_NAME
def test_both_witnesses_tell_the_same(source: Path) -> None:
    agreed(run_of(source).watched)


@BY_NAME
def test_both_tell_the_same_without_symbols(source: Path) -> None:
    """Neither needs to know where a function begins."""
    run = run_of(source)
    bare = tuple(replace(loaded, image=replace(loaded.image, symbols=())) for loaded in run.trace.images)
    truth = observe(replace(run.trace, images=bare))
    assert truth.node.tolist() == run.watched.node.tolist()
    agreed(truth)


def test_an_injected_call_is_one_though_nobody_comes_back(tmp_path: Path) -> None:
    text = next(path for path in SOURCES if path.name == "injected_call.arm64.S").read_text(encoding="utf-8")
    leaves = text.replace("    bl helper\n    ldr x0, [sp, #0x10]\n", "    bl helper\n    mov x8, #0x5d\n    svc #0\n")
    assert leaves != text
    source = tmp_path / "injected_exit.arm64.S"
    leaves = leaves.replace("// frames: leaf_again = leaf, main, _start\n", "").replace("exit: 6", "exit: 9")
    source.write_text(leaves, encoding="utf-8")
    run = run_of(source)
    assert ends_as_declared(run)
    assert run.disagreements == () and not run.watched.undecided.any()


# A run cut at random places: what a step could be read as is carried over, and said as of the whole run.


CASES = [pytest.param(isa, body, id=f"{rule}-{isa}") for rule, bodies in RULES.items() for isa, body in bodies.items()]


@pytest.mark.parametrize(("isa", "body"), CASES)
def test_windows_cut_at_random_places_say_what_the_whole_run_says(
    isa: str, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where records have to be settled soon: then more is undecided, and nothing else is said."""
    trace = recorded(isa, body + "\n")
    whole = observe(trace)
    for seed in range(3):
        known = agree_in_pieces(whole, 7, seed=seed)
        assert known.windows > 1
    monkeypatch.setattr(path, "BOUND", 2)
    hurried = observe(trace)
    assert np.array_equal(hurried.node, whole.node) and not (whole.undecided & ~hurried.undecided).any()
    agree_in_pieces(hurried, 7, seed=3)


@pytest.mark.parametrize("isa", ["x86_64", "arm64"])  # on others that jump has the effect of a call
def test_a_promise_that_is_kept_too_late_is_undecided(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = recorded(isa, BY_HAND[isa] + "\n")
    for bound, late in ((2, set[str]()), (1, {"f", "in_f"})):
        monkeypatch.setattr(path, "BOUND", bound)
        truth = observe(trace)
        assert labels_where(truth, truth.undecided) == late


# Callees that return behind data which stands behind the call, or to one of several cases.


# skip takes the word behind the call, and returns behind that: twice from one call, and from another one.
BEHIND = {
    "x86_64": """
fn main
    push rbx
    mov ebx, 2
again:
    call skip
    .long 5
after:
    dec ebx
    jnz again
    call skip
    .long 42
last:
    pop rbx
    ret
fn skip
    mov rdx, [rsp]
    mov eax, [rdx]
    add qword ptr [rsp], 4
ready:
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, #2
again:
    bl skip
    .word 5
after:
    subs x19, x19, #1
    b.ne again
    bl skip
    .word 42
last:
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
fn skip
    ldr w0, [x30]
    add x30, x30, #4
ready:
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    mov r4, #2
again:
    bl skip
    .word 5
after:
    subs r4, r4, #1
    bne again
    bl skip
    .word 42
last:
    pop {r4, pc}
fn skip
    ldr r0, [lr]
    add lr, lr, #4
ready:
    bx lr
""",
    "thumb": """
fn main
    push {r4, lr}
    movs r4, #2
    .p2align 2
again:
    nop.w
    bl skip
    .word 5
after:
    subs r4, r4, #1
    bne again
    .p2align 2
    bl skip
    .word 42
last:
    pop {r4, pc}
fn skip
    sub.w r1, lr, #1
    ldr r0, [r1]
    add.w lr, lr, #4
ready:
    bx lr
""",
}


# The same with the address in another register, and on the stack.
SKIP = {
    "x86_64": "    mov rdx, [rsp]\n    mov eax, [rdx]\n    add qword ptr [rsp], 4\nready:\n    ret\n",
    "arm64": "    add x30, x30, #4\nready:\n    ret\n",
    "a32": "    ldr r0, [lr]\n    add lr, lr, #4\nready:\n    bx lr\n",
    "thumb": "    add.w lr, lr, #4\nready:\n    bx lr\n",
}


BY_REGISTER = {
    "x86_64": """
    pop rsi
    mov ecx, 4
loop:
    inc rsi
    dec ecx
    jnz loop
    mov eax, [rsi - 4]
ready:
    jmp rsi
""",
    "arm64": """
    add x9, x30, #4
ready:
    br x9
""",
}


BY_STACK = {
    "a32": """
    push {r1, lr}
    ldr r0, [lr]
    ldr r1, [sp, #4]
    add r1, r1, #4
    str r1, [sp, #4]
ready:
    pop {r1, pc}
""",
    "thumb": """
    push {r1, lr}
    ldr r1, [sp, #4]
    adds r1, #4
    str r1, [sp, #4]
ready:
    pop {r1, pc}
""",
}


BEHIND_BY = [(isa, BEHIND[isa].replace(SKIP[isa], way[isa])) for way in (BY_REGISTER, BY_STACK) for isa in way]


def behind(isa: str, body: str) -> None:
    truth = watch(
        isa,
        body,
        "skip = skip, main, _start",
        "ready = skip, main, _start",
        "after = main, _start",
        "last = main, _start",
    )
    assert len(truth.activations) == 2 + 3
    assert [a.goes_on - (a.return_address or 0) for a in truth.activations if a.goes_on] == [4, 4, 4]


@pytest.mark.parametrize("isa", BEHIND)
def test_a_function_that_returns_behind_data_returns_to_its_caller(isa: str) -> None:
    behind(isa, BEHIND[isa])


def test_it_has_returned_where_only_the_return_of_its_caller_shows_that() -> None:
    body = (
        "fn main\nstr x30, [sp, #-16]!\nbl skip\n.word 42\nafter: ldr x30, [sp], #16\nret\n"
        "fn skip\nldr w0, [x30]\nadd x9, x30, #4\nready: br x9\n"
    )
    truth = watch("arm64", body, "ready = skip, main, _start", "after = main, _start")
    assert [a.goes_on - (a.return_address or 0) for a in truth.activations if a.goes_on] == [4]


@pytest.mark.parametrize(("isa", "body"), BEHIND_BY)
def test_it_does_so_wherever_it_keeps_the_address(isa: str, body: str) -> None:
    assert body != BEHIND[isa]
    behind(isa, body)


# What GCC calls for a small switch where a table of bytes is all there is (ARMv6-M): it returns to a case. A case may
# lie before another one, all from one call; the helper itself saves a register meanwhile.
SWITCH = """
fn main
    push {r4, r5, r6, lr}
    movs r5, #0
    movs r4, #4
next:
    subs r4, r4, #1
    bmi done
    movs r0, r4
    bl case
    .byte 2, 3, 4, 5
zero:
    b.n next
one:
    b.n next
two:
    b.n next
three:
    bl case_of_three
    b.n next
done:
    mov r0, r5
    pop {r4, r5, r6, pc}
fn case_of_three
    movs r5, #42
    bx lr
fn case
    push {r1}
    mov r1, lr
    lsrs r1, r1, #1
    lsls r1, r1, #1
    ldrb r1, [r1, r0]
    lsls r1, r1, #1
    add lr, lr, r1
    pop {r1}
ready:
    bx lr
"""


def test_a_switch_helper_returns_to_the_case() -> None:
    watch(
        "thumb",
        SWITCH,
        "case = case, main, _start",
        "ready = case, main, _start",
        "zero = main, _start",
        "one = main, _start",
        "two = main, _start",
        "three = main, _start",
        "case_of_three = case_of_three, main, _start",
        "done = main, _start",
    )
