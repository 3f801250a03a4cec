"""The name that package indexes know this project by: ``testbed`` is another one there. The command is `testbed`."""

from __future__ import annotations

DISTRIBUTION = "unwind-testbed"


def own_version() -> str:
    """The version of what is installed."""
    from importlib.metadata import version  # the command line does without it

    return version(DISTRIBUTION)
