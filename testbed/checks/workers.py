"""Processes that work for a command, and end with the process that started them, however that ends.

Where the machine has no semaphores (no /dev/shm, or one that cannot be written), each call has a process of its own,
which answers through a pipe.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from queue import SimpleQueue
from types import FrameType
from typing import Any

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def worker_pool(jobs: int, begin: Callable[[], None] | None = None) -> Executor:
    """A pool of ``jobs`` processes (one at least); a job may be given to any of them.

    ``begin`` is called in each of them first. With it they are forked: what it refers to is inherited, never sent.
    """
    jobs = max(1, jobs)
    try:
        # All semaphores of a pool are made here; no process is started yet.
        context = None if begin is None else get_context("fork")
        return ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(os.getpid(), begin))
    except (OSError, ImportError, NotImplementedError):
        return _ProcessPerCall(jobs, begin)


def as_finished(futures: Iterable[Future[Any]]) -> Iterator[Future[Any]]:
    """Futures as they end; those that are made while they are asked for are handed in without an interrupt between.

    `concurrent.futures.wait` holds the lock of every future at once. An interrupt there leaves locks behind, and the
    pool waits for them for ever; here the one who waits holds none.
    """
    ended: SimpleQueue[Future[Any]] = SimpleQueue()
    with interrupts_held():
        asked = list(futures)
        for future in asked:
            future.add_done_callback(ended.put)
    for _ in asked:
        yield ended.get()


@contextmanager
def interrupts_held() -> Iterator[None]:
    """An interrupt comes at the end of this instead: it is for what takes locks that nobody would give back."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread hears interrupts
        yield
        return
    heard: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        heard.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if heard:
            signal.raise_signal(signal.SIGINT)


class _ProcessPerCall(ThreadPoolExecutor):
    """Calls as of a pool of processes, without semaphores: each forks a process, and a thread waits for its answer."""

    def __init__(self, jobs: int, begin: Callable[[], None] | None) -> None:
        super().__init__(jobs)
        self._first = begin

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(self._answer_of, fn, args, kwargs)

    def _answer_of(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What the function returns or raises. Raises BrokenExecutor where its process dies over it."""
        context = get_context("fork")
        ours, theirs = context.Pipe(duplex=False)
        what = (theirs, os.getpid(), self._first, fn, args, kwargs)
        process = context.Process(target=_answer, args=what)
        process.start()
        theirs.close()
        try:
            with ours:
                returned, answer = ours.recv()
        except (EOFError, OSError) as error:
            raise BrokenExecutor("the process died") from error
        finally:
            process.kill()
            process.join()
        if returned:
            return answer
        raise answer


def _answer(to: Connection, parent: int, begin: Callable[[], None] | None, fn: Any, args: Any, kwargs: Any) -> None:
    """The process of one call."""
    _begin(parent, begin)
    try:
        to.send((True, fn(*args, **kwargs)))
    except Exception as error:  # whatever the call raised: who asked for it gets it
        to.send((False, error))


def _begin(parent: int, begin: Callable[[], None] | None) -> None:
    _end_with(parent)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # held while it was forked
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if begin is not None:
        begin()


def _end_with(parent: int) -> None:
    """Ask the kernel to end this process when its parent is gone, be it killed: nobody would read what it finds."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it went before it could be asked
        os._exit(1)
