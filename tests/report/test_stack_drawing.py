"""The stack drawn from the journal and the truth: what each word is, on every architecture."""

from __future__ import annotations

import pytest

import testbed
from testbed.report.stack_drawing import StackWord, WordKind, changed_registers, draw_stack
from testbed.runs.run import Run


def at(run: Run, location: str) -> dict[int, StackWord]:
    """The words at a location, by their distance from the CFA of the innermost frame."""
    step = run.step_at(location)
    cfa = run.truth(step).frames[0].cfa
    assert cfa is not None
    return {word.address - cfa: word for word in draw_stack(run, step).words}


def test_an_arm64_prologue_saves_the_frame_pointer_and_the_return_address() -> None:
    run = testbed.run("leaf_call", arch="arm64")
    before, after = at(run, "leaf"), at(run, "leaf+0x4")
    assert -8 not in before or before[-8].kind is WordKind.BELOW
    assert after[-8].kind is WordKind.RETURN_ADDRESS
    assert (after[-16].kind, after[-16].register) == (WordKind.SAVED_FP, "x29")
    assert run.truth(run.step_at("leaf")).frames[1].activation == after[-16].saved_of
    assert after[-16].marks == ("SP",)
    assert "CFA of leaf" in after[0].marks
    assert at(run, "leaf+0x8")[-16].marks == ("SP", "FP x29")


def test_on_x86_64_the_call_itself_writes_the_return_address() -> None:
    run = testbed.run("leaf_call", arch="x86_64")
    step = run.step_at("leaf")
    word = at(run, "leaf")[-8]
    assert word.kind is WordKind.RETURN_ADDRESS
    assert word.written == step - 1
    assert word.value == run.truth(step).frames[1].pc


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "arm32"])
def test_every_callee_saved_register_is_found_where_it_was_saved(arch: str) -> None:
    """The program saves all of them; a word that says it holds a register holds the value its caller had."""
    run = testbed.run("callee_saved", arch=arch)
    seen: set[str] = set()
    for step in range(len(run)):
        for word in draw_stack(run, step).words:
            if word.kind not in (WordKind.SAVED_FP, WordKind.SAVED_REGISTER):
                continue
            seen.add(word.register)
            caller = next(f for f in run.truth(step).frames if f.activation == word.saved_of)
            column = run.arch.by_name[word.register]
            if column.bits == 8 * run.arch.word:
                assert word.value == caller.registers[word.register]
    assert seen == set(run.arch.preserved)


def test_one_register_is_saved_in_one_place() -> None:
    """The same value elsewhere is a local; after a pop, the same activation may save it again at another place."""
    program = testbed.assemble(
        "x86_64",
        """
_start:
    call outer
    mov edi, 0
    mov eax, 60
    syscall
outer:
    push rbx
    sub rsp, 16
    mov qword ptr [rsp], rbx
    add rsp, 16
    pop rbx
    jmp inner
inner:
    sub rsp, 8
    push rbx
    pop rbx
    add rsp, 8
    ret
""",
    )
    run = testbed.run(program)
    entry = run.step_at("outer")
    kinds = {word.address - int(run.trace.sp[entry]): word.kind for word in draw_stack(run, entry + 3).words}
    assert (kinds[-8], kinds[-24]) == (WordKind.SAVED_REGISTER, WordKind.LOCAL)
    again = run.step_at("inner") + 2
    top = next(word for word in draw_stack(run, again).words if "SP" in word.marks)
    assert (top.kind, top.register) == (WordKind.SAVED_REGISTER, "rbx")


def test_what_a_pop_leaves_is_below_sp_and_a_red_zone_is_not() -> None:
    program = testbed.assemble(
        "x86_64",
        """
_start:
    call leaf
    mov edi, 0
    mov eax, 60
    syscall
leaf:
    push rbx
    mov qword ptr [rsp - 8], 7
    pop rbx
    ret
""",
    )
    ran = testbed.run(program)
    entry = ran.step_at("leaf")
    used = next(word for word in draw_stack(ran, entry + 2).words if word.value == 7)
    assert used.kind is WordKind.RED_ZONE
    back = entry + 4
    below = [word for word in draw_stack(ran, back).words if word.address < int(ran.trace.sp[back])]
    assert {word.kind for word in below} == {WordKind.BELOW}


def test_a_limit_leaves_the_far_end_out() -> None:
    run = testbed.run("recursion", arch="arm64")
    step = run.step_at("bottom")
    whole, part = draw_stack(run, step), draw_stack(run, step, limit=5)
    assert part.words == whole.words[:5]
    assert part.left_out == len(whole.words) - 1 - 5  # the edge is no word


def test_changed_registers_are_those_of_the_step_before() -> None:
    run = testbed.run("leaf_call", arch="arm64")
    step = run.step_at("leaf+0x8")
    assert [name for name, _, _ in changed_registers(run, step)] == ["x29"]
    assert changed_registers(run, 0) == ()


def test_a_frame_pointer_of_zero_is_that_of_the_instruction_set_in_force() -> None:
    for recipe, register in (("keystone", "r11"), ("keystone-thumb", "r7")):
        run = testbed.run("leaf_call", arch="arm32", recipe=recipe)
        word = at(run, "main+0x4" if register == "r11" else "main+0x2")[-8]
        assert (word.kind, word.register, word.value) == (WordKind.SAVED_FP, register, 0)
