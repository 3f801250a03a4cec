"""What is mapped before the first instruction."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unicorn import unicorn_const as uc

from testbed.image import LoadedImage
from testbed.machine.start import start_machine
from tests.machine.snippets import image_of


@pytest.mark.parametrize("executable", [False, True])
def test_code_may_run_on_the_stack_where_the_file_asks_for_it(executable: bool) -> None:
    """GCC's nested functions write a few instructions there, and call them."""
    image = replace(image_of("x86_64", "fn main\n mov eax, 42\n ret\n"), executable_stack=executable)
    machine = start_machine(LoadedImage(image), seed=1)
    (stack,) = (m for m in machine.mappings if m.address <= image.arch.stack_top < m.address + len(m.data))
    assert bool(stack.permissions & uc.UC_PROT_EXEC) is executable
