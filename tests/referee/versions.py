"""What a tool says that it is, as the golden counts hold it."""

from __future__ import annotations

from testbed.contract.unwinder import Unwinder


def version(unwinder: Unwinder) -> str:
    """Without the folders in which the parts of a tool lie here."""
    told = unwinder.tool() if unwinder.tool else ""
    return "; ".join(sorted({part.partition(" (")[0] for part in told.split("; ")}))
