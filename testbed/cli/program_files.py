"""Which files ``testbed run`` runs as Linux processes, and what is said of those that it does not run.

A program file is run as a process if it says that it needs a kernel's start: it names a dynamic linker (``.interp``),
it has thread-local storage (``.tdata``, ``.tbss``) or ``__libc_start_main``, as everything that is linked with a libc
does; it is Go's (``.note.go.buildid``); or if something was asked for that only a process has. Any other file is run on
the simple machine of the corpus.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from programs import PROGRAMS
from testbed.cli.process_options import ProcessOptions
from testbed.image import read_image
from testbed.runs.by_name import SOURCES, files_beside
from testbed.words.errors import UsageError


def is_process(program: str | None, options: ProcessOptions) -> bool:
    """True where a program is to be run as a process. Raises UsageError where what was asked for needs one."""
    path = Path(program) if program is not None else None
    head = path.open("rb").read(256) if path is not None and path.is_file() else b""
    if path is not None and head.startswith(b"#!"):
        raise UsageError(_of_interpreter(path, head, options.arguments))
    if path is None or not head.startswith(b"\x7fELF"):
        if path is not None and head and b"\0" not in head and path.suffix not in SOURCES:
            raise UsageError(_of_text(path))
        if options.asked:
            if path is not None and not path.exists() and str(path) not in PROGRAMS:
                raise UsageError(f"{program} is not here{_near(path)}")
            what = "" if path is None else f"{program} {_what_instead(path)}; "
            raise UsageError(
                f"{what}arguments and --process, --stdin, --stdout, --folder, --env, --sysroot, --debug-dir, --sample, "
                "--against, --child, --asked-at need an ELF program"
            )
        return False
    return options.asked or needs_a_kernel(path)


def _of_interpreter(path: Path, head: bytes, arguments: Sequence[str]) -> str:
    """How a script is run: it is the interpreter of its first line that is the program."""
    words = os.fsdecode(head[2:].partition(b"\n")[0]).split(None, 1)
    if not words:
        return f"{path} is a script that names no interpreter behind its #!"
    if Path(words[0]).name == "env" and (found := shutil.which(words[-1].strip())):
        words = [found]
    folder = path.parent.resolve()
    shown = () if folder.is_relative_to(Path.cwd()) else ("--folder", f"{folder}={folder}")
    inside = ("--", *(word.rstrip() for word in words[1:]), str(path), *arguments)
    command = shlex.join(("testbed", "run", words[0], *shown, *inside))
    return f"{path} is a script of {words[0]}: {command}"


def _of_text(path: Path) -> str:
    """What is done with a file that may be text: a source is built, a script is run by who reads it."""
    if compiler := _COMPILERS.get(path.suffix):
        return f"{path} is a source: {compiler} -g {path} -o {path.stem}; testbed run ./{path.stem}"
    reader = _INTERPRETERS.get(path.suffix, "INTERPRETER")
    return f"{path} is no program file. A script is run by its interpreter: testbed run {reader} -- {path}"


_INTERPRETERS = {".pl": "/usr/bin/perl", ".py": "/usr/bin/python3", ".rb": "/usr/bin/ruby", ".sh": "/bin/sh"}
_COMPILERS = {".cpp": "g++", ".cxx": "g++", ".rs": "rustc"}  # of a source that is no program of the corpus: `SOURCES`


def _what_instead(path: Path) -> str:
    """What a path is that is no ELF file."""
    if path.is_dir():
        return "is a folder"
    return "is no ELF file" if path.exists() else "is a program of the corpus, and no ELF file"


def _near(path: Path) -> str:
    """The program that a name stands for in a shell, or files of nearly that name."""
    if path.name == str(path) and (found := shutil.which(path.name)):
        return f": {found} is"
    return files_beside(path)


def needs_a_kernel(path: Path) -> bool:
    """True for a program file that a kernel and a libc start, or a kernel and Go's runtime."""
    image = read_image(path)
    started = image.symbol_named("__libc_start_main") is not None
    return started or bool(image.sections.keys() & {".interp", ".tdata", ".tbss", ".note.go.buildid"})
