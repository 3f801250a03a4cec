"""A process that works for a server: asked one thing at a time, ended and made anew where it is too slow or dies.

It is warm (everything is imported before the first question), so that an answer takes as long as the work alone.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

from testbed.words.errors import TestbedError

Work = Callable[[Any], dict[str, Any]]
_STARTING = 120.0  # seconds until a new process has imported everything, on a slow machine


class WorkProcess:
    """``work`` (a function of a module, made by ``make``) in a process of its own; safe for threads."""

    def __init__(self, make: Callable[[], Work], *, seconds: float) -> None:
        self._make, self._seconds = make, seconds
        self._one_at_a_time = Lock()
        self._process: multiprocessing.process.BaseProcess | None = None
        self._questions: Connection | None = None
        self._fresh = False  # started, and not yet known to be ready

    def start(self) -> None:
        """Start the process, if it is not running, without waiting for it."""
        if self._process is not None and self._process.is_alive():
            return
        context = multiprocessing.get_context("spawn")
        self._questions, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._make), daemon=True)
        self._process.start()
        theirs.close()
        self._fresh = True

    def ask(self, question: Any) -> dict[str, Any]:
        """The answer of ``work``. Raises TestbedError where it took too long, or the process died of it."""
        with self._one_at_a_time:
            self.start()
            assert self._questions is not None
            if self._fresh and not self._questions.poll(_STARTING):
                raise TestbedError(self._ended("it did not start"))
            try:
                if self._fresh:
                    self._questions.recv()
                    self._fresh = False
                self._questions.send(question)
                if not self._questions.poll(self._seconds):
                    raise TestbedError(self._ended(f"it took more than {self._seconds:g} seconds, and was ended"))
                answer: dict[str, Any] = self._questions.recv()
            except (EOFError, OSError) as error:
                raise TestbedError(self._ended("the process that builds and judges died of it")) from error
            return answer

    def stop(self) -> None:
        """End the process."""
        self._ended("")

    def _ended(self, why: str) -> str:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._questions is not None:
            self._questions.close()
        self._process = self._questions = None
        return why


def _serve(questions: Connection, make: Callable[[], Work]) -> None:
    """The process: answer until nobody asks any more."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server's terminal: the server ends us
    work = make()
    questions.send("ready")
    while True:
        try:
            question = questions.recv()
        except (EOFError, OSError):
            return
        try:
            answer = work(question)
        except TestbedError as error:
            answer = {"error": str(error)}
        except Exception as error:  # a defect of ours: the editor says so, and goes on
            answer = {"error": f"{type(error).__name__}: {error}"}
        questions.send(answer)
