"""Which thread runs, and until when: by turns, chosen by the run's seed, so that the same seed gives the same run."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import suppress

from testbed.process.calls_threads import wake
from testbed.process.shared_writes import share_writes
from testbed.process.signals import RESTART, deliverable, is_ignored, name_of, send_of_timer
from testbed.process.state import Kernel, Process, ProcessEnds, RunIsOver, SignalAction
from testbed.process.system_calls import perform
from testbed.process.threads import GuestThread, MustWait, Refusal, SignalTimer, Wait

SLICE = 20_000  # steps that a thread runs at most while others could
LEAST = 1000  # steps that it runs at least, however soon a timer goes off
SWITCH_AFTER_CALL = 8  # one in so many system calls lets another thread run


def finish_call(process: Process) -> None:
    """Do the running thread's call, and give it the result; or let it wait."""
    thread = process.current
    share_writes(process)
    try:
        result = perform(process)
    except MustWait as must:
        thread.wait = must.wait
        return
    share_writes(process)
    if thread.status is None:
        process.recorder[process.abi.result] = result


def choose(kernel: Kernel) -> None:
    """Make the thread that runs next the current one, and its process; its wait is over then.

    Raises RunIsOver where nobody can run any more.
    """
    _go_off(kernel)
    while True:
        able = [turn for turn in _living(kernel) if _is_able(*turn)]
        if not able:
            _pass_time(kernel)
            continue
        process, thread = _chosen(kernel, able)
        if process is not kernel.current and kernel.current.ends is None:
            share_writes(kernel.current)
        kernel.turn = kernel.asked = process
        if thread is not process.current:
            switch(process, thread)
        if thread.wait is None or _end_wait(process, thread):
            break
    others = len(kernel.processes) > 1 or len(list(_living(kernel))) > 1
    process.recorder.slice = _slice(kernel, others)


def _slice(kernel: Kernel, others: bool) -> int | None:
    """How many steps the chosen thread makes at most: till it is another one's turn, or till a timer goes off."""
    lefts = [timer.left for each, timer in _timers(kernel) if timer.sleeps or each is kernel.current]
    return min([max(left, LEAST) for left in lefts if left is not None] + [SLICE] * others, default=None)


def _living(kernel: Kernel) -> Iterator[tuple[Process, GuestThread]]:
    """All threads that are not over, with their processes, but for those that are stopped."""
    running = (each for each in kernel.living if not each.stopped)
    return ((each, thread) for each in running for thread in each.threads if thread.status is None)


def _chosen(kernel: Kernel, able: list[tuple[Process, GuestThread]]) -> tuple[Process, GuestThread]:
    current = (kernel.current, kernel.current.current)
    if current in able:
        if len(able) == 1:
            return current
        if not kernel.turn_is_over and kernel.switching.randrange(SWITCH_AFTER_CALL):
            return current
    kernel.turn_is_over = False
    others = [turn for turn in able if turn != current]
    return others[kernel.switching.randrange(len(others))]


def switch(process: Process, thread: GuestThread) -> None:
    """Another thread runs from here on."""
    recorder, before = process.recorder, process.current
    before.ran(process.piece_start, recorder.total)
    if before.status is None:
        before.context = recorder.uc.context_save()
    process.piece_start = recorder.total
    assert thread.context is not None
    recorder.uc.context_restore(thread.context)
    thread.context = None
    process.current = thread


def _is_able(process: Process, thread: GuestThread) -> bool:
    wait, process.kernel.asked = thread.wait, process
    if wait is None or wait.ready() or deliverable(process, thread) is not None:
        return True
    return wait.deadline is not None and wait.deadline <= process.now


def _end_wait(process: Process, thread: GuestThread) -> bool:
    """What a wait that is over means for the running thread; false where it waits on."""
    wait = thread.wait
    assert wait is not None and thread.call is not None
    thread.wait = None
    timed_out = wait.deadline is not None and wait.deadline <= process.now
    ready = wait.ready()
    if ready and wait.then is None:
        finish_call(process)  # what kept it from being done is gone
        return thread.wait is None
    if not ready and not timed_out:
        _interrupt(process, thread, wait)
        return True
    try:
        result = wait.then(timed_out and not ready) if wait.then else -errno.EINTR
    except Refusal as refusal:
        result = -refusal.number
    process.recorder[process.abi.result] = result
    return True


def _interrupt(process: Process, thread: GuestThread, wait: Wait) -> None:
    """A signal ends the wait: the call fails, or is made once more when the handler is done."""
    assert thread.call is not None
    if wait.then is not None:
        with suppress(Refusal):
            wait.then(False)
    number = deliverable(process, thread)
    action = process.actions.get(number or 0, SignalAction())
    if wait.restart and action.flags & RESTART:
        _, _, result, pc = thread.call
        process.recorder[process.abi.result] = result
        process.recorder[process.arch.pc] = pc
    else:
        process.recorder[process.abi.result] = -errno.EINTR


def _pass_time(kernel: Kernel) -> None:
    """Nobody can run before a time comes: it comes now."""
    waits = [thread.wait for _, thread in _living(kernel) if thread.wait is not None]
    times = [at for wait in waits for at in (wait.deadline, wait.ready_at()) if at is not None]
    timers = (timer for each, timer in _timers(kernel) if timer.sleeps and not is_ignored(each, timer.signal or 0))
    times += [kernel.now + timer.left for timer in timers if timer.left is not None]
    if not times:
        stopped = {f"SIGCONT after {name_of(each.stopped)}" for each in kernel.living if each.stopped}
        what = ", ".join(sorted({wait.what for wait in waits} | stopped))
        raise RunIsOver(f"every thread waits, and nothing can wake one: {what}")
    kernel.slept += max(0, min(times) - kernel.now)
    _go_off(kernel)


def _timers(kernel: Kernel) -> Iterator[tuple[Process, SignalTimer]]:
    """Those that send a signal, which is not on its way, with their processes."""
    for process in kernel.living:
        if process.timers:
            coming = {each.timer for thread in process.threads for each in thread.pending}
            send = (timer for timer in process.timers.values() if timer.signal is not None and timer not in coming)
            yield from ((process, timer) for timer in send)


def _go_off(kernel: Kernel) -> None:
    """The signals of all timers whose time has come are on their way; those that nobody gets are told by that."""
    for process, timer in list(_timers(kernel)):
        if timer.times and not send_of_timer(process, timer):
            timer.take()


def end_thread(process: Process) -> None:
    """The running thread has ended. Raises ProcessEnds with the last one."""
    thread = process.current
    thread.ran(process.piece_start, process.recorder.total)
    process.piece_start = process.recorder.total
    if thread.clear_on_exit and not thread.vfork_child:
        try:
            process.memory.write(thread.clear_on_exit, bytes(4))
            wake(process, thread.clear_on_exit, 1)
        except Refusal:
            process.notes.append(f"thread {thread.number} has no word to clear at {thread.clear_on_exit:#x}")
    if all(each.status is not None for each in process.threads):
        raise ProcessEnds(thread.status)
