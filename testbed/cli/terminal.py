"""What the commands share: the console, the choice from a catalogue by pattern, pictures of what was printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from testbed.program.model import matches
from testbed.words.errors import UsageError
from testbed.words.nearest import nearest

T = TypeVar("T")
WIDTH = 100  # the reports are laid out for 100 columns, also where there is no terminal


def console_for_reports(**options: Any) -> Console:
    console = Console(highlight=False, markup=False, **options)
    if not console.is_terminal:
        console.width = WIDTH
    return console


def matching(catalogue: Mapping[str, T], patterns: Iterable[str], noun: str) -> list[T]:
    for pattern in patterns:
        if not any(matches(name, [pattern]) for name in catalogue):
            raise UsageError(f"no {noun} matches {pattern!r}; {nearest(pattern, catalogue)}")
    return [value for name, value in catalogue.items() if matches(name, patterns)]


def save(console: Console, title: str, svg: Path | None) -> None:
    if svg:
        # rich's frame names web fonts; a picture of ours needs no network.
        frame = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.S)
        console.save_svg(str(svg), title=title, clear=False, code_format=frame)
