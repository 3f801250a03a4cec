"""A program that ended is told from one that hangs, also where what it forked keeps its streams open."""

from __future__ import annotations

import time

import pytest

from testbed.protocol.line_process import LineProcess
from testbed.words.errors import ToolCrashed, ToolHung


def test_who_ended_and_left_a_child_with_its_output_crashed() -> None:
    process = LineProcess(["sh", "-c", "sleep 60 & exit 3"])
    try:
        process.ended(60.0)
        with pytest.raises(ToolCrashed, match=r"^ended with exit status 3$"):
            process.line(time.monotonic() + 0.1)
    finally:
        process.close()


def test_who_left_the_answer_to_a_child_is_waited_for() -> None:
    process = LineProcess(["sh", "-c", "exec 3<&0; (read line <&3; echo $line) & exit 0"])
    try:
        process.ended(60.0)
        process.send(b"an answer\n", time.monotonic() + 60)
        assert process.line(time.monotonic() + 60) == b"an answer"
    finally:
        process.close()


def test_who_lives_and_says_nothing_hangs() -> None:
    process = LineProcess(["sleep", "60"])
    try:
        with pytest.raises(ToolHung, match="gave no answer"):
            process.line(time.monotonic() + 0.1)
    finally:
        process.close()
