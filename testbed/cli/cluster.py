"""The processes of a Dask cluster as an executor: whose process dies, its job is done again on another one.

Dask hands a job out anew when its process is lost; a job over which several processes died is given back as one that
breaks its pool, and is then done here. Jobs are told in words and files that any process can follow: its processes need
the same testbed, and see the same folders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from testbed.words.errors import TestbedError, UsageError

_SECONDS = 10  # that a scheduler has to answer
_GONE = "the Dask scheduler is gone: what was done until then is kept, the same command goes on there"


class _ClusterExecutor(Executor):
    """Jobs go to a Dask client, results come back as `concurrent.futures` has them."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        killed = import_module("distributed.scheduler").KilledWorker
        ours: Future[Any] = Future()
        ours.set_running_or_notify_cancel()
        theirs = self._client.submit(fn, *args, pure=False, **kwargs)

        def over(done: Any) -> None:
            error = done.exception() if not done.cancelled() else TestbedError(_GONE)
            if error is None:
                ours.set_result(done.result())
            elif isinstance(error, killed):
                ours.set_exception(BrokenExecutor(str(error)))
            else:
                ours.set_exception(error)

        theirs.add_done_callback(over)
        return ours


@contextmanager
def cluster_executor(address: str) -> Iterator[Executor]:
    """The cluster whose scheduler is at an address, ``tcp://host:port``.

    Raises UsageError where the extra is not installed, TestbedError where no scheduler answers.
    """
    try:
        distributed = import_module("distributed")  # untyped, and only there with the extra
    except ImportError as error:
        raise UsageError("--cluster needs Dask: pip install 'unwind-testbed[cluster]'") from error
    try:
        client = distributed.Client(address, timeout=_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise TestbedError(f"no Dask scheduler answers at {address}: {error or 'it took too long'}") from error
    try:
        yield _ClusterExecutor(client)
    finally:
        client.close()
