"""System calls that say who a process is and on what it runs, and what time it is. All of it is made up."""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable, Mapping
from functools import partial

from testbed.process.address_space import PAGE
from testbed.process.calls_memory import done
from testbed.process.open_files import MOST_AT_ONCE, MOST_DESCRIPTORS, OPEN_LIMIT
from testbed.process.starting import GROUP, STACK_SIZE, USER
from testbed.process.state import KernelCall, Process, ProcessEnds
from testbed.process.threads import MustWait, Refusal, Wait

SECOND = 10**9
REAL, REAL_CLOCKS = 0, (0, 5, 8, 11)  # CLOCK_REALTIME, _COARSE, _ALARM, CLOCK_TAI
MONOTONIC_CLOCKS = (1, 4, 6, 7, 9)  # CLOCK_MONOTONIC, _RAW, _COARSE, CLOCK_BOOTTIME, _ALARM
PROCESS_TIME, _THREAD_TIME = 2, 3  # CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID
_UNLIMITED = (1 << 64) - 1
_STACK_LIMIT, _LIMITS = 3, 16  # RLIMIT_STACK, how many there are
_SET_NAME, _GET_NAME = 15, 16
_SET_FS, _GET_FS = 0x1002, 0x1003
ABSOLUTE = 1  # TIMER_ABSTIME
_FAIR, _AS_IT_LIES = (0, 3, 5), 0x0004_0000  # SCHED_OTHER, _BATCH, _IDLE; ADDR_NO_RANDOMIZE


def pid(process: Process, a: tuple[int, ...]) -> int:
    """``getpid()``: the process's number; that of a child of ``vfork`` in its own thread."""
    return process.current.number if process.current.vfork_child else process.number


def getppid(process: Process, a: tuple[int, ...]) -> int:
    """Of the first process, and of one whose parent is over: who started the run."""
    if process.current.vfork_child:
        return process.number
    return process.parent.number if process.parent else process.kernel.processes[0].number - 1


def getpgid(process: Process, a: tuple[int, ...]) -> int:
    """``getpgid(pid)``: the number of that process's group; of the caller's own for 0."""
    return process.kernel.group_of(process.signed(a[0]) or pid(process, a))


def setpgid(process: Process, a: tuple[int, ...]) -> None:
    """``setpgid(pid, group)``: 0; ESRCH for what is neither the caller nor its child, EINVAL below zero."""
    own = pid(process, a)
    target = process.signed(a[0]) or own
    group = process.signed(a[1]) or target
    is_child = any(each.number == target and each.parent is process for each in process.kernel.living)
    if target != own and not is_child:
        raise Refusal(errno.ESRCH)
    if group < 0:
        raise Refusal(errno.EINVAL)
    process.kernel.groups[target] = group


def setsid(process: Process, a: tuple[int, ...]) -> int:
    """``setsid()``: the caller's number, which is its group's from now on; EPERM for the head of a group."""
    own = pid(process, a)
    if process.kernel.group_of(own) == own:
        raise Refusal(errno.EPERM)
    process.kernel.groups[own] = process.kernel.sessions[own] = own
    return own


def _stays(wanted: tuple[int, ...], own: int) -> None:
    """Its own number, or -1 for "as it is", is all that it may ask for."""
    if any(each & 0xFFFF_FFFF not in (own, 0xFFFF_FFFF) for each in wanted):
        raise Refusal(errno.EPERM)


def three_users(process: Process, a: tuple[int, ...]) -> None:
    """``getresuid`` and ``getresgid``: 0, and the one user, or group, at all three addresses."""
    for address in a[:3]:
        process.memory.write(address, process.pack(USER, size=4))


def groups(process: Process, a: tuple[int, ...]) -> int:
    """``getgroups(size, list)``: 1, and the one group where there is room for it."""
    if a[0]:
        process.memory.write(a[1], process.pack(GROUP, size=4))
    return 1


def uname(process: Process, a: tuple[int, ...]) -> None:
    """``uname(buffer)``: 0, and six names of 65 bytes each."""
    names = ("Linux", "testbed", "6.1.0", "#1 testbed", process.abi.machine, "(none)")
    process.memory.write(a[0], b"".join(name.encode().ljust(65, b"\0") for name in names))


def random_bytes(process: Process, a: tuple[int, ...]) -> int:
    """``getrandom(buffer, size, flags)``: how many bytes were written; they follow from the seed."""
    return process.memory.write(a[0], process.random.randbytes(min(a[1], MOST_AT_ONCE)))


def limit(process: Process, resource: int, new: int, old: int, size: int = 0) -> None:
    """A limit and how far it may be raised, of ``size`` bytes each: told at ``old``, then set from ``new``.

    They are kept and told. Only that of descriptors is kept to.
    """
    if resource >= _LIMITS:
        raise Refusal(errno.EINVAL)
    size = size or process.arch.word
    most, known = (1 << 8 * size) - 1, process.descriptors.limits
    usual = {_STACK_LIMIT: STACK_SIZE, OPEN_LIMIT: MOST_DESCRIPTORS}.get(resource, _UNLIMITED)
    before = known.get(resource, (usual, usual))
    process.memory.tell(old, process.pack(*(min(each, most) for each in before), size=size))
    if new:
        wanted = [process.memory.word(new + i * size, size) for i in (0, 1)]
        soft, hard = (_UNLIMITED if each == most else each for each in wanted)
        if soft > hard:
            raise Refusal(errno.EINVAL)
        if hard > before[1]:
            raise Refusal(errno.EPERM)
        known[resource] = soft, hard


def prlimit(process: Process, a: tuple[int, ...]) -> None:
    """``prlimit64(pid, resource, new, old)``: 0; ESRCH for another process."""
    if a[0] not in (0, process.number):
        raise Refusal(errno.ESRCH)
    limit(process, a[1], a[2], a[3], 8)


def setpriority(process: Process, a: tuple[int, ...]) -> None:
    """``setpriority(which, who, nice)``: 0, whoever is meant; EACCES for less than it is."""
    wanted = max(-20, min(process.signed(a[2]), 19))
    if wanted < process.nice:
        raise Refusal(errno.EACCES)
    process.nice = wanted


def _only(allowed: bool, otherwise: int) -> None:
    """Nothing comes of it; what else could be asked for is refused."""
    if not allowed:
        raise Refusal(otherwise)


def getrusage(process: Process, a: tuple[int, ...]) -> None:
    """``getrusage(who, buffer)``: 0, and the time that was used: a nanosecond for an instruction."""
    word, taken = process.arch.word, process.kernel.used_by(process.number)
    times = process.pack(taken // SECOND, taken % SECOND // 1000, 0, 0)
    process.memory.write(a[1], times + bytes(14 * word))


def times(process: Process, a: tuple[int, ...]) -> int:
    """``times(buffer)``: the clock in ticks of 10 ms, and the time that was used at ``buffer``."""
    ticks = process.kernel.used_by(process.number) // (SECOND // 100)
    process.memory.tell(a[0], process.pack(ticks, 0, 0, 0))
    return (process.now // (SECOND // 100)) & 0x7FFF_FFFF


def clock(process: Process, given: int) -> Callable[[], int]:
    """What a clock says, in nanoseconds. Raises Refusal (EINVAL).

    Below zero, ``~number << 3 | kind``, it is the time that a process has used (kind 2), or a thread (6).
    """
    kernel, given = process.kernel, process.signed(given)
    if given in MONOTONIC_CLOCKS:
        return lambda: process.monotonic
    if given in REAL_CLOCKS:
        return lambda: kernel.now
    kind, number = (given & 7, ~(given >> 3)) if given < 0 else (given, 0)
    if kind == PROCESS_TIME:
        number = number or process.number
        if any(each.number == number for each in kernel.living):
            return lambda: kernel.used_by(number)
    elif kind == (_THREAD_TIME if given > 0 else 6):
        thread = process.thread_numbered(number) if number else process.current
        if thread is not None:
            return lambda: process.ran(thread)
    raise Refusal(errno.EINVAL)


def clock_gettime(process: Process, a: tuple[int, ...], size: int = 0) -> None:
    """``clock_gettime(clock, time)``: 0, and seconds and nanoseconds."""
    now = clock(process, a[0])()
    process.memory.write(a[1], process.pack(now // SECOND, now % SECOND, size=size))


def clock_getres(process: Process, a: tuple[int, ...], size: int = 0) -> None:
    """``clock_getres(clock, time)``: 0, and one nanosecond."""
    clock(process, a[0])
    process.memory.tell(a[1], process.pack(0, 1, size=size))


def gettimeofday(process: Process, a: tuple[int, ...]) -> None:
    """``gettimeofday(time, zone)``: 0, and seconds and microseconds. The zone is left alone."""
    process.memory.tell(a[0], process.pack(process.now // SECOND, process.now % SECOND // 1000))


def time(process: Process, a: tuple[int, ...]) -> int:
    """``time(address)``: the seconds, also at the address if there is one."""
    now = process.now // SECOND
    process.memory.tell(a[0], process.pack(now))
    return now


def timespec(process: Process, address: int, size: int = 0) -> int:
    """A ``timespec`` of the program, in nanoseconds; its words have ``size`` bytes. Raises Refusal (EINVAL).

    Of words wider than the program's own, the second one has four bytes that nobody sets.
    """
    size = size or process.arch.word
    data = process.memory.read(address, 2 * size)
    seconds, rest = (int.from_bytes(data[at : at + size], "little", signed=True) for at in (0, size))
    rest = process.signed(rest, 8 * process.arch.word)
    if seconds < 0 or not 0 <= rest < SECOND:
        raise Refusal(errno.EINVAL)
    return min(seconds, 1 << 40) * SECOND + rest


def _sleep(process: Process, nanoseconds: int, told: int = 0, size: int = 0) -> int:
    """Until the time is over; where a signal ends it, what is left is written to ``told``."""
    deadline = process.now + nanoseconds

    def over(timed_out: bool) -> int:
        left = max(0, deadline - process.now)
        if told and not timed_out:
            process.memory.write(told, process.pack(left // SECOND, left % SECOND, size=size))
        return 0

    raise MustWait(Wait(lambda: False, over, deadline, what="sleep"))


def nanosleep(process: Process, a: tuple[int, ...]) -> int:
    """``nanosleep(time, left)``: 0 once the time is over, or EINTR where a signal ended it."""
    return _sleep(process, timespec(process, a[0]), a[1])


def clock_nanosleep(process: Process, a: tuple[int, ...], size: int = 0) -> int:
    """``clock_nanosleep(clock, flags, time, left)``: as ``nanosleep``, or up to an absolute time."""
    wanted, now = timespec(process, a[2], size), clock(process, a[0])()
    if a[1] & ABSOLUTE:
        return _sleep(process, max(0, wanted - now))
    return _sleep(process, wanted, a[3], size)


def sysinfo(process: Process, a: tuple[int, ...]) -> None:
    """``sysinfo(buffer)``: 0, and a machine with 1 GiB of memory, half of it free."""
    word = process.arch.word
    total = 1 << 30
    fields = process.pack(process.monotonic // SECOND, 0, 0, 0, total, total // 2, 0, 0, 0, 0)
    fields += struct.pack("<HH", 1, 0) + bytes(word - 4) + process.pack(0, 0) + struct.pack("<I", 1)
    process.memory.write(a[0], fields.ljust(112 if word == 8 else 64, b"\0"))


def affinity(process: Process, a: tuple[int, ...]) -> int:
    """``sched_getaffinity(pid, size, mask)``: 8, and a mask of one processor; EINVAL for less room."""
    if a[1] < 8:
        raise Refusal(errno.EINVAL)
    process.memory.write(a[2], process.pack(1, size=8))
    return 8


def processor(process: Process, a: tuple[int, ...]) -> None:
    """``getcpu(cpu, node)``: 0, and the numbers 0 and 0; ``sched_getparam`` of the priority alone."""
    for address in a[:2]:
        process.memory.tell(address, bytes(4))


def prctl(process: Process, a: tuple[int, ...]) -> None:
    """``prctl(operation, ...)``: 0 for the name of a thread, EINVAL for all else."""
    if a[0] == _SET_NAME:
        process.memory.text(a[1], 256)
    elif a[0] == _GET_NAME:
        process.memory.write(a[1], process.path.rpartition("/")[2].encode()[:15].ljust(16, b"\0"))
    else:
        raise Refusal(errno.EINVAL)


def arch_prctl(process: Process, a: tuple[int, ...]) -> None:
    """``arch_prctl(operation, address)`` of x86_64: 0, the FS base set or read; EINVAL for all else."""
    register = process.abi.thread_pointer
    if a[0] == _SET_FS:
        process.recorder.uc.reg_write(register, a[1])
    elif a[0] == _GET_FS:
        process.memory.write(a[1], process.pack(process.recorder.uc.reg_read(register)))
    else:
        raise Refusal(errno.EINVAL)


def set_tls(process: Process, a: tuple[int, ...]) -> None:
    """``set_tls(address)`` of arm32: 0, the thread pointer set."""
    process.recorder.uc.reg_write(process.abi.thread_pointer, a[0])


def page_changed(process: Process, a: tuple[int, ...]) -> None:
    """``cacheflush``: code was written, [a0, a1)."""
    if a[1] < a[0] or a[1] - a[0] > 1 << 28:
        raise Refusal(errno.EINVAL)
    process.memory.changed_code.append((a[0] & -PAGE, a[1]))


def exit_group(process: Process, a: tuple[int, ...]) -> int:
    """``exit_group(status)``: it ends the process, and does not return."""
    raise ProcessEnds(a[0] & 0xFF)


CALLS: Mapping[str, KernelCall] = {
    "getpid": pid,
    "getpgrp": lambda process, a: getpgid(process, (0,)),
    "getpgid": getpgid,
    "setpgid": setpgid,
    "setsid": setsid,
    "getsid": lambda process, a: process.kernel.session_of(process.signed(a[0]) or pid(process, a)),
    "getppid": getppid,
    "gettid": lambda process, a: process.current.number,
    **dict.fromkeys(("getuid", "geteuid", "getuid32", "geteuid32"), lambda process, a: USER),
    **dict.fromkeys(("getgid", "getegid", "getgid32", "getegid32"), lambda process, a: GROUP),
    **dict.fromkeys(("setuid", "setuid32"), lambda process, a: _stays(a[:1], USER)),
    **dict.fromkeys(("setgid", "setgid32"), lambda process, a: _stays(a[:1], GROUP)),
    **dict.fromkeys(("setreuid", "setreuid32"), lambda process, a: _stays(a[:2], USER)),
    **dict.fromkeys(("setresuid", "setresuid32"), lambda process, a: _stays(a[:3], USER)),
    **dict.fromkeys(("setregid", "setregid32"), lambda process, a: _stays(a[:2], GROUP)),
    **dict.fromkeys(("setresgid", "setresgid32"), lambda process, a: _stays(a[:3], GROUP)),
    **dict.fromkeys(("getresuid", "getresgid", "getresuid32", "getresgid32"), three_users),
    **dict.fromkeys(("getgroups", "getgroups32"), groups),
    **dict.fromkeys(("sched_setaffinity", "membarrier", "sched_setparam", "ioprio_get", "ioprio_set"), done),
    **dict.fromkeys(("sync", "syncfs", "sync_file_range", "sync_file_range2", "sched_getscheduler"), done),
    "getpriority": lambda process, a: 20 - process.nice,
    "setpriority": setpriority,
    "sched_setscheduler": lambda process, a: _only(a[1] in _FAIR, errno.EPERM),
    "sched_getparam": lambda process, a: processor(process, (a[1],)),
    "sched_get_priority_max": lambda process, a: 0 if a[0] in _FAIR else 99,
    "sched_get_priority_min": lambda process, a: 0 if a[0] in _FAIR else 1,
    "personality": lambda process, a: _only(a[0] & 0xFFFF_FFFF in (0, 0xFFFF_FFFF, _AS_IT_LIES), errno.EINVAL),
    "uname": uname,
    "getrandom": random_bytes,
    **dict.fromkeys(("getrlimit", "ugetrlimit"), lambda process, a: limit(process, a[0], 0, a[1])),
    "setrlimit": lambda process, a: limit(process, a[0], a[1], 0),
    "prlimit64": prlimit,
    "getrusage": getrusage,
    "times": times,
    "clock_gettime": clock_gettime,
    "clock_gettime64": partial(clock_gettime, size=8),
    "clock_getres": clock_getres,
    "clock_getres_time64": partial(clock_getres, size=8),
    "gettimeofday": gettimeofday,
    "time": time,
    "nanosleep": nanosleep,
    "clock_nanosleep": clock_nanosleep,
    "clock_nanosleep_time64": partial(clock_nanosleep, size=8),
    "sysinfo": sysinfo,
    "sched_getaffinity": affinity,
    "getcpu": processor,
    "prctl": prctl,
    "arch_prctl": arch_prctl,
    "arm_set_tls": set_tls,
    "arm_cacheflush": page_changed,
    "exit_group": exit_group,
}
