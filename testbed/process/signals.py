"""Signals of a process: sent, delivered as Linux does, and come back from.

A delivery is a row of size 0 with the registers that were interrupted; what the kernel writes belongs to it, and the
handler's first instruction is the next step.
"""

from __future__ import annotations

import errno
import struct

from testbed.arch import Arch
from testbed.image import describe
from testbed.process.address_space import WRITE
from testbed.process.calls_memory import name_code
from testbed.process.signal_frames import FRAME_PARTS, SIGINFO_SIZE, frame_bytes, load_floating
from testbed.process.state import (
    SIGCHLD,
    SIGCONT,
    SIGKILL,
    SIGNALS,
    SIGSEGV,
    SIGSTOP,
    SIGTSTP,
    SIGTTIN,
    SIGTTOU,
    Process,
    ProcessEnds,
    SignalAction,
)
from testbed.process.threads import GuestThread, Pending, Refusal, SignalTimer

WITH_INFO, ON_STACK, RESTART, NO_DEFER, RESET, RESTORER = 4, 0x0800_0000, 0x1000_0000, 0x4000_0000, 1 << 31, 0x0400_0000
DISABLED, ON_ALTERNATE = 2, 1
IGNORED_BY_DEFAULT = (SIGCHLD, SIGCONT, 23, 28)  # SIGURG, SIGWINCH
STOPPING = (SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU)
STOPPED, CONTINUED = 0x7F, 0xFFFF  # wait statuses: the low byte of one that stopped, with its signal above; goes on
_STOPS_UNTOLD = 1  # SA_NOCLDSTOP
LEAST_ALTERNATE = 2048
FIRST_QUEUED, MOST_SIGNALS = 32, 64  # the kernel's SIGRTMIN and SIGRTMAX
MOST_PENDING = 1024  # signals that have come to a thread
BY_TIMER, _BY_KERNEL, _MOST_OVERRUN = -2, 0x80, (1 << 31) - 1  # SI_TIMER, SI_KERNEL


def bit(number: int) -> int:
    """The bit of a signal in a mask: bit 0 is signal 1."""
    return 1 << number - 1


def sent_info(arch: Arch, sender: int, number: int, code: int, status: int = 0) -> bytes:
    """The siginfo of a signal that a process sent, or that a child's end is told by: who, with what status."""
    return _info(arch, number, code, struct.pack("<iii", sender, 1000, status))


def fault_info(process: Process, number: int, code: int, address: int) -> bytes:
    """The siginfo of a fault: at which address."""
    return _info(process.arch, number, code, process.pack(address))


def _info(arch: Arch, number: int, code: int, told: bytes) -> bytes:
    """``siginfo_t``: what a signal of this code tells besides lies where a pointer could."""
    head = struct.pack("<iii", number, 0, code).ljust(16 if arch.word == 8 else 12, b"\0")
    return (head + told).ljust(SIGINFO_SIZE, b"\0")


def send(process: Process, thread: GuestThread, number: int, info: bytes, timer: SignalTimer | None = None) -> bool:
    """A signal is on its way to a thread. One that is ignored never comes; one that is there already comes once.

    Real-time signals come as often as they were sent, and so do those of timers. Raises Refusal (EAGAIN).
    """
    process.kernel.sent += 1
    _undo(process, number)
    if _stops(process, number) and not thread.mask & bit(number):
        _stop(process, number)
        return False
    if is_ignored(process, number) and not thread.mask & bit(number):
        return False
    if number < FIRST_QUEUED and timer is None and any(each.number == number for each in thread.pending):
        return False
    if len(thread.pending) >= MOST_PENDING:
        raise Refusal(errno.EAGAIN)
    thread.pending.append(Pending(number, info, timer))
    return True


def _undo(process: Process, number: int) -> None:
    """SIGCONT takes back the signals that stop, and each of those takes back SIGCONT; who is to go on, or die, runs."""
    against = STOPPING if number == SIGCONT else (SIGCONT,) * (number in STOPPING)
    for thread in process.threads if against else ():
        thread.pending = [each for each in thread.pending if each.number not in against]
    if process.stopped and number in (SIGCONT, SIGKILL):
        process.stopped = 0
        if number == SIGCONT:
            tell_parent(process, CONTINUED)


def _stops(process: Process, number: int) -> bool:
    return number in STOPPING and process.actions.get(number, SignalAction()).handler == 0


def _stop(process: Process, number: int) -> None:
    """All threads wait until SIGCONT comes; but of a group that nobody watches only SIGSTOP stops a process."""
    if not process.stopped and (
        number == SIGSTOP or not process.kernel.is_orphaned(process.kernel.group_of(process.number))
    ):
        process.stopped = number
        tell_parent(process, number << 8 | STOPPED)


def cause(status: int) -> tuple[int, int]:
    """``si_code`` and ``si_status`` of SIGCHLD for a wait status: CLD_EXITED, _KILLED, _STOPPED, _CONTINUED."""
    if status == CONTINUED:
        return 6, SIGCONT
    if status & 0x7F:
        return (5, status >> 8) if status & 0xFF == STOPPED else (2, status & 0x7F)
    return 1, status >> 8


def tell_parent(process: Process, status: int) -> None:
    """SIGCHLD for the parent, with the wait status of a process that ended, stopped or goes on."""
    parent, goes = process.parent, status & STOPPED == STOPPED
    process.change = status * goes
    if parent is None or parent.ends is not None:
        return
    if not (goes and parent.actions.get(SIGCHLD, SignalAction()).flags & _STOPS_UNTOLD):
        send_to_process(parent, SIGCHLD, sent_info(process.arch, process.number, SIGCHLD, *cause(status)))


def _taken(process: Process, thread: GuestThread, number: int) -> bytes:
    """The siginfo of the first such signal of a thread, which does not have it any more."""
    taken = next(each for each in thread.pending if each.number == number)
    thread.pending.remove(taken)
    timer = taken.timer
    if timer is None:
        return taken.info
    timer.overrun = min(max(0, timer.take() - 1), _MOST_OVERRUN)
    if timer.number is None:
        return _info(process.arch, number, _BY_KERNEL, b"")
    told = process.pack(timer.number, timer.overrun, size=4) + process.pack(timer.value)
    return _info(process.arch, number, BY_TIMER, told)


def take_pending(process: Process, mask: int) -> tuple[int, bytes] | None:
    """A signal of a set that has come and was not delivered, with its siginfo; nobody gets it any more."""
    for thread in (process.current, *process.threads):
        numbers = [each.number for each in thread.pending if mask & bit(each.number)]
        if numbers:
            return min(numbers), _taken(process, thread, min(numbers))
    return None


def is_pending(process: Process, mask: int) -> bool:
    """Whether `take_pending` would find one."""
    return any(mask & bit(each.number) for thread in process.threads for each in thread.pending)


def _taker(process: Process, number: int) -> GuestThread:
    """Who gets a signal that a process is sent: a thread that does not block it, if there is one."""
    living = [thread for thread in (process.current, *process.threads) if thread.status is None]
    takers = [thread for thread in living if not thread.mask & bit(number)]
    return (*takers, *living, process.current)[0]


def send_to_process(process: Process, number: int, info: bytes) -> None:
    """A signal is on its way to a process."""
    send(process, _taker(process, number), number, info)


def send_of_timer(process: Process, timer: SignalTimer) -> bool:
    """A timer has gone off: whether its signal is on its way now."""
    number = timer.signal or 0
    thread = process.thread_numbered(timer.thread) if timer.thread else _taker(process, number)
    try:
        return thread is not None and thread.status is None and send(process, thread, number, b"", timer)
    except Refusal:
        return False


def force(process: Process, number: int, info: bytes, why: str) -> None:
    """A signal that the running instruction itself caused: where it cannot be handled, the process ends."""
    if not can_handle(process, number):
        name_code(process)
        recorder = process.recorder
        pc = recorder.last_pc() if recorder.steps else recorder[process.arch.pc]
        where = describe(tuple(process.images), pc)
        raise ProcessEnds(None, f"{name_of(number)}: {why} at {where}", signal=number)
    process.current.pending.insert(0, Pending(number, info))


def can_handle(process: Process, number: int) -> bool:
    """True where a handler takes a signal that the running instruction itself causes."""
    return process.actions.get(number, SignalAction()).handler not in (0, 1) and not process.current.mask & bit(number)


def name_of(number: int) -> str:
    """A signal's name, such as ``SIGSEGV``, or its number in words."""
    return SIGNALS.get(number, f"signal {number}")


def is_ignored(process: Process, number: int) -> bool:
    """True where a signal that comes to the process is nothing to it."""
    action = process.actions.get(number, SignalAction())
    return action.handler == 1 or (action.handler == 0 and number in IGNORED_BY_DEFAULT)


def deliverable(process: Process, thread: GuestThread) -> int | None:
    """The signal that comes next to a thread, if one may."""
    numbers = (each.number for each in thread.pending)
    return min((n for n in numbers if not thread.mask & bit(n) or n in (SIGKILL, SIGSTOP)), default=None)


def deliver(process: Process) -> bool:
    """Deliver one signal to the running thread, if there is one. Raises ProcessEnds where it ends the process."""
    thread = process.current
    number = deliverable(process, thread)
    if number is None:
        return False
    info = _taken(process, thread, number)
    if _stops(process, number):
        _stop(process, number)
        return True
    if is_ignored(process, number):
        return True
    action = process.actions.get(number, SignalAction())
    if action.handler == 0:
        raise ProcessEnds(None, f"{name_of(number)} was sent, and nothing handles it", signal=number)
    if action.flags & RESET:
        process.actions[number] = SignalAction()
    _enter(process, thread, number, action, info)
    thread.mask |= action.mask | (0 if action.flags & NO_DEFER else bit(number))
    thread.saved_mask = None
    return True


def _enter(process: Process, thread: GuestThread, number: int, action: SignalAction, info: bytes) -> None:
    """Write the frame, and set the registers that a handler starts with."""
    arch, recorder, memory = process.arch, process.recorder, process.memory
    layout, parts = arch.signal_frame, FRAME_PARTS[arch.name]
    values = recorder.registers()
    recorder.add_signal(values)
    mask = thread.mask if thread.saved_mask is None else thread.saved_mask
    kernel = {
        "stack": alternate_bytes(process, values[arch.sp]),
        "mask": process.pack(mask, size=8),
        "old_mask": process.pack(mask),
        "fault": process.pack(_fault_address(process, info)),
        "trap": process.pack(14 if number == SIGSEGV else 0),
        "error": process.pack(4 if number == SIGSEGV else 0),
    }
    frame, extended = frame_bytes(arch, recorder, values, info, kernel)
    cut = SIGINFO_SIZE if parts.plain_call is not None and not action.flags & WITH_INFO else 0
    if cut:
        frame[layout.context : layout.context + 4] = parts.plain_flags.to_bytes(4, "little")
    top = values[arch.sp] - layout.red_zone
    start, size, flags = thread.alternate
    if action.flags & ON_STACK and not flags & DISABLED and not _is_on(thread, values[arch.sp]):
        top = start + size
    if layout.extended is not None:
        top = (top - layout.extended.size) & -layout.extended.alignment
        frame[layout.extended.pointer : layout.extended.pointer + arch.word] = process.pack(top)
    at = ((top - layout.size + cut) & -layout.alignment) - layout.skew
    changed = {
        arch.pc: arch.code_address(action.handler),
        arch.sp: at,
        arch.flags: _handler_flags(process, values[arch.flags] & ~parts.cleared, action.handler),
        layout.arguments[0]: number,
    }
    if action.flags & WITH_INFO or not parts.sparse:
        changed[layout.arguments[1]], changed[layout.arguments[2]] = at + layout.number, at + layout.context
    if parts.result is not None:
        changed[parts.result] = 0
    restorer = action.restorer if action.flags & RESTORER else process.abi.restorers[bool(cut)]
    if arch.link is None:
        frame[: arch.word] = process.pack(restorer)
    else:
        changed[arch.link] = restorer
    if layout.record is not None and arch.link is not None:
        pointer = arch.isas[0].records[0].pointer
        record = process.pack(values[pointer], values[arch.link])
        frame[layout.record : layout.record + len(record)] = record
        changed[pointer] = at + layout.record
    try:
        memory.check(at, len(frame) - cut, WRITE)
        memory.write(top, bytes(extended))
        memory.write(at, bytes(frame[cut:]))
    except Refusal:
        why = f"{name_of(number)} was sent, and there is no room on the stack for its frame"
        raise ProcessEnds(None, why, signal=SIGSEGV) from None
    for name, value in changed.items():
        recorder[name] = value


def _handler_flags(process: Process, flags: int, handler: int) -> int:
    if process.arch.isa_flag is None:
        return flags
    return flags & ~(1 << process.arch.isa_flag) | (handler & 1) << process.arch.isa_flag


def _fault_address(process: Process, info: bytes) -> int:
    """Where a fault was; 0 for a signal that is none, whose code is not above zero."""
    if struct.unpack_from("<i", info, 8)[0] <= 0:
        return 0
    at = 16 if process.arch.word == 8 else 12
    return int.from_bytes(info[at : at + process.arch.word], "little")


def _is_on(thread: GuestThread, sp: int) -> bool:
    start, size, flags = thread.alternate
    return not flags & DISABLED and start < sp <= start + size


def alternate_bytes(process: Process, sp: int) -> bytes:
    """``stack_t``: the alternate stack, as it is for a thread with this SP."""
    start, size, flags = process.current.alternate
    flags |= ON_ALTERNATE if _is_on(process.current, sp) else 0
    return process.pack(start) + process.pack(flags) + process.pack(size)


def return_from_handler(process: Process, *, with_info: bool) -> int:
    """``rt_sigreturn``, or ``sigreturn``: all registers from the frame, whoever changed them there; its result, too.

    Raises ProcessEnds where there is no frame.
    """
    arch, recorder, memory = process.arch, process.recorder, process.memory
    layout, parts = arch.signal_frame, FRAME_PARTS[arch.name]
    cut = 0 if with_info else SIGINFO_SIZE
    at = recorder[arch.sp] - arch.entry_cfa - cut
    try:
        frame = bytes(cut) + memory.read(at + cut, layout.size - cut)
        area = frame
        if layout.extended is not None:
            pointer = int.from_bytes(frame[layout.extended.pointer :][: arch.word], "little")
            area = memory.read(pointer, layout.extended.size) if pointer else b""
    except Refusal:
        raise ProcessEnds(None, "SIGSEGV: sigreturn finds no frame at SP", signal=SIGSEGV) from None
    if area:
        load_floating(arch, recorder, area)
    for name, offset in layout.registers.items():
        recorder[name] = int.from_bytes(frame[offset : offset + arch.by_name[name].bits // 8], "little")
    process.current.mask = int.from_bytes(frame[parts.mask : parts.mask + 8], "little") & ~(bit(SIGKILL) | bit(SIGSTOP))
    word = arch.word
    start, flags, size = (
        int.from_bytes(frame[parts.stack + word * i : parts.stack + word * (i + 1)], "little") for i in range(3)
    )
    process.current.alternate = (start, size, flags & 0xFFFF_FFFF & ~ON_ALTERNATE)
    process.resumed.append((process.current, recorder.total))
    return recorder[process.abi.result]


def set_alternate(process: Process, address: int) -> None:
    """``sigaltstack``'s first argument. Raises Refusal (EPERM, ENOMEM, EINVAL)."""
    start, flags, size = process.words(address, 3)
    flags &= 0xFFFF_FFFF & ~(1 << 31)  # SS_AUTODISARM is not told from its absence
    if _is_on(process.current, process.recorder[process.arch.sp]):
        raise Refusal(errno.EPERM)
    if flags not in (0, ON_ALTERNATE, DISABLED):
        raise Refusal(errno.EINVAL)
    if flags == DISABLED:
        start = size = 0
    elif size < LEAST_ALTERNATE:
        raise Refusal(errno.ENOMEM)
    process.current.alternate = (start, size, flags & DISABLED)
