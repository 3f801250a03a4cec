"""Any file as a program file whose functions can be called: sources compiled, objects and archives joined.

Sources go through clang, or through the compiler that stands first behind ``--``; everything else there is for it, as
on its own command line. Objects are joined by lld into a shared object in which symbols may be missing: that is what a
loader would fill in, and so does `testbed.micro.layout`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from testbed.arch import ARCHES, Arch, PerArch, arch_named
from testbed.build.compile import find_zig
from testbed.build.targets import LLD
from testbed.image import Image, read_image
from testbed.words.errors import BuildError, UsageError

SOURCES = (".S", ".s", ".c", ".cc", ".cpp", ".cxx", ".C", ".m", ".i", ".ii")
_TARGETS = PerArch({"x86_64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu", "arm32": "armv7-linux-gnueabihf"})
_LIBC = PerArch(
    {
        "x86_64": ("x86-linux-gnu", "x86-linux-any"),
        "arm64": ("aarch64-linux-gnu", "aarch64-linux-any"),
        "arm32": ("arm-linux-gnu", "arm-linux-any"),
    }
)
_TABLES = ("-g", "-fasynchronous-unwind-tables")
_CPU_SECONDS = 120
_MACHINES = PerArch({"x86_64": 62, "arm64": 183, "arm32": 40})  # e_machine (System V ABI, chapter 4)
_RELOCATABLE = 1  # ET_REL


@contextmanager
def program_file(path: Path, arch: str | None, flags: Sequence[str]) -> Iterator[Path]:
    """The path of a file that can be loaded, made of ``path`` where that is none; it is gone afterwards.

    Raises BuildError with the compiler's or linker's words, ToolchainMissing, UsageError for a file that is none.
    """
    if not path.exists():
        raise UsageError(f"{path}: there is no such file")
    if not path.is_file():
        raise UsageError(f"{path}: not a regular file")
    source = path.suffix in SOURCES
    if flags and not source:
        raise UsageError(f"{path} is no source: what stands behind -- is for a compiler ({' '.join(SOURCES)})")
    with path.open("rb") as opened:
        head = opened.read(64)
    if not source and head[:8] != b"!<arch>\n" and not _is_object(head):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="testbed-check-") as folder:
        place = Path(folder)
        objects = _compiled(path, arch, flags, place) if source else path
        yield _joined(path, objects, place)


def _is_object(head: bytes) -> bool:
    return head[:4] == b"\x7fELF" and int.from_bytes(head[16:18], "little") == _RELOCATABLE


def _compiled(path: Path, arch: str | None, flags: Sequence[str], folder: Path) -> Path:
    """The object file of a source."""
    out = folder / "checked.o"
    flags = list(flags)
    if flags and not flags[0].startswith("-"):
        compiler = shutil.which(flags[0])
        if compiler is None:
            raise UsageError(f"{flags[0]}: no such compiler; what stands first behind -- is one, or begins with '-'")
        command = [compiler, *_TABLES, *flags[1:]]
    else:
        target = next((flag for flag in flags if flag.startswith(("-target", "--target"))), None)
        chosen = arch_named(arch or "x86_64").name
        named = [] if target else ["-target", _TARGETS[chosen]]
        command = [str(find_zig()), "clang", "-Qunused-arguments", *named, *_TABLES, *_headers(chosen), *flags]
    _run([*command, "-c", str(path), "-o", str(out)], path)
    return out


def _headers(arch: str) -> list[str]:
    """Where clang finds its own headers and glibc's, behind all other folders: `zig clang` knows of none."""
    own = find_zig().parent / "lib"
    libc = [own / "libc" / "include" / name for name in (*_LIBC[arch], "generic-glibc", "any-linux-any")]
    folders = [word for folder in (own / "include", *libc) for word in ("-idirafter", str(folder))]
    return [*folders, "-D__GLIBC_MINOR__=31"]  # which version of glibc those headers are to be


def _joined(path: Path, objects: Path, folder: Path) -> Path:
    """A shared object of one object file, or of all members of an archive."""
    out = folder / (path.name + ".so")
    machine = _machine_of(objects, path)
    command = [str(find_zig()), "ld.lld", "-m", LLD[machine.name], "-shared", "--eh-frame-hdr", "-z", "notext"]
    options = ["--unresolved-symbols=ignore-all", "--allow-multiple-definition", "--noinhibit-exec", "-z", "nognustack"]
    _run([*command, *options, "--whole-archive", str(objects), "-o", str(out)], path)
    return out


def _machine_of(objects: Path, path: Path) -> Arch:
    """The architecture of an object, or of an archive's first member that is one."""
    content = objects.read_bytes()
    at = content.find(b"\x7fELF") if content[:8] == b"!<arch>\n" else 0
    number = int.from_bytes(content[at + 18 : at + 20], "little") if at >= 0 else 0
    found = next((arch for name, arch in ARCHES.items() if _MACHINES[name] == number), None)
    if found is None:
        known = ", ".join(ARCHES)
        raise UsageError(f"{path}: its code is for machine {number}, none of {known}")
    return found


def _run(command: Sequence[str], path: Path) -> None:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_CPU_SECONDS,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{path}: {command[0]} did not end: {error}", command=command) from error
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        first = next((line for line in lines if "error" in line), lines[0] if lines else "no message")
        raise BuildError(f"{path}: {first}", command=command, output="\n".join(line for line in lines if line != first))


def read_program(path: Path, original: Path) -> Image:
    """A program file as an image under its user's name."""
    image = read_image(path)
    return image if path == original else replace(image, path=original)
