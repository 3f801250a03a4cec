"""``testbed check -u`` and ``--unwinder-cmd``: unwinders judged where the functions of a file are called."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from testbed.checks.judged_calls import judge_calls
from testbed.checks.options import CheckOptions
from testbed.cli.progress import long_work
from testbed.cli.strategies import strategies_named
from testbed.cli.table_readers import READERS
from testbed.cli.writing import write_text
from testbed.report.check_json import CalledFilesForm
from testbed.report.check_text import called_text
from testbed.store.codec import encoded
from testbed.words.errors import TestbedError, UsageError


def judge_and_tell(
    paths: Sequence[Path],
    options: CheckOptions,
    asked: tuple[Sequence[str], Sequence[str]],
    form: str,
    output: Path | None,
) -> int:
    """Judge the unwinders of ``-u`` and ``--unwinder-cmd`` on all files, and print it; the exit status.

    Raises UsageError for a format that has no form of this.
    """
    if form not in ("text", "json"):
        raise UsageError(f"--format {form} is of tables: what unwinders say is told as text or json")
    unwinders = strategies_named(*asked)
    lines: list[str] = []
    files, status = [], 0
    for path in paths:
        try:
            with long_work(f"judging at {path.name}", "instructions") as work:
                verdicts = judge_calls(path, options, READERS, unwinders, work.at)
        except TestbedError as error:
            click.echo(f"error: {error}", err=True)
            status = 2
            continue
        if any(counted.unexcused for counted in verdicts):
            status = status or 1
        lines += called_text(path, verdicts)
        files.append({"file": path, "unwinders": verdicts})
    text = (
        json.dumps(encoded(CalledFilesForm, {"status": status, "files": files}), indent=1)
        if form == "json"
        else "\n".join(lines).rstrip()
    )
    if output is not None:
        write_text(output, text + "\n")
    else:
        click.echo(text)
    return status
