"""The sources of `declared`, each with its cases, as `test_declared` describes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS

SOURCES = sorted((Path(__file__).parent / "declared").glob("*.*.*"))
# The tables alone: nothing is worked out from the instructions, as it is in large functions.
TABLES = replace(READERS, names=("eh_frame", "debug_frame", "ehabi"))
_CHANGE = re.compile(r"((?:// - .*\n)+)((?:// \+ .*\n)*)")


@dataclass(frozen=True)
class DeclaredCase:
    """One way to write a source, and what is to be said of it; ``block`` is its part of the header."""

    source: Path
    name: str
    text: str
    options: CheckOptions
    alone: bool
    said: tuple[str, ...]
    block: str


def _marked(mark: str, block: str) -> list[str]:
    return re.findall(rf"^// {re.escape(mark)} ?(.*)$", block, re.M)


def cases_of(source: Path) -> Iterator[DeclaredCase]:
    """The cases of a source's header, which ends with the first empty line."""
    header, body = source.read_text(encoding="utf-8").split("\n\n", 1)
    general, *blocks = f"{header}\n".split("// case: ")
    for block in blocks:
        text = body
        for old, new in _CHANGE.findall(block):
            lines = "\n".join(_marked("-", old)), "\n".join(_marked("+", new))
            assert f"\n{text}".count(f"\n{lines[0]}\n") == 1, (source.name, lines)
            text = f"\n{text}".replace(f"\n{lines[0]}\n", f"\n{lines[1]}\n" if new else "\n")[1:]
        said: dict[str, Any] = {"arch": source.name.split(".")[1]}
        for each in (*_marked("!", general), *_marked("!", block)):
            said |= {name: tuple(its) if isinstance(its, list) else its for name, its in json.loads(each).items()}
        alone = bool(said.pop("alone", False))
        name, options = block.split("\n", 1)[0], CheckOptions(**said)
        yield DeclaredCase(source, name, text, options, alone, tuple(_marked("|", block)), block)


CASES = [case for source in SOURCES for case in cases_of(source)]


def checked(case: DeclaredCase, folder: Path, text: str) -> tuple[Path, FileCheck]:
    path = folder / f"code{case.source.suffix}"
    path.write_text(text, encoding="utf-8")
    return path, check_file(path, case.options, TABLES if case.alone else READERS)
