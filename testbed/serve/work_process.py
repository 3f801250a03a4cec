"""A process that works for a server: asked one thing at a time, ended and made anew where it is too slow or dies.

It is warm (everything is imported before the first question), so that an answer takes as long as the work alone.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from threading import Lock
from typing import Any

from testbed.words.child import Child, packed, started, unpacked
from testbed.words.errors import TestbedError, ToolCrashed, ToolHung

Work = Callable[[Any], dict[str, Any]]
_STARTING = 120.0  # seconds until a new process has imported everything, on a slow machine
_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from testbed.serve.work_process import serve; serve()"


class WorkProcess:
    """``work`` (a function of a module, made by ``make``) in a process of its own; safe for threads."""

    def __init__(self, make: Callable[[], Work], *, seconds: float) -> None:
        self._make, self._seconds = make, seconds
        self._one_at_a_time = Lock()
        self._child: Child | None = None
        self._fresh = False  # started, and not yet known to be ready

    def start(self) -> None:
        """Start the process, if it is not running, without waiting for it."""
        if self._child is None or self._child.ended(0) is not None:
            self.stop()
            self._child, self._fresh = started([sys.executable, "-c", _PROGRAM, *sys.path]), True
            self._child.send(packed(self._make), time.monotonic() + _STARTING)

    def ask(self, question: Any) -> dict[str, Any]:
        """The answer of ``work``. Raises TestbedError where it took too long, or the process died of it."""
        with self._one_at_a_time:
            self.start()
            assert self._child is not None
            slow = "it did not start"
            try:
                if self._fresh:
                    self._child.line(time.monotonic() + _STARTING)
                    self._fresh = False
                slow = f"it took more than {self._seconds:g} seconds, and was ended"
                until = time.monotonic() + self._seconds
                self._child.send(packed(question), until)
                answer: dict[str, Any] = unpacked(self._child.line(until))
            except ToolHung as error:
                self.stop()
                raise TestbedError(slow) from error
            except ToolCrashed as error:
                self.stop()
                raise TestbedError("the process that builds and judges died of it") from error
            return answer

    def stop(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.close()
        self._child = None


def serve() -> None:
    """The process: make the work, and answer until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends us
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the work prints is no answer
    work = unpacked(requests.readline())()
    answers.write(packed("ready"))
    answers.flush()
    for question in requests:
        try:
            answer = work(unpacked(question))
        except TestbedError as error:
            answer = {"error": str(error)}
        except Exception as error:  # a defect of ours: the editor says so, and goes on
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(packed(answer))
        answers.flush()
