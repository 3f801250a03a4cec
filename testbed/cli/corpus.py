"""The programs that a user names: ours, those of the folders of ``--programs``, and those of installed packages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from programs import PROGRAMS
from testbed.generate.seeds import is_generated
from testbed.program.model import Program
from testbed.words.catalogue import joined, matching
from testbed.words.errors import UsageError


def corpus(folders: Iterable[Path] = (), names: Iterable[str] = ()) -> Mapping[str, Program]:
    """Our programs and those of folders; where one of the names is none of them, those of installed packages too.

    Raises UsageError for a folder without programs, and where a program has the name of another one.
    """
    known: Mapping[str, Program] = PROGRAMS
    for folder in folders:
        known = _beside(known, _in_folder(folder), f"--programs {folder}")
    if any(name not in known and os.sep not in name and not is_generated(name) for name in names):
        from testbed.cli.plugins import installed_programs

        known = _beside(known, installed_programs(), "an installed package")
    return known


def chosen_programs(patterns: Iterable[str], folders: Iterable[Path] = ()) -> list[Program]:
    """The programs that patterns choose; without one, those of the folders, or ours. Raises UsageError."""
    patterns, folders = list(patterns), list(folders)
    if folders and not patterns:
        known = corpus(folders)
        return [known[name] for folder in folders for name in _in_folder(folder)]
    return matching(corpus(folders, patterns), patterns, "program")


def programs_given(value: Mapping[str, Program] | Iterable[Program] | str | Path | None) -> Mapping[str, Program]:
    """Programs as a caller gives them: values, a mapping of them, or the folder of their sources; None: ours."""
    if value is None:
        return PROGRAMS
    if isinstance(value, str | Path | Mapping):
        from testbed.cli.plugins import programs_of

        return programs_of(value, "programs")
    return {program.name: program for program in value}


def _in_folder(folder: Path) -> Mapping[str, Program]:
    from testbed.cli.plugins import programs_of

    return programs_of(folder, "--programs")


def _beside(known: Mapping[str, Program], more: Mapping[str, Program], whose: str) -> Mapping[str, Program]:
    if twice := [name for name in more if name in known]:
        raise UsageError(f"{whose} has {twice[0]}, and there is another program of that name: rename it")
    return joined(known, more)
