"""Running a compiler, an assembler or a linker in a temporary folder, and telling what went wrong."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from testbed.build.confined import WALL_SECONDS, limit_met, run_confined
from testbed.program.model import Source
from testbed.words.errors import BuildError
from testbed.words.temporary import WorkFolder

NOT_FOUND = re.compile(r"incbin|No such file|not found|Permission denied|[Cc]ould not find|can't open", re.IGNORECASE)

_NO_ENTRY = re.compile(r"cannot find entry symbol ([\w.$]+)")  # lld and GNU ld warn, and exit with 0


def work_folder() -> WorkFolder:
    """A temporary folder for one build. Raises BuildError where there is no place for one."""
    try:
        return WorkFolder("build")
    except OSError as error:
        raise BuildError(f"no temporary folder can be made: {error.strerror or error}; set TMPDIR") from error


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

    Raises BuildError that opens with the tool's first error message, under the name of the user's own file; also where
    a linker only warns that there is no entry symbol: such a file cannot be started.
    """
    try:
        done = run_confined(command, folder, environment=environment)
    except OSError as error:
        raise BuildError(f"{command[0]} cannot be run: {error}", command=command) from error
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{source.path}: the build took more than {WALL_SECONDS} s", command=command) from error
    printed = (done.stdout + done.stderr).decode("utf-8", "replace")
    if links and not done.returncode and (warned := _NO_ENTRY.search(printed)):
        raise BuildError(_no_entry(source, warned[1]), command=command)
    if done.returncode:
        if limit := limit_met(done.returncode, printed):
            raise BuildError(f"{source.path}: the build was stopped: it wanted more than {limit}", command=command)
        # The tools saw copies; the reader wants the files that were written by hand.
        names = "|".join(re.escape(name) for name in (source.path.name, *(f.name for f in source.fragments)))
        named = re.sub(rf"(?m)(^|\s)(?:\./)?({names})(?=:\d)", lambda m: f"{m[1]}{source.path.parent / m[2]}", printed)
        what = "does not link" if links else "does not compile"
        detail = _first_error(named) or f"{source.path}: {what} (exit status {done.returncode})"
        rest = named if detail not in named else named.replace(detail, "", 1).strip("\n")
        if NOT_FOUND.search(detail):
            detail += " (a build reads the source's own files and what it names in its header, and no others)"
        raise BuildError(detail, command=command, output=rest)


def _no_entry(source: Source, name: str) -> str:
    """Why a linker found no place to start at, and what to write."""
    if re.search(rf"(?m)^\s*{re.escape(name)}\s*:", source.text):
        return f'{source.path}: the entry symbol {name!r} is not global: write ".globl {name}" in front of its label'
    return f'{source.path}: the entry symbol {name!r} is not in the file: its label and ".globl {name}" have to be'


def _first_error(printed: str) -> str:
    """The first line that says what is wrong; BuildError's message opens with it."""
    wrong = r"\b[Ee]rror: |undefined reference"
    return next((line for line in printed.splitlines() if re.search(wrong, line)), "")
