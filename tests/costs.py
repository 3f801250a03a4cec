"""The tests that take long, by what they took when it was measured: a plain `pytest` leaves them to `pytest --long`.

``long.txt`` has a line for every test function whose cases (of a sample) took more than ``QUICK`` seconds of processor
time together: the seconds, and the function's name as pytest says it. ``pytest --long --update-costs`` writes it anew
from its own run, a plain ``pytest --update-costs`` what of it ran: what a fixture takes counts for the test that asks
first, so a second run finds who is first without the others. A new test is quick until it is measured.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LIST = Path(__file__).parent / "long.txt"
QUICK = 0.3  # seconds of processor time


def function_of(nodeid: str) -> str:
    """A test's name without that of its case."""
    return nodeid.partition("[")[0]


def long_ones() -> dict[str, float]:
    """The test functions that take long, and what they took."""
    lines = (line.split(maxsplit=1) for line in LIST.read_text(encoding="utf-8").splitlines())
    return {name: float(seconds) for seconds, name in lines}


def taken(reports: Iterable[Any]) -> Counter[str]:
    """Seconds of processor time of each test function, by the reports on setting up, calling and tearing down."""
    costs: Counter[str] = Counter()
    for report in reports:
        costs[function_of(report.nodeid)] += sum(value for key, value in report.user_properties if key == "cpu")
    return costs


def write(costs: Counter[str]) -> None:
    """Write down who takes long; of those that did not run, what was known."""
    known = {name: seconds for name, seconds in long_ones().items() if name not in costs}
    found = sorted((known | {name: seconds for name, seconds in costs.items() if seconds > QUICK}).items())
    LIST.write_text("".join(f"{seconds:7.1f}  {name}\n" for name, seconds in found), encoding="utf-8")
