"""Rows as readelf interprets them, and ours in its words.

`readelf --debug-dump=frames-interp` is an independent reading of the same bytes. It prints, for each entry, a line
with its offset and pcs, then a table: LOC, CFA and one column per register that the entry mentions, the
return-address column under the name `ra`. A rule is `u` (undefined, or not mentioned), `s` (same value), `c-16` (at
CFA-16), `v+0` (is CFA+0), a register's name, `exp` or `vexp`. An FDE without instructions has no table: its one row
is its CIE's.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from testbed.arch import Arch
from testbed.contract.rows import (
    Constant,
    ExpressionRule,
    Offset,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
    ValExpression,
    ValOffset,
)
from testbed.image import Image
from unwinders.formats.cfi import cfi_table

_TITLE = re.compile(r"^Contents of the (?P<section>\S+) section:")
_CIE = re.compile(r"^(?P<offset>[0-9a-f]{8}) [0-9a-f]+ [0-9a-f]+ CIE ")
_FDE = re.compile(
    r"^(?P<offset>[0-9a-f]{8}) [0-9a-f]+ [0-9a-f]+ FDE "
    r"cie=(?P<cie>[0-9a-f]+) pc=(?P<start>[0-9a-f]+)\.\.(?P<end>[0-9a-f]+)"
)
_COLUMNS = re.compile(r"^ +LOC +CFA +(?P<names>.*)$")
_REGISTER = re.compile(r"\br\d+ \((\w+)\)")  # "r2 (rcx)": the value is in another register
_ROW = re.compile(r"^(?P<pc>[0-9a-f]+) (?P<cells>\S+ .*)$")


@dataclass(frozen=True)
class Row:
    """One row in readelf's words: where, which FDE, and every rule that is not `u`."""

    start: int
    end: int
    fde: int
    cfa: str
    rules: Mapping[str, str]


@dataclass
class Entry:
    """A CIE (no pcs) or an FDE as readelf prints it."""

    offset: int
    start: int = 0
    end: int = 0
    cie: int = 0
    columns: list[str] = field(default_factory=list)
    rows: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)


def readelf_entries(path: Path, section: str) -> tuple[dict[int, Entry], list[Entry]]:
    """The CIEs by offset and the FDEs of one section."""
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("readelf is not installed: apt-get install binutils")
    command = [readelf, "--debug-dump=frames-interp,no-follow-links", "-W", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    cies: dict[int, Entry] = {}
    fdes: list[Entry] = []
    here, entry = False, Entry(0)
    for line in text.splitlines():
        if match := _TITLE.match(line):
            here = match["section"] == section
        elif not here or not line.strip() or "ZERO terminator" in line:
            continue
        elif match := _CIE.match(line):
            entry = cies[int(match["offset"], 16)] = Entry(int(match["offset"], 16))
        elif match := _FDE.match(line):
            offset, start, end, cie = (int(match[name], 16) for name in ("offset", "start", "end", "cie"))
            entry = Entry(offset, start, end, cie)
            fdes.append(entry)
        elif match := _COLUMNS.match(line):
            entry.columns = match["names"].split()
        elif match := _ROW.match(line):
            cfa, *rules = _REGISTER.sub(r"\1+0", match["cells"]).split()
            said = {name: rule for name, rule in zip(entry.columns, rules, strict=True) if rule != "u"}
            entry.rows.append((int(match["pc"], 16), cfa, said))
        else:
            raise AssertionError(f"a line of readelf that this test cannot read: {line!r}")
    return cies, fdes


def readelf_rows(path: Path, section: str) -> list[Row]:
    cies, fdes = readelf_entries(path, section)
    rows = []
    for fde in fdes:
        said = fde.rows or [(fde.start, cfa, rules) for _, cfa, rules in cies[fde.cie].rows]
        ends = [*(pc for pc, _, _ in said[1:]), fde.end]
        # Empty ranges are left out: what a directive after the last instruction says holds nowhere.
        rows += [
            Row(pc, end, fde.offset, cfa, rules) for (pc, cfa, rules), end in zip(said, ends, strict=True) if pc < end
        ]
    return sorted(rows, key=lambda row: row.start)


def our_rows(image: Image, section: str) -> list[Row]:
    return [in_readelfs_words(row, section, image.arch) for row in cfi_table(image, section)]


def in_readelfs_words(row: UnwindRow, section: str, arch: Arch) -> Row:
    rules = {}
    for name, rule in row.registers.items():
        text = _rule(rule, arch)
        if text != "u" and name in arch.by_name:
            rules["ra" if name == row.return_address else _name(name, arch)] = text
    assert row.cfa is not None
    cfa = "exp" if isinstance(row.cfa, ValExpression) else _rule(row.cfa, arch)
    return Row(row.start, row.end, int(row.found_by.removeprefix(f"{section}+"), 16), cfa, rules)


def _rule(rule: Rule, arch: Arch) -> str:
    match rule:
        case Offset(offset):
            return f"c{offset:+d}"
        case ValOffset(offset):
            return f"v{offset:+d}"
        case RegisterPlus(register, offset):
            return f"{_name(register, arch)}{offset:+d}"
        case SameValue():
            return "s"
        case Undefined() | Constant():
            return "u"
        case ExpressionRule():
            return "exp"
        case ValExpression():
            return "vexp"
        case _:
            raise AssertionError(rule)


def _name(register: str, arch: Arch) -> str:
    """readelf's names: DWARF numbers for ARM32, and AADWARF64's older v0-v31 for the floating-point registers."""
    number = arch.by_name[register].dwarf
    return f"r{number}" if arch.word == 4 else re.sub(r"^d(\d+)$", r"v\1", register)
