"""Threads for a run in pieces: one records ahead, one watches, one judges.

What takes long is compiled code and the emulator, and both leave Python to other threads meanwhile. Pieces are not
copied: every thread works on the same columns, and of those a few more are held (`testbed.trace.trace`). One thread
judges, and not several: unwinders share the readers of a file, which are not made for two at once.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Ahead = TypeVar("Ahead")

WAITING = 1  # pieces that are judged, or wait for it, while the next one is watched
_TURN = 0.0005  # seconds that a thread has Python to itself: less than a piece takes


class SideBySide:
    """Work on one piece after the other, done by a thread while the caller goes on to the next piece.

    With one job there are no threads: the work is done at once.
    """

    def __init__(self, jobs: int) -> None:
        self._thread = ThreadPoolExecutor(1, "judging") if jobs > 1 else None
        self._open: deque[list[Future[None]]] = deque()

    def ahead(self, items: Iterator[Ahead]) -> Iterator[Ahead]:
        """The same items, each made by a thread of its own while the one before is in use; what it raises is raised."""
        if self._thread is None:
            yield from items
            return
        with ThreadPoolExecutor(1, "ahead") as thread:
            coming: Future[Ahead | None] = thread.submit(next, items, None)
            try:
                while (item := coming.result()) is not None:
                    coming = thread.submit(next, items, None)
                    yield item
            finally:
                coming.cancel()

    def do(self, works: Sequence[Callable[[], None]]) -> None:
        """Begin the works on one piece; those on the pieces before are done then, but for WAITING."""
        if self._thread is None:
            for work in works:
                work()
            return
        self.wait(WAITING)
        self._open.append([self._thread.submit(work) for work in works])

    def wait(self, left: int = 0) -> None:
        """Until the works on all pieces but the last ``left`` are done; what one raised is raised."""
        while len(self._open) > left:
            for future in self._open.popleft():
                future.result()

    def end(self) -> None:
        """Give up what has not begun, and wait for the rest."""
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)


@contextmanager
def side_by_side(jobs: int) -> Iterator[SideBySide]:
    """Threads that work beside this one, where there are two jobs; they hand Python over often meanwhile."""
    turn, beside = sys.getswitchinterval(), SideBySide(jobs)
    sys.setswitchinterval(turn if jobs == 1 else _TURN)
    try:
        yield beside
    finally:
        beside.end()
        sys.setswitchinterval(turn)
