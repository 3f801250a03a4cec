"""The programs of these tests, built with the compilers of Debian's packages, once per session; and what runs them."""

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from testbed.process import ProcessRun, run_process
from testbed.words.errors import ToolchainMissing

PROGRAMS = Path(__file__).parent / "programs"
FOLDER = tempfile.TemporaryDirectory(prefix="testbed-process-tests-")


@dataclass(frozen=True, slots=True)
class ProgramTarget:
    """A compiler, its flags, the package that brings it; and qemu-user's emulator with the folder of libraries."""

    compiler: str
    package: str
    flags: tuple[str, ...] = ()
    emulator: str = ""
    libraries: str = ""


_ARM64 = ("qemu-aarch64", "/usr/aarch64-linux-gnu")
_ARM32 = ("qemu-arm", "/usr/arm-linux-gnueabihf")
TARGETS = {
    "x86_64": ProgramTarget("x86_64-linux-gnu-{}-12", "{}-12"),
    "arm64": ProgramTarget("aarch64-linux-gnu-{}-12", "{}-12-aarch64-linux-gnu", (), *_ARM64),
    "a32": ProgramTarget("arm-linux-gnueabihf-{}-12", "{}-12-arm-linux-gnueabihf", ("-marm",), *_ARM32),
    "thumb": ProgramTarget("arm-linux-gnueabihf-{}-12", "{}-12-arm-linux-gnueabihf", ("-mthumb",), *_ARM32),
}
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C"}  # of programs outside
ALL = [(target, link) for target in TARGETS for link in ("static", "dynamic")]


@cache
def built(name: str, target: str, link: str, *flags: str) -> Path:
    """A program of the folder ``programs``, static or dynamic. Raises ToolchainMissing."""
    chosen = TARGETS[target]
    source = next(path for path in PROGRAMS.iterdir() if path.stem == name)
    language = "g++" if source.suffix == ".cc" else "gcc"
    # Built in that folder by a name without it, so that what ends in the file is the same everywhere.
    output = Path(FOLDER.name) / "-".join((name, target, link, *(flag.strip("-") for flag in flags)))
    command = [chosen.compiler.format(language), "-O2", "-w", *chosen.flags, *flags, f"-I{PROGRAMS}"]
    command += ["-static"] if link == "static" else []
    try:
        subprocess.run([*command, "-o", output, source, "-lpthread"], check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise ToolchainMissing(command[0], f"apt-get install {chosen.package.format(language)}") from error
    return output


@cache
def ran(name: str, target: str, link: str, *arguments: str) -> ProcessRun:
    """Its run in the testbed."""
    return run_process(built(name, target, link), arguments)


@cache
def elsewhere(name: str, target: str, link: str, *arguments: str) -> tuple[bytes, int]:
    """The same of a program of the folder."""
    return outside(built(name, target, link), target, arguments, ENVIRONMENT)


def outside(
    path: Path, target: str, arguments: Sequence[str], environment: Mapping[str, str], stdin: bytes = b""
) -> tuple[bytes, int]:
    """Standard output and exit status natively, or of qemu-user; the status is minus the signal that ended it."""
    chosen, start, own = TARGETS[target], [str(path)], environment
    if chosen.emulator:
        given = [part for each in environment.items() for part in ("-E", "=".join(each))]
        start = [chosen.emulator, *given, "-L", chosen.libraries, "-0", f"/program/{path.name}", *start]
        own = {"PATH": os.environ["PATH"]}
    try:
        done = subprocess.run(
            [*start, *arguments],
            executable=None if chosen.emulator else path,
            input=stdin,
            capture_output=True,
            timeout=300,
            env=own,
            cwd=FOLDER.name,
        )
    except FileNotFoundError as error:
        raise ToolchainMissing(chosen.emulator, "apt-get install qemu-user") from error
    return done.stdout, done.returncode


def columns(run: ProcessRun) -> list[bytes]:
    """All that is recorded of a run and its children."""
    traces = [track.trace for each in (run, *run.children) for track in each.tracks]
    return [
        part.tobytes()
        for each in traces
        for part in (each.registers, each.sizes, each.writes.address, each.writes.value)
    ]


def told(run: ProcessRun) -> tuple[bytes, int]:
    """The same of a run in the testbed."""
    return run.stdout, run.status if run.status is not None else -run.signal


def host_is_x86_64() -> bool:
    return os.uname().machine == "x86_64"
