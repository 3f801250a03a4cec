"""A file with a segment where the stack would be is told so; nothing of the emulator comes through."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.image import read_image
from testbed.machine.unicorn_arches import UNICORN
from testbed.runs.by_name import named_run
from testbed.words.errors import TestbedError
from tests.hard_input.elf_files import BASE, LOAD, Program, elf

EXITS = b"\xb8\x3c\0\0\0\x0f\x05"  # mov eax, 60; syscall


def test_a_segment_over_the_stack_is_a_typed_error(tmp_path: Path) -> None:
    path = tmp_path / "over"
    top = UNICORN["x86_64"].stack_top
    for address, names in ((top - 0x1000, True), (top + 0x100_0000, False)):
        path.write_bytes(elf(EXITS.ljust(4096, b"\0"), [Program(LOAD, 0, 4096), Program(LOAD, 0, 4096, address)]))
        assert len(read_image(path).segments) == 2 and read_image(path).segments[0].address == BASE
        if names:
            with pytest.raises(TestbedError, match="over"):
                named_run({}, str(path), None, None, seed=1, budget=100, fresh=False)
        else:
            assert len(named_run({}, str(path), None, None, seed=1, budget=100, fresh=False)) == 2
