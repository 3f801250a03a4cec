"""Sources written into a file and checked, by the tables alone: no row is worked out from the instructions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck
from testbed.checks.options import CheckOptions
from testbed.checks.readers import Readers

READERS = Readers(
    "unwinders:UNWINDERS", ("eh_frame", "debug_frame", "ehabi"), "testbed.cli.table_readers:evaluate_rule"
)


def checked(path: Path, **options: Any) -> FileCheck:
    """What a check with short runs finds in a file."""
    return check_file(path, CheckOptions(**{"runs": 100, "steps": 500, **options}), READERS)


def written(folder: Path, text: str, name: str = "code.S") -> Path:
    """The file that a text was written into."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
