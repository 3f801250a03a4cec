"""The name that package indexes know this project by: ``testbed`` is another one there. The command is `testbed`."""

from __future__ import annotations

from importlib.metadata import version

DISTRIBUTION = "unwind-testbed"


def own_version() -> str:
    """The version of what is installed."""
    return version(DISTRIBUTION)
