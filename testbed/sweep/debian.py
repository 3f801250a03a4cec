"""Debian's packages as files to sweep: downloaded and unpacked in a private folder.

`apt-get download` has a state, a cache and a status of its own, so the system's package database is neither read nor
changed; of the system it takes the sources and the keys. A package is not installed: its ELF files are copied out of
its archive, under names that are made here, and no script of it is run.
"""

from __future__ import annotations

import re
import subprocess
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import IO

from testbed.words.errors import TestbedError, UsageError
from testbed.words.printable import printable

PREFIX = "deb:"
_ASKED = re.compile(r"(?P<name>[a-z0-9][a-z0-9+.-]*)(?::(?P<arch>[a-z0-9-]+))?(?:=(?P<version>[A-Za-z0-9.+:~-]+))?")
_SECONDS = 600  # for one call of apt-get
_DAY = 24 * 3600  # seconds
_MOST_FILES, _MOST_BYTES = 200_000, 4 << 30  # of one package
_ELF = b"\x7fELF"
_MOST_TOLD = 2  # lines of what a command says when it fails


@dataclass(frozen=True, slots=True)
class UnpackedFile:
    """An ELF file of a package: where it lies now, and under which name it is told."""

    path: Path
    told: str


@dataclass(frozen=True, slots=True)
class UnpackedPackage:
    """A package's ELF files; ``title`` is its name, version and architecture."""

    asked: str
    title: str
    files: tuple[UnpackedFile, ...]


@dataclass(frozen=True, slots=True)
class Apt:
    """apt-get with a state of its own, in a folder, for one architecture."""

    folder: Path
    arch: str

    def run(self, *arguments: str, where: Path) -> str:
        """What a command of apt-get prints. Raises TestbedError with its errors."""
        options = {
            "Dir::State": self.folder / "state",
            "Dir::State::status": self.folder / "status",
            "Dir::Cache": self.folder / "cache",
            "APT::Architecture": self.arch,
            "APT::Architectures": self.arch,
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
            "APT::Update::Error-Mode": "any",  # lists that could not be had are an error, though older ones are there
        }
        said = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
        try:
            return _run(["apt-get", "-q", *said, *arguments], where)
        except FileNotFoundError as error:
            raise UsageError("deb: needs apt-get and dpkg-deb, which Debian's packages apt and dpkg bring") from error

    def make_ready(self) -> None:
        """The lists of packages, once a day for a folder."""
        ready = self.folder / "ready"
        if ready.is_file() and time.time() - ready.stat().st_mtime < _DAY:
            return
        for name in ("state/lists/partial", "cache/archives/partial"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").write_text("")
        self.run("update", where=self.folder)
        ready.write_text("")


def _run(command: Sequence[str], where: Path) -> str:
    try:
        done = subprocess.run(
            command, cwd=where, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise TestbedError(f"{command[0]} did not end within {_SECONDS} seconds") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        why = [line for line in lines if line.startswith("E: ")][:_MOST_TOLD]  # apt's errors, the cause first
        told = printable(" ".join(why or lines[-_MOST_TOLD:]))
        raise TestbedError(f"{command[0]} ended with {done.returncode}: {told}")
    return done.stdout


def own_architecture() -> str:
    """The architecture of this machine's packages."""
    try:
        return _run(["dpkg", "--print-architecture"], Path()).strip()
    except FileNotFoundError as error:
        raise UsageError("deb: needs apt-get and dpkg-deb, which Debian's packages apt and dpkg bring") from error


@contextmanager
def unpacked(asked: str, lists: Path, brought: Mapping[str, Path] = MappingProxyType({})) -> Iterator[UnpackedPackage]:
    """A package, ``NAME``, ``NAME:ARCH``, ``NAME=VERSION``, or a file ``./NAME.deb``, for as long as it is looked at.

    ``lists`` is a folder where apt's state is kept from one package to the next; ``brought`` are archives that
    `brought_together` has. Raises UsageError for what is no package's name, TestbedError where it cannot be had or
    unpacked.
    """
    with TemporaryDirectory(prefix="testbed-deb-") as folder:
        check_name(asked)
        own = Path(asked) if asked.endswith(".deb") else brought.get(asked)
        archive = own or _downloaded(asked, lists, Path(folder))
        title = " ".join(_fields(archive))
        (target := Path(folder, "files")).mkdir()
        files = tuple(_elf_files(archive, target, title.split()[0]))
        yield UnpackedPackage(asked, title, files)


def check_name(asked: str) -> None:
    """Raise UsageError for what is no package's name, and no file of one."""
    if asked.endswith(".deb") and not Path(asked).is_file():
        raise UsageError(f"{printable(asked)} is not there")
    if not asked.endswith(".deb") and _ASKED.fullmatch(asked) is None:
        raise UsageError(f"deb:{printable(asked)} is no package: say deb:NAME, deb:NAME:arm64, deb:NAME=VERSION")


@contextmanager
def brought_together(asked: Sequence[str], lists: Path) -> Iterator[Mapping[str, Path]]:
    """The archives of some packages, by what was asked for; apt-get reads its lists once for all of an architecture.

    Where one of them cannot be had, apt-get brings none: they are not among these, and each is asked for by itself.
    """
    with TemporaryDirectory(prefix="testbed-debs-") as folder:
        names: dict[str, dict[str, str]] = {}
        for each in asked:
            fits = _ASKED.fullmatch(each)
            if fits is not None and not fits["version"] and not each.endswith(".deb"):
                names.setdefault(fits["arch"] or own_architecture(), {})[fits["name"]] = each
        found: dict[str, Path] = {}
        for arch, some in names.items():
            (place := Path(folder, arch)).mkdir()
            with suppress(TestbedError):
                (apt := Apt(lists / arch, arch)).make_ready()
                apt.run("download", *some, where=place)
            found |= {some[path.name.split("_")[0]]: path for path in place.glob("*.deb")}
        yield found


def _downloaded(asked: str, lists: Path, folder: Path) -> Path:
    fits = _ASKED.fullmatch(asked)
    assert fits is not None
    arch = fits["arch"] or own_architecture()
    apt = Apt(lists / arch, arch)
    apt.make_ready()
    apt.run("download", fits["name"] + (f"={fits['version']}" if fits["version"] else ""), where=folder)
    found = list(folder.glob("*.deb"))
    if len(found) != 1:
        raise TestbedError(f"apt-get downloaded {len(found)} files for {asked}")
    return found[0]


def _fields(archive: Path) -> Sequence[str]:
    """A package's name, version and architecture."""
    names = ("Package", "Version", "Architecture")
    said = dict(line.split(": ", 1) for line in _control(archive, names) if ": " in line)
    fields = [printable(said.get(name, "")).replace(" ", "_") for name in names]
    if not all(fields):
        raise TestbedError(f"{archive} does not say which package it is")
    return fields


def _control(archive: Path, names: Sequence[str]) -> Sequence[str]:
    return _run(["dpkg-deb", "--field", str(archive.resolve()), *names], Path()).splitlines()


def _elf_files(archive: Path, target: Path, name: str) -> Iterator[UnpackedFile]:
    """Copy the ELF files of an archive to names of our own."""
    command = ["dpkg-deb", "--fsys-tarfile", str(archive.resolve())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as members:
                yield from _copied(members, target, name)
        except (tarfile.TarError, EOFError, OSError, ValueError) as error:
            raise TestbedError(f"{archive} cannot be unpacked: {printable(str(error))}") from error
        finally:
            process.kill()


def _copied(members: tarfile.TarFile, target: Path, name: str) -> Iterator[UnpackedFile]:
    size = 0
    for number, member in enumerate(members):
        if number >= _MOST_FILES or size > _MOST_BYTES:
            raise TestbedError(f"{name} has more than {_MOST_FILES} files, or {_MOST_BYTES} bytes of them")
        content = members.extractfile(member) if member.isreg() else None
        if content is None or member.size > _MOST_BYTES or content.read(4) != _ELF:
            continue
        path = target / str(number)
        size += _copy(content, path)
        yield UnpackedFile(path, f"{PREFIX}{name}/{printable(member.name).removeprefix('./').lstrip('/')}")


def _copy(content: IO[bytes], path: Path) -> int:
    with path.open("wb") as file:
        size = file.write(_ELF)
        while block := content.read(1 << 20):
            size += file.write(block)
    return size
