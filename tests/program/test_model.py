"""A folder of programs in which other things lie: each is told with its name, and nothing is waited for without end."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.program.model import programs_in
from testbed.words import files
from testbed.words.errors import ProgramError

THINGS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (lambda path: path.mkdir(), "a folder, not a regular file"),
    "a pipe that nobody writes to": (lambda path: os.mkfifo(path), "cannot be read"),
    "a link to nothing": (lambda path: path.symlink_to("nothing"), "No such file"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "a device, not a regular file"),
    "no text": (lambda path: path.write_bytes(b"\xff\xfe\x00"), "can't decode"),
    "nothing": (lambda path: path.write_bytes(b""), "the header has no '// summary: ...' line"),
}


@pytest.mark.parametrize("what", THINGS)
def test_what_is_no_source_is_told(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PIPE_SECONDS", 0.05)
    make, told = THINGS[what]
    make(tmp_path / "thing.c")
    with pytest.raises(ProgramError, match=r"thing\.c:1: ") as caught:
        programs_in(tmp_path)["thing"]
    assert told in str(caught.value)


def test_line_ends_are_made_one(tmp_path: Path) -> None:
    (tmp_path / "ends.c").write_bytes(b"// summary: ends\r\n// exit: 0\r\nint main(void) { return 0; }\r\n")
    (source,) = programs_in(tmp_path)["ends"].sources.values()
    assert source.text.count("\n") == 3
    assert "\r" not in source.text
