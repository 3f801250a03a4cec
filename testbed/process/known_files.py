"""Program files as images, each read once: every process of a session maps the same libraries."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from testbed.conventions.chosen import check_patterns, check_said
from testbed.image import Image, read_image
from testbed.image.separate_debug import NOWHERE, DebugDirs
from testbed.words.errors import ImageError

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
