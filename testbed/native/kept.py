"""Whether a compiled function's machine code is on disk already: what is asked before it is chosen."""

from __future__ import annotations

from testbed.native.compiled import KeptCode


def is_kept(function: object) -> bool:
    """True where machine code of a compiled function is on disk, for arguments of whatever types."""
    kept = getattr(function, "_cache", None)
    return isinstance(kept, KeptCode) and kept.is_there
