"""A jump through a register: a call made by hand, a return, a tail call, or a jump that nobody knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.arch import ARCHES, Arch
from unwinders.analysis.abstract_state import CFA, Number, StackAddress, entry_state
from unwinders.analysis.called_functions import SIGNAL_RETURNS, control_of
from unwinders.analysis.operations import Call, Instruction, Jump, Return

JUMPS = {"x86_64": "rax", "arm64": "x9", "arm32": "r3"}


@pytest.mark.parametrize("name", JUMPS)
def test_a_jump_through_a_register_is_a_call_only_where_the_link_register_has_the_address_behind_it(name: str) -> None:
    arch, jump = ARCHES[name], Jump(via=JUMPS[name])
    instruction, entry = Instruction(0x1000, 4, control=jump), entry_state(arch)
    framed = replace(entry, registers={**entry.registers, arch.sp: StackAddress(CFA, -16)})
    assert control_of(arch, arch.isas[0], instruction, framed) == jump, "nobody knows where it goes"
    assert control_of(arch, arch.isas[0], instruction, entry) == Return(), "without a frame it is a tail call"
    if arch.link is None:
        return
    elsewhere, behind = (
        replace(framed, registers={**framed.registers, arch.link: Number(address)}) for address in (0x1008, 0x1004)
    )
    assert control_of(arch, arch.isas[0], instruction, elsewhere) == jump
    assert control_of(arch, arch.isas[0], instruction, behind) == Call()


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_a_signal_is_given_back_by_the_system_call_of_its_frame(arch: Arch) -> None:
    assert arch.signal_frame.call in SIGNAL_RETURNS[arch.name]
