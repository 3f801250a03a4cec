"""Files that are read whole: regular ones, pipes once, and nothing that has no end."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from testbed.words import files
from testbed.words.files import is_file, is_folder, open_regular, regular_bytes


def test_a_regular_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    assert regular_bytes(tmp_path / "a") == b"x" * 3_000_000
    with pytest.raises(OSError, match="more than 0x64 bytes"):
        regular_bytes(tmp_path / "a", 100)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/tty", "/proc/self/mem", "/", "/nowhere", "a" * 300, "a\0b"])
def test_what_is_no_file_is_refused_at_once(path: str) -> None:
    for read in (regular_bytes, open_regular):
        if (path, read) != ("/proc/self/mem", open_regular):
            with pytest.raises((OSError, ValueError)):
                read(Path(path))
    assert not is_file(Path("a" * 300)) and not is_folder(Path("a\0b"))


def test_of_a_device_nothing_is_read() -> None:
    for read in (regular_bytes, open_regular):
        with pytest.raises(OSError, match="a device, not a regular file"):
            read(Path("/dev/zero"))


def test_a_file_that_says_it_is_empty_may_have_content() -> None:
    assert b"Name:" in regular_bytes(Path("/proc/self/status"))


def test_a_pipe_is_read_once_and_not_waited_for_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PIPE_SECONDS", 0.2)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="nobody wrote all"):
        regular_bytes(pipe)
    monkeypatch.setattr(files, "PIPE_SECONDS", 20)
    threading.Thread(target=lambda: pipe.write_bytes(b"y" * 100_000), daemon=True).start()
    assert regular_bytes(pipe) == b"y" * 100_000
