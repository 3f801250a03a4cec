"""What the system and libraries raise where they meet input or a machine that they cannot cope with, as one message.

The testbed's own readers raise their own errors. What comes through all the same is told as one line, with exit status
2 and no traceback: an ``OSError`` by its path, the others by their kind, and by how to see where they came from.
"""

from __future__ import annotations

import os
import traceback
from pathlib import Path

from testbed.words.errors import TestbedError

TRACEBACK = "TESTBED_TRACEBACK"  # set it to see where an error came from

_NOT_OURS = ("UcError", "CsError", "KsError")  # of libraries that are loaded only where they are needed
_PACKAGE = Path(__file__).parents[1]
_KINDS = (OSError, UnicodeError, RecursionError, MemoryError, ValueError, OverflowError)


def is_edge(error: BaseException) -> bool:
    """True for what an input or a machine causes; everything else is a mistake of the testbed's and shows its place."""
    return isinstance(error, _KINDS) or type(error).__name__ in _NOT_OURS


def edge(error: BaseException) -> str:
    """The message: what failed, on what, and what can be done."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return "there is not enough memory for this: give it less at once, or a larger machine"
    if isinstance(error, RecursionError):
        return f"something is nested too deeply; {TRACEBACK}=1 shows where"
    said = str(error).partition("\n")[0][:300]
    return f"{type(error).__name__}: {said}; {TRACEBACK}=1 shows where"


def is_internal(error: BaseException) -> bool:
    """True for a mistake of the testbed's over one piece of its work, which costs that piece only.

    What is wrong with the input as a whole, and what the machine lacks, costs all. With `TRACEBACK` set, so does this.
    """
    ours = isinstance(error, Exception) and not isinstance(error, TestbedError | OSError | MemoryError)
    return ours and not os.environ.get(TRACEBACK)


def internal_words(error: BaseException) -> str:
    """What happened, where in the testbed, and how to report it. What is not internal is raised again."""
    if not is_internal(error):
        raise error
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _PACKAGE in Path(frame.filename).parents] or frames
    at = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    said = str(error).partition("\n")[0][:300]
    name = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return f"an internal error of the testbed, {name}{at}: please report it with this file; {TRACEBACK}=1 shows more"
