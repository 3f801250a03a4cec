"""Options of the test suite, and what a missing compiler means to it: a skip that names the package."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from testbed.native import machine_code
from testbed.words.errors import ToolchainMissing
from tests import costs, kept_names, sampling

if TYPE_CHECKING:
    from tests.cli.command import Testbed

# How long an example takes says something about the machine, and nothing about the code.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# What one run finds another one finds too; pytest --hypothesis-profile "any machine" searches anew each time.
settings.register_profile("the same examples", parent=settings.get_profile("any machine"), derandomize=True)
settings.load_profile("the same examples")

_SEEN = {"cpu": 0.0}  # by this process, at the report before


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which this test keeps what is built, compiled and judged."""
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def testbed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Testbed:
    """The command line in this process, whatever the width that these tests are run in."""
    from tests.cli.command import in_this_process

    monkeypatch.delenv("COLUMNS", raising=False)
    return partial(in_this_process, monkeypatch, capsys)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/golden/ from this run instead of comparing with it"
    )
    parser.addoption("--long", action="store_true", help="run the tests that take long too, as .ci/run does")
    parser.addoption("--everything", action="store_true", help="run all cases of all tests: hours (for the night)")
    parser.addoption("--cpu", action="store_true", help="say how much CPU time each file of tests took")
    parser.addoption("--update-costs", action="store_true", help="write down in tests/long.txt which tests take long")


def pytest_configure(config: pytest.Config) -> None:
    """Tests that start with an empty cache do not compile everything once more."""
    for marker in sampling.MARKERS:
        config.addinivalue_line("markers", marker)
    os.environ.setdefault(machine_code.VARIABLE, str(machine_code.CODE.folder))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    sampling.tell(node)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file that is known to have no test of the names after ``-k`` is not read."""
    return True if kept_names.matching(config).get(collection_path) == 0 else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Few tests are run by this process: another one would be slower to start."""
    known = kept_names.matching(config)
    return 0 if known and sum(known.values()) <= kept_names.FEW else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if sampling.is_whole_tree(config) and not kept_names.matching(config):
        kept_names.keep(config, items)
    sampling.select(config, items)


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [*sampling.header(config), *kept_names.header(config)]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The golden counts of the programs may have been written by several processes; their sum is written last, once."""
    if session.config.getoption("--update-golden") and not hasattr(session.config, "workerinput"):
        from tests.golden import OURS, REFEREES, write_summary

        write_summary(OURS)
        write_summary(REFEREES)
    # pytest collects garbage five times before it leaves, which takes minutes where gigabytes of runs were kept.
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """If asked, a report carries the CPU time that its process, and those it waited for, took since the one before."""
    report = yield
    if item.config.getoption("--cpu") or item.config.getoption("--update-costs"):
        now = sum(os.times()[:4])
        report.user_properties.append(("cpu", now - _SEEN["cpu"]))
        _SEEN["cpu"] = now
    return report


def pytest_collection_finish() -> None:
    """What reading the tests took is nobody's."""
    _SEEN["cpu"] = sum(os.times()[:4])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--cpu") and not config.getoption("--update-costs"):
        return
    told = (each for kind in terminalreporter.stats.values() for each in kind)
    of_functions = costs.taken(each for each in told if isinstance(each, pytest.TestReport))
    if config.getoption("--update-costs"):
        costs.write(of_functions)
    of_files: Counter[str] = Counter()
    for name, seconds in of_functions.items():
        of_files[name.partition("::")[0]] += seconds
    terminalreporter.section(f"CPU time: {sum(of_files.values()):,.0f} s")
    for name, seconds in of_files.most_common(40):
        terminalreporter.write_line(f"{seconds:8,.1f} s  {name}")


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
