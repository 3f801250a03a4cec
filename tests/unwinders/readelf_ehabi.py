"""Unwinding instructions as readelf shows them, and ours in its words.

`readelf -u` prints a line for each function, ``0x20154 <fill>: 0x809b8480``, the same with ``@0x10124`` for an entry
in the table, or ``0x1 [cantunwind]``; then the model; then one line per instruction: its bytes and what it does.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from testbed.image import Image
from tests.unwinders.frames import ARM32
from unwinders.formats.ehabi import IndexEntry, exception_index, operation_bytes
from unwinders.formats.ehabi_rows import (
    AuthenticateHere,
    EhabiOperation,
    MoveVsp,
    Pop,
    PopAuthenticationCode,
    PopVfp,
    SetVsp,
    decode,
)

_TITLE = re.compile(r"^Unwind section '\.ARM\.exidx' at offset 0x[0-9a-f]+ contains \d+ entr(y|ies):$")
_FUNCTION = re.compile(
    r"^0x(?P<start>[0-9a-f]+)(?: <[^>]+>)?: (?:0x1 \[(?P<cannot>cantunwind)\]|0x[0-9a-f]+|@0x[0-9a-f]+)$"
)
_MODEL = re.compile(r"^  Compact model index: \d$")
# Of entries for a routine of the program's own, readelf says no more than that.
_OWN_ROUTINE = re.compile(r"^  Personality routine: 0x[0-9a-f]+( <[^>]+>)?$")
# Short instructions are padded to the width of two bytes; readelf 2.40 forgets that for VFP.
_INSTRUCTION = re.compile(r"^  (?:0x[0-9a-f]{2} )+ *(?P<text>[a-z].*)$")

Said = dict[int, list[str] | None]


def readelf_entries(path: Path) -> Said:
    """By function: what each instruction does, in readelf's words; None for one that cannot be unwound.

    Functions whose instructions it does not show are left out.
    """
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("readelf is not installed: apt-get install binutils")
    text = subprocess.run([readelf, "-u", "-W", str(path)], capture_output=True, text=True, check=True).stdout
    said: Said = {}
    here: list[str] = []
    start = 0
    for line in text.splitlines():
        if not line.strip() or _TITLE.match(line) or _MODEL.match(line):
            continue
        if match := _FUNCTION.match(line):
            here = []
            start = ARM32.code_address(int(match["start"], 16))
            said[start] = None if match["cannot"] else here
        elif _OWN_ROUTINE.match(line):
            del said[start]
        elif match := _INSTRUCTION.match(line):
            here.append(match["text"].strip())
        else:
            raise AssertionError(f"a line of readelf that this test cannot read: {line!r}")
    return {start: ended(entry) for start, entry in said.items()}


def ended(entry: list[str] | None) -> list[str] | None:
    """What comes before the first "finish": readelf prints the padding, too."""
    return entry if entry is None or "finish" not in entry else entry[: entry.index("finish")]


def our_entries(image: Image) -> Said:
    return {entry.start: said_of(image, entry) for entry in exception_index(image) if isinstance(entry, IndexEntry)}


def said_of(image: Image, entry: IndexEntry) -> list[str] | None:
    if entry.cannot_unwind:
        return None
    return [in_readelfs_words(operation) for operation in decode(operation_bytes(image, entry))]


def in_readelfs_words(operation: EhabiOperation) -> str:
    match operation:
        case MoveVsp(distance):
            return f"vsp = vsp {'+' if distance > 0 else '-'} {abs(distance)}"
        case SetVsp(register):
            return f"vsp = r{register}"
        case Pop(registers):
            return "pop {" + ", ".join(f"r{register}" for register in registers) + "}"
        case PopVfp(first, 1, _):
            return f"pop {{D{first}}}"
        case PopVfp(first, count, _):
            return f"pop {{D{first}-D{first + count - 1}}}"
        case PopAuthenticationCode():
            return "pop {ra_auth_code}"
        case AuthenticateHere():
            return "vsp as modifier for PAC validation"
