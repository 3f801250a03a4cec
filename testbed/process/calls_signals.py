"""System calls about signals."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from testbed.process.calls_identity import timespec
from testbed.process.open_files import POLL_IN, OpenFile
from testbed.process.signal_frames import SIGINFO_SIZE
from testbed.process.signals import (
    BY_TIMER,
    MOST_SIGNALS,
    alternate_bytes,
    bit,
    is_pending,
    return_from_handler,
    send,
    send_to_process,
    sent_info,
    set_alternate,
    take_pending,
)
from testbed.process.state import SIGKILL, SIGSTOP, Kernel, KernelCall, Process, SignalAction
from testbed.process.threads import GuestThread, MustWait, Refusal, Wait

_BLOCK, _UNBLOCK, _SET = 0, 1, 2
_BY_USER, _BY_TKILL = 0, -6
_TOLD_SIZE, _STATUS = 128, 40  # struct signalfd_siginfo: its size, where ssi_status lies


def _number(number: int) -> int:
    if not 1 <= number <= MOST_SIGNALS:
        raise Refusal(errno.EINVAL)
    return number


def rt_sigaction(process: Process, a: tuple[int, ...]) -> None:
    """``struct sigaction`` of the kernel: handler, flags, restorer, a mask of 8 bytes."""
    number, word = _number(a[0]), process.arch.word
    old = process.actions.get(number, SignalAction())
    new = None
    if a[1]:
        if number in (SIGKILL, SIGSTOP):
            raise Refusal(errno.EINVAL)
        handler, flags, restorer = process.words(a[1], 3)
        new = SignalAction(handler, flags & 0xFFFF_FFFF, restorer, process.memory.word(a[1] + 3 * word, 8))
    fields = process.pack(old.handler, old.flags, old.restorer) + process.pack(old.mask, size=8)
    process.memory.tell(a[2], fields)
    if new is not None:
        process.actions[number] = new


def rt_sigprocmask(process: Process, a: tuple[int, ...]) -> None:
    """``rt_sigprocmask(how, set, old, size)``: 0, the thread's mask changed, and the old one at ``old``."""
    thread, old = process.current, process.current.mask
    if a[1]:
        given = process.memory.word(a[1], 8) & ~(bit(SIGKILL) | bit(SIGSTOP))
        if a[0] not in (_BLOCK, _UNBLOCK, _SET):
            raise Refusal(errno.EINVAL)
        thread.mask = {_BLOCK: old | given, _UNBLOCK: old & ~given, _SET: given}[a[0]]
    process.memory.tell(a[2], process.pack(old, size=8))


def rt_sigpending(process: Process, a: tuple[int, ...]) -> None:
    """``rt_sigpending(set, size)``: 0, and the signals that wait for this thread."""
    process.memory.write(a[0], process.pack(sum({bit(each.number) for each in process.current.pending}), size=8))


def sigaltstack(process: Process, a: tuple[int, ...]) -> None:
    """``sigaltstack(new, old)``: 0, the thread's alternate stack set, and the old one at ``old``."""
    old = alternate_bytes(process, process.recorder[process.arch.sp])
    if a[0]:
        set_alternate(process, a[0])
    process.memory.tell(a[1], old)


def _waits_for_signal(process: Process) -> int:
    """Until a handler has run; the result is EINTR then."""
    raise MustWait(Wait(lambda: False, what="a signal"))


def rt_sigsuspend(process: Process, a: tuple[int, ...]) -> int:
    """``rt_sigsuspend(mask, size)``: EINTR after a handler has run; the old mask is back then."""
    thread = process.current
    mask = process.memory.word(a[0], 8) & ~(bit(SIGKILL) | bit(SIGSTOP))
    thread.saved_mask, thread.mask = thread.mask, mask
    return _waits_for_signal(process)


def _send_to(process: Process, thread: GuestThread | None, number: int, code: int) -> None:
    if thread is None:
        raise Refusal(errno.ESRCH)
    if number:
        send(process, thread, _number(number), sent_info(process.arch, process.number, number, code))


def kill(process: Process, a: tuple[int, ...]) -> None:
    """To a process of this run, a group of them, or all others: nobody else is there."""
    target, number, kernel = process.signed(a[0]), a[1], process.kernel
    if target > 0:
        found = [each for each in kernel.processes if each.number == target and each.wait_status is None]
        found = found or [each for each in kernel.processes if each.number == target and not each.waited_for]
    elif target == -1:
        found = [each for each in kernel.living if each is not process]
    else:
        group = -target or kernel.group_of(process.number)
        found = [each for each in kernel.living if kernel.group_of(each.number) == group]
    if not found:
        raise Refusal(errno.ESRCH)
    for each in found if number else ():
        info = sent_info(process.arch, process.number, _number(number), _BY_USER)
        send_to_process(each, number, info)


def tkill(process: Process, a: tuple[int, ...]) -> None:
    """``tkill(thread, signal)``: 0, or ESRCH."""
    _send_to(process, process.thread_numbered(process.signed(a[0])), a[1], _BY_TKILL)


def tgkill(process: Process, a: tuple[int, ...]) -> None:
    """``tgkill(process, thread, signal)``: 0, or ESRCH, also for another process."""
    thread = process.thread_numbered(process.signed(a[1])) if process.signed(a[0]) == process.number else None
    _send_to(process, thread, a[2], _BY_TKILL)


def rt_sigqueueinfo(process: Process, a: tuple[int, ...]) -> None:
    """``rt_sigqueueinfo(process, signal, info)``: 0, the signal sent; EPERM to send others what a kernel does."""
    number, info = a[1], process.memory.read(a[2], SIGINFO_SIZE)
    target = next((each for each in process.kernel.living if each.number == process.signed(a[0])), None)
    if target is None:
        raise Refusal(errno.ESRCH)
    if struct.unpack_from("<i", info, 8)[0] >= 0 and target is not process:
        raise Refusal(errno.EPERM)
    if number:
        send_to_process(target, number, process.pack(_number(number), size=4) + info[4:])


def rt_sigtimedwait(process: Process, a: tuple[int, ...], time_size: int = 0) -> int:
    """``rt_sigtimedwait(set, info, time, size)``: a signal of the set, which is not delivered then; EAGAIN in time."""
    mask = process.memory.word(a[0], 8) & ~(bit(SIGKILL) | bit(SIGSTOP))
    deadline = process.now + timespec(process, a[2], time_size) if a[2] else None

    def over(timed_out: bool) -> int:
        found = take_pending(process, mask)
        if found is None:
            raise Refusal(errno.EAGAIN if timed_out else errno.EINTR)
        process.memory.tell(a[1], found[1])
        return found[0]

    if is_pending(process, mask) or deadline == process.now:
        return over(timed_out=True)
    raise MustWait(Wait(lambda: is_pending(process, mask), over, deadline, what="a signal"))


@dataclass(eq=False)
class SignalFile(OpenFile):
    """``signalfd``: the signals of a set that have come to whoever reads, and that are not delivered then."""

    kernel: Kernel = field(kw_only=True)
    mask: int = field(kw_only=True)

    def read(self, size: int) -> bytes:
        told = b""
        while len(told) + _TOLD_SIZE <= size and (found := take_pending(self.kernel.asker, self.mask)):
            number, info = found
            at = 16 if self.kernel.asker.arch.word == 8 else 12
            error, code = struct.unpack_from("<ii", info, 4)
            first, second, status = struct.unpack_from("<iIi", info, at)
            each = struct.pack("<IiiII", number, error, code, first, second)
            if code == BY_TIMER:
                each = struct.pack("<IiiIIiIII", number, error, code, 0, 0, 0, first, 0, second)
            value = info[at + 8 : at + 16] if at == 16 else info[at + 8 : at + 12] + bytes(4)
            told += (each.ljust(_STATUS, b"\0") + struct.pack("<i", status) + value[:4] + value).ljust(
                _TOLD_SIZE, b"\0"
            )
        if not told:
            raise Refusal(errno.EINVAL)
        return told

    def polled(self) -> int:
        return POLL_IN * is_pending(self.kernel.asker, self.mask)

    @property
    def changes(self) -> int:
        return self.kernel.sent


def signalfd4(process: Process, a: tuple[int, ...]) -> int:
    """``signalfd4(fd, mask, size, flags)``: the number of a new file for -1; else the set of that one is changed."""
    number, mask = process.signed(a[0]), process.memory.word(a[1], 8) & ~(bit(SIGKILL) | bit(SIGSTOP))
    if a[2] != 8:
        raise Refusal(errno.EINVAL)
    if number != -1:
        process.descriptors.of(SignalFile, number, errno.EINVAL).mask = mask
        return number
    made = SignalFile(os.O_RDWR | a[3] & os.O_NONBLOCK, kernel=process.kernel, mask=mask)
    return process.descriptors.add(made, close_on_exec=bool(a[3] & os.O_CLOEXEC))


CALLS: Mapping[str, KernelCall] = {
    "rt_sigaction": rt_sigaction,
    "rt_sigprocmask": rt_sigprocmask,
    "rt_sigpending": rt_sigpending,
    "rt_sigsuspend": rt_sigsuspend,
    "rt_sigreturn": lambda process, a: return_from_handler(process, with_info=True),
    "sigreturn": lambda process, a: return_from_handler(process, with_info=False),
    "sigaltstack": sigaltstack,
    "pause": lambda process, a: _waits_for_signal(process),
    "kill": kill,
    "tkill": tkill,
    "tgkill": tgkill,
    "rt_sigqueueinfo": rt_sigqueueinfo,
    "rt_sigtimedwait": rt_sigtimedwait,
    "rt_sigtimedwait_time64": partial(rt_sigtimedwait, time_size=8),
    "signalfd": lambda process, a: signalfd4(process, (*a[:3], 0)),
    "signalfd4": signalfd4,
}
