"""Running a compiler, an assembler or a linker in a temporary folder, and telling what went wrong."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from testbed.program.model import Source
from testbed.words.errors import BuildError

_TIMEOUT = 120  # seconds; a compile takes 0.06


def write_source(source: Source, folder: Path) -> None:
    """Write a copy of a source into ``folder``, with the fragments that it includes."""
    (folder / source.path.name).write_text(source.text, encoding="utf-8")
    for fragment in source.fragments:
        (folder / fragment.name).parent.mkdir(parents=True, exist_ok=True)
        (folder / fragment.name).write_text(fragment.text, encoding="utf-8")


def run_tool(
    command: Sequence[str],
    folder: Path,
    source: Source,
    *,
    links: bool = False,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run one tool on the copy of ``source`` in ``folder``.

    Raises BuildError that opens with the tool's first error message, under the name of the user's own file.
    """
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
        )
    except OSError as error:
        raise BuildError(f"{command[0]} cannot be run: {error}", command=command) from error
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{source.path}: the build took more than {_TIMEOUT} s", command=command) from error
    if done.returncode:
        printed = (done.stdout + done.stderr).decode("utf-8", "replace")
        # The tools saw copies; the reader wants the files that were written by hand.
        names = "|".join(re.escape(name) for name in (source.path.name, *(f.name for f in source.fragments)))
        named = re.sub(rf"(?m)(^|\s)(?:\./)?({names})(?=:\d)", lambda m: f"{m[1]}{source.path.parent / m[2]}", printed)
        what = "does not link" if links else "does not compile"
        detail = _first_error(named) or f"{source.path}: {what} (exit status {done.returncode})"
        rest = named if detail not in named else named.replace(detail, "", 1).strip("\n")
        raise BuildError(detail, command=command, output=rest)


def _first_error(printed: str) -> str:
    """The first line that says what is wrong; BuildError's message opens with it."""
    wrong = r"\b[Ee]rror: |undefined reference"
    return next((line for line in printed.splitlines() if re.search(wrong, line)), "")
