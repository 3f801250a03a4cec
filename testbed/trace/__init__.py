"""Recorded runs: columns of registers, a journal of writes, and snapshots cut out of them."""

from testbed.trace.memory import History, Memory, Region, Regions, Writes
from testbed.trace.snapshot import Snapshot
from testbed.trace.trace import Exited, Trace

__all__ = ["Exited", "History", "Memory", "Region", "Regions", "Snapshot", "Trace", "Writes"]
