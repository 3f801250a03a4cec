"""A process that works for the server is ended where it is too slow, and made anew where it dies."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from testbed.serve.work_process import WorkProcess
from testbed.words.errors import TestbedError, UsageError


def make() -> Callable[[Any], dict[str, Any]]:
    def work(asked: Any) -> dict[str, Any]:
        match asked:
            case "sleep":
                time.sleep(60)
            case "die":
                os._exit(3)
            case "refuse":
                raise UsageError("not that")
            case "fail":
                raise ZeroDivisionError("a defect")
        return {"pid": os.getpid(), "asked": asked}

    return work


@pytest.fixture(scope="module")
def process() -> Iterator[WorkProcess]:
    made = WorkProcess(make, seconds=5.0)
    yield made
    made.stop()


def test_it_answers_in_one_process_that_is_not_ours(process: WorkProcess) -> None:
    first, second = process.ask("a"), process.ask("b")
    assert first["pid"] == second["pid"] != os.getpid()
    assert second["asked"] == "b"


def test_errors_are_answers(process: WorkProcess) -> None:
    assert process.ask("refuse") == {"error": "not that"}
    assert process.ask("fail") == {"error": "ZeroDivisionError: a defect"}


@pytest.mark.parametrize(("asked", "told"), [("sleep", "took more than 5 seconds"), ("die", "died of it")])
def test_it_is_made_anew(process: WorkProcess, asked: str, told: str) -> None:
    before = process.ask("a")["pid"]
    with pytest.raises(TestbedError, match=told):
        process.ask(asked)
    assert process.ask("a")["pid"] != before
