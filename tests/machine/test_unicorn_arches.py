"""What the machine knows of each architecture fits the architecture's own table."""

from __future__ import annotations

import pytest

from testbed.arch import ARCHES, Arch
from testbed.machine.register_parts import WRITTEN
from testbed.machine.unicorn_arches import UNICORN

EVERY = pytest.mark.parametrize("arch", ARCHES.values(), ids=str)


@EVERY
def test_every_recorded_register_has_an_id_of_its_own(arch: Arch) -> None:
    ids = UNICORN[arch.name].registers
    assert ids.keys() == arch.index.keys()
    assert len(set(ids.values())) == len(ids)


@EVERY
def test_the_cpu_models_are_those_that_programs_may_ask_for(arch: Arch) -> None:
    assert UNICORN[arch.name].cpus.keys() == set(arch.cpus)


@EVERY
def test_a_system_call_is_reported_in_one_way(arch: Arch) -> None:
    settings = UNICORN[arch.name]
    assert (settings.call_instruction is None) != (settings.call_exception is None)
    assert settings.call_exception not in settings.exceptions


@EVERY
def test_the_stack_begins_as_the_abi_aligns_it(arch: Arch) -> None:
    assert UNICORN[arch.name].stack_top % arch.stack_alignment == 0


@EVERY
def test_parts_are_of_recorded_registers_and_are_none_themselves(arch: Arch) -> None:
    for name, wholes in WRITTEN[arch.name].parts.items():
        assert name not in arch.index or wholes == (name,)
        assert arch.index.keys() >= set(wholes)
