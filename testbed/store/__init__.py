"""A store: files of one kind in the user's cache folder, each of which can be made again.

A file of a store is *there* where it is whole, was kept under the key that is asked for, and nobody but this user may
have written it or its folder (`testbed.words.files`). Anything else is as if it were missing: damage, another key,
a folder that cannot be read or written cost the time to make it again, and nothing more. A file appears whole or not at
all, so any number of processes may use one store at once.

::

    line 1   SHA-256 of the key and the rest, in hexadecimal
    rest     what is kept

A store whose files others read as they are (program files, libraries) has that line in a file of its own,
``NAME.sha256``.

What a file's content follows from is in its name or in its key. The key is for what is replaced by newer content under
the same name.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from testbed.store.codec import NotDecoded, from_json, to_json
from testbed.words.files import cache_folder, checksum, own_bytes, own_folder, write_whole

KEY_LENGTH = 24  # hexadecimal digits of a hash kept in a name: 96 bits
KEY_PATTERN = "[0-9a-f]" * KEY_LENGTH
MOST_UNPACKED = 1 << 30  # bytes of a value that is read back

Kept = TypeVar("Kept")


def key_of(*parts: str) -> str:
    """The hash of everything that decides some content: another order or another border is another key."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFiles:
    """Files of one kind: in which folder, and by which patterns they are known there.

    ``room`` is a folder inside the cache folder, or "" for that itself; the environment variable ``variable`` names
    another one. ``beside``: the checksum lies beside the file. Files that fit no pattern are never touched.
    """

    room: str
    patterns: tuple[str, ...]
    beside: bool = False
    variable: str = ""

    @property
    def folder(self) -> Path:
        """Where the files are. It need not exist yet."""
        chosen = os.environ.get(self.variable) if self.variable else None
        return Path(chosen) if chosen else cache_folder() / self.room

    def path(self, name: str) -> Path:
        """Where a file lies, or will."""
        return self.folder / name

    def get(self, name: str, key: str = "") -> bytes | None:
        """What was kept under a name and a key; None where it is not there. It is then the last one used."""
        path = self.path(name)
        try:
            content = own_bytes(path)
            if self.beside:
                said = own_bytes(_checksum_path(path))
            else:
                said, _, content = content.partition(b"\n")
        except OSError:
            return None
        if said != checksum(key.encode("ascii") + content):
            return None
        with suppress(OSError):
            os.utime(path)
        return content

    def put(self, name: str, content: bytes, key: str = "") -> None:
        """Keep something under a name and a key. Raises OSError where the folder cannot be written, or others may."""
        path, line = self.path(name), checksum(key.encode("ascii") + content)
        own_folder(path.parent)
        if self.beside:
            write_whole(path, content)
            write_whole(_checksum_path(path), line)
        else:
            write_whole(path, line + b"\n" + content)

    def keep(self, name: str, content: bytes, key: str = "") -> None:
        """The same, and nothing is kept where that cannot be."""
        with suppress(OSError):
            self.put(name, content, key)

    def get_value(self, name: str, kind: type[Kept], key: str = "") -> Kept | None:
        """A value of some type that was kept; None where it is not there, or what is there is no such value."""
        packed = self.get(name, key)
        if packed is None:
            return None
        unpacking = zlib.decompressobj()
        try:
            content = unpacking.decompress(packed, MOST_UNPACKED)
            return from_json(kind, content) if unpacking.eof else None
        except (NotDecoded, zlib.error):
            return None

    def keep_value(self, name: str, kind: Any, value: object, key: str = "") -> None:
        """Keep a value of some type: as JSON, compressed (RFC 1950)."""
        self.keep(name, zlib.compress(to_json(kind, value).encode("ascii"), 1), key)

    def files(self) -> Iterator[Path]:
        """All files of the store, whether they are whole or not."""
        for pattern in self.patterns:
            yield from self.folder.glob(pattern) if self.folder.is_dir() else ()

    def usage(self) -> tuple[int, int]:
        """How many files there are, and their size in bytes."""
        sizes = [path.stat().st_size for path in self.files()]
        return len(sizes), sum(sizes)

    def clear(self) -> int:
        """Remove every file; how many there were."""
        return sum(map(self._remove, list(self.files())))

    def forget(self, pattern: str) -> None:
        """Remove those whose name fits."""
        for path in list(self.files()):
            if path.match(pattern):
                self._remove(path)

    def forget_oldest(self, most: int) -> None:
        """Remove all but those that were used last."""
        used = []
        for path in self.files():
            with suppress(FileNotFoundError):  # another process forgets too
                used.append((path.stat().st_mtime_ns, path))
        for _, path in sorted(used)[:-most]:
            self._remove(path)

    def _remove(self, path: Path) -> bool:
        removed = False
        with suppress(FileNotFoundError):  # another process clears too
            path.unlink()
            removed = True
        if self.beside:
            _checksum_path(path).unlink(missing_ok=True)
        if path.parent != self.folder:
            with suppress(OSError):  # something else is in it
                path.parent.rmdir()
        return removed


def _checksum_path(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")
