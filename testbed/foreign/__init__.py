"""Snapshots that others made: ELF cores, Mach-O cores, minidumps and JSON as `Snapshot` values.

The writers of `testbed.export` are not used here: both were made from the formats' documents, and other people's
readers and writers are the test of each.
"""

from testbed.foreign.model import Dump, Module
from testbed.foreign.program_files import Places
from testbed.foreign.read import read_snapshot

__all__ = ["Dump", "Module", "Places", "read_snapshot"]
