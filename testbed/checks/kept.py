"""Checks of files, kept by content: what has not changed need not be tried again.

A check follows from the file's bytes, what was asked for, the code of the testbed and of the strategies, and the
versions of the libraries that run and read it. The hash of all that names the kept file::

    line 1   SHA-256 of the rest, in hexadecimal
    rest     the check, as JSON

A file that is damaged, or that others may have written, is no check. The folder keeps those that were last used.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from testbed.arch import arch_named
from testbed.checks.model import (
    FileCheck,
    FindingKind,
    FunctionCheck,
    HowKnown,
    LaterDirectives,
    Repair,
    TableFinding,
    WrongThing,
)
from testbed.checks.options import CheckOptions
from testbed.image.macho import MAGICS
from testbed.words.code_versions import code_of, version_of
from testbed.words.errors import TestbedError
from testbed.words.files import cache_folder
from testbed.words.own_files import keep_own, own_content

_LIBRARIES = ("unicorn", "numpy", "capstone", "pyelftools", "numba", "ziglang")
_PACKAGES = ("testbed", "unwinders")
_SUFFIX = ".checked"
MOST = 256  # checks that are kept


def folder() -> Path:
    """The folder of kept checks, inside that of built files. It need not exist yet."""
    return cache_folder() / "checked"


def stands_alone(content: bytes) -> bool:
    """Whether a file's bytes decide its check: they do of a program file and of an archive, not of a source."""
    return content.startswith((b"\x7fELF", b"!<arch>\n", *MAGICS))


def kept_check(path: Path, content: bytes, options: CheckOptions) -> FileCheck | None:
    """The kept check of a file with this content, under the path that is given now; None where there is none."""
    kept = folder() / key_of(content, options)
    body = own_content(kept)
    if body is None:
        return None
    try:
        check = _check(json.loads(body), path)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError, TestbedError):
        return None  # whole, and yet not what this testbed wrote
    with suppress(OSError):
        os.utime(kept)
    return check


def keep_check(content: bytes, options: CheckOptions, check: FileCheck) -> None:
    """Keep the check of a file; nothing is kept where the folder cannot be written."""
    kept = folder() / key_of(content, options)
    body = json.dumps(_data(check)).encode("ascii")
    with suppress(OSError):
        keep_own(kept, body)
        _forget_oldest()


def key_of(content: bytes, options: CheckOptions) -> str:
    """The name of a kept check: the hash of everything that decides it. How many processes work does not."""
    parts = (
        hashlib.sha256(content).hexdigest(),
        json.dumps(asdict(replace(options, jobs=1)), sort_keys=True),
        *map(code_of, _PACKAGES),
        sys.version,
        *(f"{library} {version_of(library)}" for library in _LIBRARIES),
    )
    return hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest() + _SUFFIX


def usage() -> tuple[int, int]:
    """How many checks are kept, and their size in bytes."""
    sizes = [path.stat().st_size for path in _files()]
    return len(sizes), sum(sizes)


def clear() -> int:
    """Remove every kept check; how many there were. Nothing else in the folder is touched."""
    _remove(_parts())
    return _remove(_files())


def _files() -> Iterator[Path]:
    return folder().glob(f"*{_SUFFIX}") if folder().is_dir() else iter(())


def _parts() -> Iterator[Path]:
    """What `testbed.checks.kept_groups` keeps of checks that were interrupted."""
    return folder().glob(f"*{_SUFFIX}-*") if folder().is_dir() else iter(())


def _remove(files: Iterable[Path]) -> int:
    removed = 0
    for path in list(files):
        with suppress(FileNotFoundError):  # another process clears too
            path.unlink()
            removed += 1
    return removed


def _forget_oldest() -> None:
    used = sorted((path.stat().st_mtime_ns, path) for path in _files())
    _remove(path for _, path in used[:-MOST])


def _data(check: FileCheck) -> dict[str, Any]:
    return {
        "arch": check.arch.name,
        "tables": check.tables,
        "functions": [asdict(function) for function in check.functions],
        "parts": [asdict(part) for part in check.parts],
        "findings": [_finding_data(finding) for finding in check.findings],
        "seed": check.seed,
        "runs": check.runs,
        "steps": check.steps,
        "compared": check.compared,
        "dropped": dict(check.dropped),
        "notes": check.notes,
    }


def _check(data: Mapping[str, Any], path: Path) -> FileCheck:
    return FileCheck(
        path=path,
        arch=arch_named(data["arch"]),
        tables=tuple(data["tables"]),
        functions=tuple(FunctionCheck(**each) for each in data["functions"]),
        parts=tuple(FunctionCheck(**each) for each in data["parts"]),
        findings=tuple(_finding(each) for each in data["findings"]),
        seed=data["seed"],
        runs=data["runs"],
        steps=data["steps"],
        compared=data["compared"],
        dropped=data["dropped"],
        notes=tuple(data["notes"]),
        kept=True,
    )


def _finding_data(finding: TableFinding) -> dict[str, Any]:
    alike = [_finding_data(each) for each in finding.alike]
    own = asdict(replace(finding, alike=()))
    return own | {"kind": finding.kind.value, "evidence": finding.evidence.value, "alike": alike}


def _finding(data: Mapping[str, Any]) -> TableFinding:
    repair = data["repair"]
    values = dict(data) | {
        "kind": FindingKind(data["kind"]),
        "evidence": HowKnown(data["evidence"]),
        "things": tuple(WrongThing(**thing) for thing in data["things"]),
        "repair": repair and _repair(repair),
        "alike": tuple(map(_finding, data["alike"])),
    }
    return TableFinding(**values)


def _repair(data: Mapping[str, Any]) -> Repair:
    later = tuple(LaterDirectives(**{**each, **_directives(each)}) for each in data["later"])
    return Repair(**{**data, **_directives(data), "later": later})


def _directives(data: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(data[name]) for name in ("directives", "replaced")}
