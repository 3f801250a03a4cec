"""Many ways to spell instructions, and the bytes that clang's assembler makes of each."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from testbed.build.compile import find_zig
from testbed.build.targets import CLANG
from tests.build.spellings.arm32 import arm32
from tests.build.spellings.arm64 import arm64
from tests.build.spellings.x86_64 import x86_64

_HEADS = {
    "x86_64": ".intel_syntax noprefix\n",
    "arm64": "",
    "a32": ".syntax unified\n.arm\n.fpu neon\n",
    "thumb": ".syntax unified\n.thumb\n.fpu neon\n",
}


SPELLINGS = {
    "x86_64": x86_64,
    "arm64": arm64,
    "a32": lambda: arm32(narrow=False),
    "thumb": lambda: arm32(narrow=True),
}


def spellings(isa: str) -> list[str]:
    """Each once. Not all of them are instructions: who assembles them says which."""
    return list(dict.fromkeys(SPELLINGS[isa]()))


def assembled(isa: str, lines: Sequence[str], folder: Path) -> dict[str, bytes]:
    """What clang makes of each line that it takes. ``.Lhere`` is 8 bytes behind where the line begins."""
    lines = list(lines)
    source, made = folder / "spelled.S", folder / "spelled.o"
    while True:
        text = (
            _HEADS[isa]
            + ".text\n"
            + "".join(
                f".balign 4; .Lt{i} = .Ls{i} + 8; .Ls{i}: {line.replace('.Lhere', f'.Lt{i}')}; .Le{i}:\n"
                for i, line in enumerate(lines)
            )
        )
        sizes = ".section .sizes\n" + "".join(f".long .Ls{i} - .Ls0, .Le{i} - .Ls{i}\n" for i in range(len(lines)))
        source.write_text(text + sizes)
        command = (str(find_zig()), "clang", "-c", *CLANG[isa], "-ferror-limit=0", "-w", str(source), "-o", str(made))
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not done.returncode:
            break
        head = _HEADS[isa].count("\n") + 1
        wrong = {int(number) - head - 1 for number in re.findall(r"spelled\.S:(\d+):\d+: error", done.stderr)}
        assert wrong, done.stderr
        lines = [line for i, line in enumerate(lines) if i not in wrong]
    from elftools.elf.elffile import ELFFile

    with made.open("rb") as file:
        elf = ELFFile(file)
        code, table = elf.get_section_by_name(".text").data(), elf.get_section_by_name(".sizes").data()
    numbers = [int.from_bytes(table[i : i + 4], "little") for i in range(0, len(table), 4)]
    return {line: code[at : at + size] for line, at, size in zip(lines, numbers[::2], numbers[1::2], strict=True)}
