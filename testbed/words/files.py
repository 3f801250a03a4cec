"""Files that the testbed can make again: where they lie, and how they appear whole or not at all."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from platformdirs import user_cache_path


def cache_folder() -> Path:
    """The user's cache folder, or ``TESTBED_CACHE``. It need not exist yet."""
    chosen = os.environ.get("TESTBED_CACHE")
    return Path(chosen) if chosen else user_cache_path("testbed", appauthor=False)


def checksum(content: bytes) -> bytes:
    """What is kept beside a file, to know it whole: the SHA-256 of its content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest().encode("ascii")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears complete or not at all: aside first, then renamed. Raises OSError."""
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
