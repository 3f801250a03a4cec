"""Snapshots as files that others read: ELF core, Mach-O core, minidump, JSON. The readers are in `testbed.foreign`."""
