"""A source in a file of its own, checked."""

from __future__ import annotations

from pathlib import Path

from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS


def check_of(folder: Path, text: str, arch: str) -> FileCheck:
    """What a check with short runs finds in assembly for an architecture; the file is written into ``folder``."""
    path = folder / "code.S"
    path.write_text(text, encoding="utf-8")
    return check_file(path, CheckOptions(arch=arch, runs=60, steps=200), READERS)
