"""Checks of files, kept by content: what has not changed need not be tried again.

A check follows from the file's bytes and its separate debug file, what was asked for, the code of the testbed and of
the unwinders, and the versions of the libraries that run and read it. The hash of all that names the kept file.
Those that were last used are kept.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from testbed.checks.model import FileCheck
from testbed.checks.options import CheckOptions
from testbed.image.macho import MAGICS
from testbed.image.separate_debug import NOWHERE, debug_file_stamp, looked_in
from testbed.store import KeptFiles, key_of
from testbed.store.codec import to_json
from testbed.words.files import code_of, versions_of

_LIBRARIES = ("unicorn", "numpy", "capstone", "pyelftools", "numba", "ziglang")
_PACKAGES = ("testbed", "unwinders")
MOST = 256  # checks that are kept

CHECKS = KeptFiles(room="checked", patterns=("*.checked",))
GROUPS = KeptFiles(room="checked", patterns=("*.group",))  # `testbed.checks.kept_groups`


def stands_alone(content: bytes) -> bool:
    """Whether a file's bytes decide its check: they do of a program file and of an archive, not of a source."""
    return content.startswith((b"\x7fELF", b"!<arch>\n", *MAGICS))


def kept_check(path: Path, content: bytes, options: CheckOptions) -> FileCheck | None:
    """The kept check of a file with this content, under the path that is given now; None where there is none."""
    found = CHECKS.get_value(f"{check_key(content, options)}.checked", FileCheck)
    return found and replace(found, path=path, kept=True)


def keep_check(content: bytes, options: CheckOptions, check: FileCheck) -> None:
    """Keep the check of a file; nothing is kept where the folder cannot be written."""
    CHECKS.keep_value(f"{check_key(content, options)}.checked", FileCheck, check)
    CHECKS.forget_oldest(MOST)


def check_key(content: bytes, options: CheckOptions) -> str:
    """The hash of everything that decides a check. How many processes work does not."""
    return key_of(
        hashlib.sha256(content).hexdigest(),
        to_json(CheckOptions, replace(options, jobs=1)),
        debug_file_stamp(content, looked_in() if options.debug_files else NOWHERE),
        *map(code_of, _PACKAGES),
        *versions_of(_LIBRARIES),
    )
