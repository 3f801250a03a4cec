"""For pytest: one test for each cell of a matrix, with an id such as ``leaf_call-arm64-keystone-my_unwinder``.

::

    @pytest.mark.testbed_cells(MY_UNWINDER, programs="leaf_*", arch="arm64")
    def test_my_unwinder(testbed_cell):
        testbed_cell.check()

The marker's arguments are those of `testbed.cli.planned_cells.plan`. `docs/your-unwinder.md` has a whole example.
This module is loaded by every pytest where testbed is installed, so it imports what it needs where it needs it.
"""

from __future__ import annotations

import pytest

MARKER = "testbed_cells"
ARGUMENT = "testbed_cell"


def pytest_configure(config: pytest.Config) -> None:
    """The marker is a known one."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(*unwinders, command=None, programs='*', arch=None, recipe='*', folder=None, everything=False): "
        f"one test for each unit of testbed's matrix and unwinder, as the argument {ARGUMENT}",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per cell, the cells of one unit side by side: they share the run."""
    if ARGUMENT not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: {ARGUMENT} needs @pytest.mark.{MARKER}(YOUR_UNWINDER, programs=...)"
        )
    from testbed.cli.planned_cells import plan
    from testbed.words.errors import TestbedError

    try:
        cells = plan(*marker.args, **marker.kwargs)
    except (TestbedError, TypeError) as error:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: @pytest.mark.{MARKER}: {error}") from error
    metafunc.parametrize(ARGUMENT, cells, ids=str)
