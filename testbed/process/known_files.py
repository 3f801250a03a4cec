"""Program files as images, each read once: every process of a session maps the same libraries."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from testbed.image import Image, read_image
from testbed.image.separate_debug import NOWHERE, DebugDirs
from testbed.words.errors import ImageError

KEPT = 64


def image_of_file(path: Path, debug: DebugDirs = NOWHERE) -> Image:
    """The image of a file, as it is now, with its separate debug file if ``debug`` has one. Raises ImageError."""
    try:
        now = os.stat(path)
    except OSError as error:
        raise ImageError(path, 0, error.strerror or str(error)) from error
    return _image(path, debug, now.st_ino, now.st_mtime_ns, now.st_size)


@lru_cache(maxsize=KEPT)
def _image(path: Path, debug: DebugDirs, inode: int, changed: int, size: int) -> Image:
    return read_image(path, debug=debug)
