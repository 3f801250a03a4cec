"""How a run ends: exits, faults with their place, and the budget."""

from __future__ import annotations

import re

import pytest

from testbed.machine import record
from testbed.trace import Exited, Trace
from testbed.words.errors import EmulationError
from tests.machine.faults import CASES, NOP
from tests.machine.snippets import arch_of, image_of
from tests.machine.stores import STORES


@pytest.mark.parametrize(
    ("isa", "detail", "code"), CASES, ids=[f"{c[0]}-{c[2].split('last:')[1].strip()}" for c in CASES]
)
def test_a_fault_is_told_with_its_place_and_the_steps_before(isa: str, detail: str, code: str) -> None:
    trace = record(image_of(isa, f"fn main\n {NOP[isa]}{code}\n nop\n"))
    error = trace.end
    assert isinstance(error, EmulationError)
    assert re.match(detail, error.detail), error.detail
    wild = re.match(r"wild jump: (0x[0-9a-f]+)", error.detail)
    last_pc = int(trace.pc[-1])
    assert error.pc == (int(wild[1], 16) if wild else last_pc)
    assert error.where == (wild[1] if wild else f"main+{last_pc - main(trace):#x}")
    # The last of the steps is the instruction that did it, with its symbol; those before it ran.
    mnemonic = code.split("last:")[1].split()[0]
    assert re.fullmatch(rf"main\+0x[0-9a-f]+  ({mnemonic}.*|\.byte.*)", error.last_steps[-1]), error.last_steps
    assert error.last_steps[0].startswith("_start")
    assert str(error).endswith(error.last_steps[-1])
    usable(trace)


def main(trace: Trace) -> int:
    symbol = trace.images[0].image.symbol_named("main")
    assert symbol is not None
    return symbol.address


def usable(trace: Trace) -> None:
    """What was recorded has the registers and memory of a run that goes on."""
    third = [name for name in ("rbx", "x19", "r4") if name in trace.arch.index]
    assert int(trace.column(third[0])[-1]) == 0x10
    assert trace.snapshot(len(trace) - 1).memory.read(int(trace.pc[-1]), 1)
    assert len(trace.sizes) == len(trace)


@pytest.mark.parametrize("isa", STORES)
def test_a_budget_ends_a_run_and_keeps_its_beginning(isa: str) -> None:
    image = image_of(isa, STORES[isa])
    whole = record(image)
    for budget in [0, 1, 17, *range(20, 45), len(whole) - 1]:
        part = record(image, budget=budget)
        assert isinstance(part.end, EmulationError)
        assert f"within {budget} steps" in part.end.detail
        assert part.end.pc == int(whole.pc[budget])
        assert len(part) == budget
        assert (part.registers == whole.registers[:budget]).all()
        before = int((whole.writes.step < budget).sum())
        assert (part.writes.address == whole.writes.address[:before]).all(), "no write of a step that is not there"
    assert record(image, budget=len(whole)).end == Exited(42)


@pytest.mark.parametrize(
    ("isa", "code"), [("x86_64", "mov eax, 300"), ("arm64", "mov x0, #300"), ("a32", "mov r0, #300")]
)
def test_an_exit_status_has_eight_bits(isa: str, code: str) -> None:
    code += "\n ret" if arch_of(isa)[1].name != "a32" else "\n bx lr"
    assert record(image_of(isa, f"fn main\n {code}\n")).end == Exited(300 & 0xFF)


@pytest.mark.parametrize(
    ("isa", "code"),
    [("x86_64", "mov eax, 231\n mov edi, 5\n syscall"), ("arm64", "mov x8, #94\n mov x0, #5\n svc #0")]
    + [(isa, "mov r7, #248\n mov r0, #5\n svc #0") for isa in ("a32", "thumb")],
)
def test_exit_group_is_an_exit_too(isa: str, code: str) -> None:
    assert record(image_of(isa, f"fn main\n {code}\n")).end == Exited(5)
