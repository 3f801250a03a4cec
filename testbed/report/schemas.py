"""The JSON schemas of what commands print, made from the forms that it is printed by.

The files in ``schema/`` are for readers: ``python -m testbed.report.schemas`` writes them. Those of forms that are not
ours, and of columns, are written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from testbed.report.check_json import CalledFilesForm, CheckForm, LintForm
from testbed.report.json_data import MatrixForm
from testbed.report.json_forms import FuzzForm, ProcessForm, ProofsForm, TriedFindings
from testbed.store.codec import schema_of
from testbed.sweep.model import SweepReport

FOLDER = Path(__file__).with_name("schema")


class Printed(NamedTuple):
    """What a command prints: the form, the command, and what it is."""

    form: Any
    title: str
    description: str


PRINTED: Mapping[str, Printed] = {
    "check": Printed(CheckForm, "testbed check --format json", "What unwind tables say, held against what code does."),
    "check_unwinders": Printed(
        CalledFilesForm,
        "testbed check -u NAME --format json",
        "Unwinders at the instructions of functions that were called alone.",
    ),
    "findings": Printed(
        TriedFindings, "testbed matrix --known-bugs --json", "What real tools were seen to do wrong, each tried again."
    ),
    "fuzz": Printed(FuzzForm, "testbed fuzz --json", "Generated programs that were judged, and what nothing explains."),
    "check_executed": Printed(
        LintForm, "testbed check --executed --format json", "A program's unwind tables, held against a run of it."
    ),
    "matrix": Printed(MatrixForm, "testbed matrix --json", "Every strategy on every (program, arch, recipe), counted."),
    "process": Printed(
        ProcessForm,
        "testbed run --json of a process",
        "A real Linux program, run and judged: its threads, and every strategy over all steps of all of them.",
    ),
    "cross_check": Printed(
        ProofsForm,
        "testbed run --cross-check --json",
        "Two witnesses of the call stack, compared at each step.",
    ),
    "sweep": Printed(
        SweepReport, "testbed sweep --json", "Entries of many files' unwind tables, held against their instructions."
    ),
}


def schema(name: str) -> dict[str, Any]:
    """The JSON schema of ``"run"``, ``"matrix"``, ``"check"``, and of whatever else stands in ``schema/``."""
    loaded: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def schema_text(printed: Printed) -> str:
    """The schema of a printed form as a file."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": printed.title}
    made = {**head, "description": printed.description, **schema_of(printed.form)}
    return json.dumps(made, indent=1) + "\n"


if __name__ == "__main__":
    for name, printed in PRINTED.items():
        (FOLDER / f"{name}.json").write_text(schema_text(printed), encoding="utf-8")
