"""Options of the test suite, and what a missing compiler means to it: a skip that names the package."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from testbed.native import machine_code
from testbed.words.errors import ToolchainMissing

# How long an example takes says something about the machine, and nothing about the code.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/golden/ from this run instead of comparing with it"
    )
    parser.addoption(
        "--every-site", action="store_true", help="compare the native walk with the readable one on the whole corpus"
    )


def pytest_configure() -> None:
    """Tests that start with an empty cache do not compile everything once more."""
    os.environ.setdefault(machine_code.VARIABLE, str(machine_code.folder()))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The golden counts of the programs may have been written by several processes; their sum is written last, once."""
    if session.config.getoption("--update-golden") and not hasattr(session.config, "workerinput"):
        from tests.golden import REFEREES, STRATEGIES, write_summary

        write_summary(STRATEGIES)
        write_summary(REFEREES)
    # pytest collects garbage five times before it leaves, which takes minutes where gigabytes of runs were kept.
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    yield from _skipping()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    yield from _skipping()


def _skipping() -> Generator[None, None, None]:
    try:
        yield
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
