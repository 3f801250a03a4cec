"""What commands print, whole, each in ``golden/outputs``."""

from __future__ import annotations

import re

import pytest

from testbed.store import KEY_LENGTH, KEY_PATTERN
from tests.cli.command import Testbed
from tests.golden.whole import golden

COMMANDS = (
    "run leaf_call --arch arm64",
    "run leaf_call --arch arm64 --at leaf",
    "run leaf_call --arch x86_64 --at leaf --explain",
    "run noreturn_last_call --arch arm64 --recipe clang-O2 --at finish",
    "run tail_branches -a arm64 -r clang-O2 --at leaf",
    "run inline_chain -a arm64 -r clang-O2 --at at_level2",
    "run tail_chain -a arm64 -r clang-O2 --at last",
    "run leaf_call --arch arm32 --differences --explain",
    "run leaf_call --arch arm64 -u eh_frame",
    "run leaf_call --arch x86_64 -u orc -u builtin_return_address",
    "run recursion --arch x86_64 --recipe clang-O2 -u fp_chain -u eh_frame",
    "run signal --arch arm64 -u fp_chain -u stack_scan -u eh_frame -u sframe",
    "run leaf_call --arch arm64 --at leaf+0x4 --machine",
    "run recursion --arch x86_64 --recipe clang-O2 --at bottom --machine",
    "run signal_alternate --arch x86_64 --at on_second --machine",
    "run inline_chain -a arm64 -r clang-O2 --at at_level2 --machine",
    "run tail_chain -a arm64 -r clang-O2 --at last --machine",
    "backtrace tail_chain -a arm64 -r clang-O2 --at leaf",
    "backtrace tail_chain -a arm64 -r clang-O2 --at leaf -u eh_frame -s json",
    "rows leaf_call --arch x86_64 -f eh_frame",
    "rows leaf_call --arch arm32 --compare",
    "check leaf_call --executed --arch x86_64",
    "check leaf_call --executed --arch arm32",
    "check leaf_call --executed --arch x86_64 -t orc",
    "check epilogue_cfa --executed --arch arm32",
    "check epilogue_cfa_wrong --executed --arch arm64",
    "backtrace tail_branches --judge -a x86_64 -r clang-O2",
    "list assumptions -u eh_* -u fp_chain",
    "list assumptions -u eh_frame --json",
    "list arches",
)
_KEY = re.compile(rf"(?<=\.){KEY_PATTERN}(?=\.elf)")  # of a kept program file: another build of it is another key


@pytest.mark.whole
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_prints_what_it_printed(testbed: Testbed, command: str, request: pytest.FixtureRequest) -> None:
    said = testbed(*command.split())
    narrow = command.startswith(("run", "rows"))
    assert not narrow or max(map(len, said.out.splitlines())) <= 100
    assert "\x1b" not in said.out and said.err == ""
    text = _KEY.sub("0" * KEY_LENGTH, f"{said.out}{said.status}\n")
    golden(f"commands/{re.sub(r'[^a-z0-9]+', '-', command, flags=re.I)}.txt", text, request)
