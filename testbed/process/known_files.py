"""Program files as images, each read once: every process of a session maps the same libraries."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from testbed.arch import Arch
from testbed.build.tables.elf import ElfSymbol, write_elf
from testbed.build.targets import TEXT_BASE
from testbed.conventions.chosen import check_patterns, check_said
from testbed.image import Image, LoadedImage, read_image
from testbed.image.separate_debug import NOWHERE, DebugDirs
from testbed.words.errors import ImageError
from testbed.words.files import WorkFolder

KEPT = 64


@dataclass(frozen=True, slots=True)
class FileReading:
    """How the files of a process are read: where their separate debug files are, what is said of conventions.

    ``conventions`` are patterns of functions and names, as in `Image.conventions`; those that name no file are said of
    the program.
    """

    debug: DebugDirs = NOWHERE
    conventions: tuple[tuple[str, str], ...] = ()

    def program(self, path: Path) -> Image:
        """The image of the program. Raises ImageError; UsageError for a convention or a function that it lacks."""
        image = image_of_file(path, self)
        check_said(image.arch, self.conventions)
        check_patterns(image, self.conventions)
        return image

    @property
    def of_libraries(self) -> FileReading:
        """The same for what the program loads."""
        return replace(self, conventions=tuple(each for each in self.conventions if "!" in each[0]))


AS_IT_LIES = FileReading()


def image_of_file(path: Path, reading: FileReading = AS_IT_LIES) -> Image:
    """The image of a file, as it is now. Raises ImageError."""
    try:
        now = os.stat(path)
    except OSError as error:
        raise ImageError(path, 0, error.strerror or str(error)) from error
    return _image(path, reading, now.st_ino, now.st_mtime_ns, now.st_size)


@lru_cache(maxsize=KEPT)
def _image(path: Path, reading: FileReading, inode: int, changed: int, size: int) -> Image:
    return replace(read_image(path, debug=reading.debug), conventions=reading.conventions)


def named_code(path: Path, text: str, arch: Arch, start: int, code: bytes) -> LoadedImage | None:
    """Code that a process wrote itself, as a file that has the names of a perf map and no table; None: no names.

    It lies at ``start``. A line of the map is an address and a size, both in hexadecimal digits, and a name
    (``tools/perf/Documentation/jit-interface.txt``); of one address the last one holds. Raises ImageError.
    """
    named, bias = dict[int, ElfSymbol](), start - TEXT_BASE
    for line in text.splitlines():
        with suppress(ValueError):
            at, size, name = line.split(maxsplit=2)
            if start <= int(at, 16) < start + len(code) and int(size, 16) >= 0:
                place = int(at, 16) - bias
                named[place] = ElfSymbol(name, place, min(int(size, 16), len(code)), is_function=True)
    if not named:
        return None
    content = write_elf(arch, code, {}, b"", [named[at] for at in sorted(named)], min(named), anywhere=True)
    with WorkFolder("perf-map") as folder:
        file = Path(folder) / path.name
        file.write_bytes(content)
        return LoadedImage(replace(read_image(file), path=path), bias)
