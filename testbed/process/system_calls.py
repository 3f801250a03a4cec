"""System calls by name, and what becomes of one: done, refused by Linux's rules, refused as not for such a process.

A call that is in none of the tables here ends the process: its answer would be a guess.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from types import MappingProxyType

from testbed.process import (
    calls_files,
    calls_identity,
    calls_memory,
    calls_paths,
    calls_signals,
    calls_stat,
    calls_threads,
)
from testbed.process.call_numbers import CALL_NAMES
from testbed.process.file_tree import refused_by_host
from testbed.process.refusal import Refusal
from testbed.process.state import Process, ProcessEnds, RefusedCall

CALLS: MappingProxyType[str, Callable[[Process, tuple[int, ...]], int | None]] = MappingProxyType(
    {
        **calls_memory.CALLS,
        **calls_files.CALLS,
        **calls_paths.CALLS,
        **calls_stat.CALLS,
        **calls_identity.CALLS,
        **calls_signals.CALLS,
        **calls_threads.CALLS,
    }
)

# What C libraries try first and do without, as on older kernels. Nothing is lost by it.
ABSENT = frozenset({"rseq", "clone3", "statx", "faccessat2", "close_range", "epoll_create1", "landlock_create_ruleset"})

# What this kernel does not let a process do: other programs, other processes, the network, the machine.
_FORBIDDEN = {
    errno.ENOSYS: """
        fork execve execveat ptrace process_vm_readv process_vm_writev io_uring_setup userfaultfd memfd_create
        pidfd_open seccomp name_to_handle_at open_by_handle_at shmget shmat semget msgget mq_open inotify_init1 eventfd2
        timer_create timerfd_create signalfd4 rt_sigqueueinfo rt_sigtimedwait select _newselect pselect6 ppoll
        epoll_wait
        setrlimit statfs fstatfs statfs64 fstatfs64 flock sendfile sendfile64 copy_file_range splice getdents
        capget capset mincore personality syslog get_mempolicy pidfd_send_signal""",
    errno.EACCES: "socket socketpair connect bind listen accept accept4",
    errno.EBADF: "sendto recvfrom sendmsg recvmsg shutdown sendmmsg recvmmsg",
    errno.ENOTSOCK: "getpeername getsockname getsockopt setsockopt",
    errno.EOPNOTSUPP: "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr",
    errno.EPERM: """
        mount umount2 pivot_root chroot swapon swapoff reboot sethostname setdomainname settimeofday clock_settime
        adjtimex init_module finit_module delete_module kexec_load bpf perf_event_open iopl ioperm unshare setns keyctl
        add_key acct quotactl symlink symlinkat link linkat mknod mknodat chmod fchmod fchmodat chown fchown lchown
        fchownat chown32 fchown32 lchown32 utimensat utime utimes futimesat setreuid setregid setresuid
        setresgid setgroups setresuid32 setresgid32 setgroups32 setsid""",
}
FORBIDDEN = MappingProxyType({name: number for number, names in _FORBIDDEN.items() for name in names.split()})
MOST_REFUSED = 1000  # refused calls that are kept; all are counted


def begin_call(process: Process) -> None:
    """The running thread has just made a call: who asks for what is noted, before anything of it is done."""
    abi, recorder = process.abi, process.recorder
    number = recorder[abi.number]
    name = CALL_NAMES[process.arch.name].get(number, "")
    arguments = tuple(recorder[register] for register in abi.arguments)
    process.calls[name or f"number {number}"] += 1
    process.current.call = (name, arguments, recorder[abi.result], recorder.last_pc())
    for register, source in abi.returns:
        recorder[register] = recorder[source]


def perform(process: Process) -> int | None:
    """The result of the call that the running thread makes; None: it has none, and registers are as they shall be.

    Raises MustWait where it cannot be done yet, ProcessEnds where the process ends by it.
    """
    call = process.current.call
    assert call is not None
    name, arguments, _, pc = call
    try:
        if name in CALLS and name not in ABSENT:
            with refused_by_host():
                return CALLS[name](process, arguments)
        if name and name not in ABSENT and name not in FORBIDDEN:
            raise ProcessEnds(None, f"system call {name} is not emulated")
        raise Refusal(FORBIDDEN.get(name, errno.ENOSYS))
    except Refusal as refusal:
        if name in FORBIDDEN or name in ("clone", "kill", "tkill", "tgkill"):
            note_refused(process, name, refusal, pc)
        return -refusal.number


def note_refused(process: Process, name: str, refusal: Refusal, pc: int) -> None:
    if len(process.refused) < MOST_REFUSED:
        process.refused.append(RefusedCall(name, str(refusal), process.recorder.total - 1, pc))
