"""An interrupt (Ctrl-C, ``KeyboardInterrupt``) where it would be lost: in finalizers, callbacks and compiled functions.

Python raises it wherever the main thread happens to be. No exception leaves a finalizer or the callback of a library:
Python prints it as ignored, and the work that somebody wanted to end goes on to its end. A compiled function that was
being entered makes a ``SystemError`` of it.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time

_SOON = 0.05  # seconds: the finalizer or the callback is over then; if not, it is heard once more


def hear_ignored_interrupts() -> None:
    """From now on an interrupt that had to be ignored is raised again, a moment later."""
    before = sys.unraisablehook

    def told(ignored: sys.UnraisableHookArgs) -> None:
        if ignored.exc_value is None or not is_interrupt(ignored.exc_value):
            before(ignored)
        elif not sys.is_finalizing():
            _thread.start_new_thread(_again, ())  # takes no lock: nobody knows what is held here

    sys.unraisablehook = told


def _again() -> None:
    time.sleep(_SOON)
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGINT)


def is_interrupt(error: BaseException) -> bool:
    """True for an interrupt, and for an error that says that it was caused by one."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause is not None
