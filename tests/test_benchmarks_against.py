"""Two checkouts side by side: what counts of a command is its own, and what was stopped is said to be more."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest

from benchmarks import against
from benchmarks.against import HERE, Checkout, Figure, compared, turn

SPIN = "import time\nwhile time.process_time() < {}: pass"


@pytest.fixture
def two(tmp_path: Path) -> tuple[Checkout, Checkout]:
    older, this = (Checkout(HERE, sys.executable, tmp_path / name) for name in ("before", "now"))
    return older, this


def test_processor_time_counts_and_not_the_wait(two: tuple[Checkout, Checkout], tmp_path: Path) -> None:
    waits = turn(Figure("waits", "", ("-c", "import time; time.sleep(2)")), two[0], tmp_path)
    works = turn(Figure("works", "", ("-c", SPIN.format(2))), two[0], tmp_path)
    assert waits.seconds < 1.9 < works.seconds


def test_what_is_printed_is_counted_in_bytes(two: tuple[Checkout, Checkout], tmp_path: Path) -> None:
    figure = Figure("prints", "", ("-c", "print('x' * 9999)"), of_bytes=True)
    title, before, now, ratio, *_ = compared(figure, *two, 1, tmp_path)
    assert (title, before, now, ratio) == ("prints", "10,000", "10,000", "1.00")


def test_what_was_stopped_took_more(
    two: tuple[Checkout, Checkout], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(against, "PATIENCE", 1)
    _, before, now, *_ = compared(Figure("spins", "", ("-c", SPIN.format(60)), once=True), *two, 1, tmp_path)
    assert str(before).startswith("> ") and str(now).startswith("> ")


def test_the_workload_has_the_length_that_was_asked_for(two: tuple[Checkout, Checkout], tmp_path: Path) -> None:
    """The file stands behind the command, and both checkouts read the same one."""
    figure = Figure("reads", "", ("-c", "import sys; print(open(sys.argv[1]).read())"), rounds_of_workload=7)
    for checkout in two:
        assert turn(figure, checkout, tmp_path).whole
        assert "#define SCALE 7\n" in (tmp_path / "printed").read_text()


def test_a_refused_command_is_no_figure(two: tuple[Checkout, Checkout], tmp_path: Path) -> None:
    refused = Figure("refused", "", ("-c", "import sys; print('raise the budget', file=sys.stderr); sys.exit(2)"))
    with pytest.raises(click.ClickException, match="raise the budget"):
        compared(refused, *two, 1, tmp_path)


def test_what_is_run_first_does_not_count(two: tuple[Checkout, Checkout], tmp_path: Path) -> None:
    figure = Figure("first", "", ("-c", "pass"), first=("-c", SPIN.format(3)))
    _, before, now, *_ = compared(figure, *two, 1, tmp_path)
    assert float(str(before)) < 2 and float(str(now)) < 2
