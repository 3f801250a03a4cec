"""System calls about threads: what clone does that shares memory, futex, vfork."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from functools import partial

from unicorn.unicorn_py3.unicorn import UcContext

from testbed.process.calls_identity import timespec
from testbed.process.calls_memory import done
from testbed.process.state import MOST_THREADS, KernelCall, Process
from testbed.process.threads import FutexWaiter, GuestThread, MustWait, Refusal, Wait

VM, VFORK, THREAD, SET_TLS, PARENT_TID, CLEAR_TID, CHILD_TID = (
    0x100,
    0x4000,
    0x10000,
    1 << 19,
    1 << 20,
    1 << 21,
    1 << 24,
)
_WAIT, _WAKE, _REQUEUE, _COMPARE_REQUEUE, _WAKE_OPERATION, _WAIT_BITS, _WAKE_BITS = 0, 1, 3, 4, 5, 9, 10
_PRIVATE, _REALTIME = 128, 256


def futex(process: Process, a: tuple[int, ...], time_size: int = 0) -> int:
    """``futex(address, operation, value, ...)``: 0 once a wait has ended, or how many threads were woken."""
    address, operation, value, timeout, other, bits = a[:6]
    operation &= 0xFFFF_FFFF
    command = operation & ~(_PRIVATE | _REALTIME)
    if address % 4:
        raise Refusal(errno.EINVAL)
    if command in (_WAIT, _WAIT_BITS):
        if process.memory.word(address, 4) != value & 0xFFFF_FFFF:
            raise Refusal(errno.EAGAIN)
        deadline = None
        if timeout:
            deadline = timespec(process, timeout, time_size)
            if command == _WAIT:
                deadline += process.now
            elif not operation & _REALTIME:
                deadline += process.now - process.monotonic
        _wait(process, address, bits if command == _WAIT_BITS else -1, deadline)
    if command in (_WAKE, _WAKE_BITS):
        return wake(process, address, process.signed(value), bits if command == _WAKE_BITS else -1)
    if command in (_REQUEUE, _COMPARE_REQUEUE):
        if command == _COMPARE_REQUEUE and process.memory.word(address, 4) != bits & 0xFFFF_FFFF:
            raise Refusal(errno.EAGAIN)
        woken = wake(process, address, process.signed(value))
        waiting, place = process.kernel.waiting, process.memory.place_of(address)
        queue = waiting.get(place, [])
        moved, waiting[place] = queue[: process.signed(timeout)], queue[process.signed(timeout) :]
        waiting.setdefault(process.memory.place_of(other), []).extend(moved)
        return woken + len(moved) * (command == _COMPARE_REQUEUE)
    if command == _WAKE_OPERATION:
        return _wake_operation(process, a)
    raise Refusal(errno.ENOSYS)


def _wait(process: Process, address: int, bits: int, deadline: int | None) -> None:
    waiter, waiting = FutexWaiter(process, bits), process.kernel.waiting
    waiting.setdefault(process.memory.place_of(address), []).append(waiter)

    def woken(timed_out: bool) -> int:
        no_longer(process, waiter)
        if not waiter.woken:
            raise Refusal(errno.ETIMEDOUT if timed_out else errno.EINTR)
        return 0

    raise MustWait(Wait(lambda: waiter.woken, woken, deadline, restart=deadline is None, what=f"futex {address:#x}"))


def no_longer(process: Process, waiter: FutexWaiter | None = None) -> None:
    """One waits no longer, or all of a process that is over."""
    waiting = process.kernel.waiting
    for place, queue in list(waiting.items()):
        left = [each for each in queue if each is not waiter and (waiter is not None or each.process is not process)]
        if left:
            waiting[place] = left
        else:
            del waiting[place]


def wake(process: Process, address: int, most: int, bits: int = -1) -> int:
    """Wake threads that wait at an address, those that waited longest first; how many."""
    queue, woken = process.kernel.waiting.get(process.memory.place_of(address), []), 0
    for waiter in list(queue):
        if woken < most and waiter.bits & bits:
            waiter.woken = True
            queue.remove(waiter)
            woken += 1
    return woken


def _wake_operation(process: Process, a: tuple[int, ...]) -> int:
    """FUTEX_WAKE_OP: change the second word, wake at the first, and at the second if its old value compares so."""
    address, _, most, most_other, other, what = a[:6]
    old = process.memory.word(other, 4)
    operation, comparison = what >> 28 & 15, what >> 24 & 15
    argument, compared = process.signed(what >> 12, 12), process.signed(what, 12)
    if operation & 8:
        argument = 1 << (argument & 31)
    new = {0: argument, 1: old + argument, 2: old | argument, 3: old & ~argument, 4: old ^ argument}.get(operation & 7)
    value = process.signed(old)
    tests = (value == compared, value != compared, value < compared, value <= compared)
    more = (*tests, value > compared, value >= compared)
    if new is None or comparison >= len(more):
        raise Refusal(errno.ENOSYS)
    process.memory.write(other, process.pack(new, size=4))
    woken = wake(process, address, process.signed(most))
    return woken + (wake(process, other, process.signed(most_other)) if more[comparison] else 0)


def set_tid_address(process: Process, a: tuple[int, ...]) -> int:
    """``set_tid_address(address)``: the thread's number; the word at the address becomes 0 when it ends."""
    process.current.clear_on_exit = a[0]
    return process.current.number


def new_thread(process: Process, a: tuple[int, ...]) -> int:
    """``clone`` with CLONE_VM: a thread, or a vforked child."""
    flags, stack, parent_tid = a[:3]
    tls, child_tid = (a[3], a[4]) if process.abi.tls_first else (a[4], a[3])
    number = process.kernel.next_number()
    if sum(thread.status is None for thread in process.threads) >= MOST_THREADS:
        raise Refusal(errno.EAGAIN)
    if flags & PARENT_TID:
        process.memory.write(parent_tid, process.pack(number, size=4))
    if flags & CHILD_TID:
        process.memory.write(child_tid, process.pack(number, size=4))
    child = GuestThread(number, first=process.recorder.total, mask=process.current.mask)
    child.clear_on_exit = child_tid if flags & CLEAR_TID else 0
    child.context = child_context(process, stack, tls if flags & SET_TLS else None)
    process.threads.append(child)
    if flags & VFORK:
        _be_vforked(process, child, own_stack=stack not in (0, process.recorder[process.arch.sp]))
    return number


def child_context(process: Process, stack: int, tls: int | None) -> UcContext:
    """The caller's processor state with what is the child's own: result 0, its stack, its TLS."""
    recorder, arch, abi = process.recorder, process.arch, process.abi
    uc, own = recorder.uc, recorder.uc.context_save()
    recorder[abi.result] = 0
    if stack:
        recorder[arch.sp] = stack
    if tls is not None:
        uc.reg_write(abi.thread_pointer, tls)
    context = uc.context_save()
    uc.context_restore(own)
    return context


def _be_vforked(process: Process, child: GuestThread, *, own_stack: bool) -> None:
    """The parent waits until its child, which has its memory, exits. What the child opens and closes is its own."""
    parent = process.current
    child.vfork_child = True
    if not own_stack:
        child.after = (*parent.pieces, (process.piece_start, process.recorder.total))
    descriptors, actions = process.descriptors, dict(process.actions)
    process.descriptors = descriptors.copy()

    def child_is_gone(_: bool) -> int:
        process.descriptors.close_all()
        process.descriptors, process.actions = descriptors, actions
        return child.number

    raise MustWait(Wait(lambda: child.status is not None, child_is_gone, what="vfork"))


def exit_(process: Process, a: tuple[int, ...]) -> None:
    """The running thread ends; what is done about that is the scheduler's."""
    process.current.status = a[0] & 0xFF


CALLS: Mapping[str, KernelCall] = {
    "futex": futex,
    "futex_time64": partial(futex, time_size=8),
    "set_tid_address": set_tid_address,
    "set_robust_list": done,
    "sched_yield": done,
    "exit": exit_,
}
