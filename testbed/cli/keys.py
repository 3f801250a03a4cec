"""Keys from a terminal, one at a time, without the Enter key."""

from __future__ import annotations

import os
import select
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ESCAPE = "\x1b"
_SEQUENCE = 0.05  # seconds in which the rest of an arrow key's sequence follows


@contextmanager
def keys_of(terminal: int) -> Iterator[Callable[[], str]]:
    """A function that waits for a key ("" at the end of the input), with the terminal as it was afterwards.

    The terminal stays in this mode between keys, so that one pressed while a page is drawn is not lost.
    """
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSADRAIN)
    try:
        yield lambda: _key(terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _key(terminal: int) -> str:
    try:
        key = os.read(terminal, 1).decode("utf-8", "replace")
        while key.startswith(_ESCAPE) and len(key) < 3 and select.select([terminal], [], [], _SEQUENCE)[0]:
            key += os.read(terminal, 1).decode("utf-8", "replace")
    except OSError:  # the terminal is gone
        return ""
    return key
