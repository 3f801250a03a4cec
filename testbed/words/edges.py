"""What the system and libraries raise where they meet input or a machine that they cannot cope with, as one message.

The testbed's own readers raise their own errors. What comes through all the same is told as one line, with exit status
2 and no traceback: an ``OSError`` by its path, the others by their kind, and by how to see where they came from.
"""

from __future__ import annotations

TRACEBACK = "TESTBED_TRACEBACK"  # set it to see where an error came from

_NOT_OURS = ("UcError", "CsError", "KsError")  # of libraries that are loaded only where they are needed
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
