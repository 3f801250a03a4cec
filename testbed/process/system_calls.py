"""System calls by name, and what becomes of one: done, refused by Linux's rules, refused as not for such a process.

A call that is in none of the tables here ends the process: its answer would be a guess.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from testbed.arch import PerArch
from testbed.image import describe
from testbed.machine.unicorn_arches import UNICORN
from testbed.process.calls_memory import name_code
from testbed.process.file_tree import refused_by_host
from testbed.process.state import KernelCall, Process, ProcessEnds
from testbed.process.threads import Refusal, RefusedCall

# The names of system calls by number, per architecture.
#
# As text: names in the order of their numbers; a number stands before a name that does not follow the one before it.
# Source: Linux 6.1, arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h (arm64),
# arch/arm/tools/syscall.tbl and arch/arm/include/uapi/asm/unistd.h (arm32; ``arm_*`` are its private calls).


def _numbered(text: str) -> Mapping[int, str]:
    names: dict[int, str] = {}
    number = 0
    for word in text.split():
        if word.isdecimal():
            number = int(word)
        else:
            names[number] = word
            number += 1
    return MappingProxyType(names)


CALL_NAMES = PerArch(
    {
        "x86_64": _numbered("""
0 read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask
rt_sigreturn ioctl pread64 pwrite64 readv writev access pipe select sched_yield mremap msync mincore madvise shmget
shmat shmctl dup dup2 pause nanosleep getitimer alarm setitimer getpid sendfile socket connect accept sendto
recvfrom sendmsg recvmsg shutdown bind listen getsockname getpeername socketpair setsockopt getsockopt clone fork
vfork execve exit wait4 kill uname semget semop semctl shmdt msgget msgsnd msgrcv msgctl fcntl flock fsync fdatasync
truncate ftruncate getdents getcwd chdir fchdir rename mkdir rmdir creat link unlink symlink readlink chmod fchmod
chown fchown lchown umask gettimeofday getrlimit getrusage sysinfo times ptrace getuid syslog getgid setuid setgid
geteuid getegid setpgid getppid getpgrp setsid setreuid setregid getgroups setgroups setresuid getresuid setresgid
getresgid getpgid setfsuid setfsgid getsid capget capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend
sigaltstack utime mknod uselib personality ustat statfs fstatfs sysfs getpriority setpriority sched_setparam
sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max sched_get_priority_min
sched_rr_get_interval mlock munlock mlockall munlockall vhangup modify_ldt pivot_root _sysctl prctl arch_prctl
adjtimex setrlimit chroot sync acct settimeofday mount umount2 swapon swapoff reboot sethostname setdomainname iopl
ioperm create_module init_module delete_module get_kernel_syms query_module quotactl nfsservctl getpmsg putpmsg
afs_syscall tuxcall security gettid readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr
llistxattr flistxattr removexattr lremovexattr fremovexattr tkill time futex sched_setaffinity sched_getaffinity
set_thread_area io_setup io_destroy io_getevents io_submit io_cancel get_thread_area lookup_dcookie epoll_create
epoll_ctl_old epoll_wait_old remap_file_pages getdents64 set_tid_address restart_syscall semtimedop fadvise64
timer_create timer_settime timer_gettime timer_getoverrun timer_delete clock_settime clock_gettime clock_getres
clock_nanosleep exit_group epoll_wait epoll_ctl tgkill utimes vserver mbind set_mempolicy get_mempolicy mq_open
mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr kexec_load waitid add_key request_key keyctl
ioprio_set ioprio_get inotify_init inotify_add_watch inotify_rm_watch migrate_pages openat mkdirat mknodat fchownat
futimesat newfstatat unlinkat renameat linkat symlinkat readlinkat fchmodat faccessat pselect6 ppoll unshare
set_robust_list get_robust_list splice tee sync_file_range vmsplice move_pages utimensat epoll_pwait signalfd
timerfd_create eventfd fallocate timerfd_settime timerfd_gettime accept4 signalfd4 eventfd2 epoll_create1 dup3 pipe2
inotify_init1 preadv pwritev rt_tgsigqueueinfo perf_event_open recvmmsg fanotify_init fanotify_mark prlimit64
name_to_handle_at open_by_handle_at clock_adjtime syncfs sendmmsg setns getcpu process_vm_readv process_vm_writev
kcmp finit_module sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create kexec_file_load bpf execveat
userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free statx
io_pgetevents rseq 424 pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen
fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2
mount_setattr quotactl_fd landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret
process_mrelease futex_waitv set_mempolicy_home_node
"""),
        "arm64": _numbered("""
0 io_setup io_destroy io_submit io_cancel io_getevents setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr
listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr getcwd lookup_dcookie eventfd2 epoll_create1
epoll_ctl epoll_pwait dup dup3 fcntl inotify_init1 inotify_add_watch inotify_rm_watch ioctl ioprio_set ioprio_get
flock mknodat mkdirat unlinkat symlinkat linkat renameat umount2 mount pivot_root nfsservctl statfs fstatfs truncate
ftruncate fallocate faccessat chdir fchdir chroot fchmod fchmodat fchownat fchown openat close vhangup pipe2
quotactl getdents64 lseek read write readv writev pread64 pwrite64 preadv pwritev sendfile pselect6 ppoll signalfd4
vmsplice splice tee readlinkat newfstatat fstat sync fsync fdatasync sync_file_range timerfd_create timerfd_settime
timerfd_gettime utimensat acct capget capset personality exit exit_group waitid set_tid_address unshare futex
set_robust_list get_robust_list nanosleep getitimer setitimer kexec_load init_module delete_module timer_create
timer_gettime timer_getoverrun timer_settime timer_delete clock_settime clock_gettime clock_getres clock_nanosleep
syslog ptrace sched_setparam sched_setscheduler sched_getscheduler sched_getparam sched_setaffinity
sched_getaffinity sched_yield sched_get_priority_max sched_get_priority_min sched_rr_get_interval restart_syscall
kill tkill tgkill sigaltstack rt_sigsuspend rt_sigaction rt_sigprocmask rt_sigpending rt_sigtimedwait
rt_sigqueueinfo rt_sigreturn setpriority getpriority reboot setregid setgid setreuid setuid setresuid getresuid
setresgid getresgid setfsuid setfsgid times setpgid getpgid getsid setsid getgroups setgroups uname sethostname
setdomainname getrlimit setrlimit getrusage umask prctl getcpu gettimeofday settimeofday adjtimex getpid getppid
getuid geteuid getgid getegid gettid sysinfo mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
msgget msgctl msgrcv msgsnd semget semctl semtimedop semop shmget shmctl shmat shmdt socket socketpair bind listen
accept connect getsockname getpeername sendto recvfrom setsockopt getsockopt shutdown sendmsg recvmsg readahead brk
munmap mremap add_key request_key keyctl clone execve mmap fadvise64 swapon swapoff mprotect msync mlock munlock
mlockall munlockall mincore madvise remap_file_pages mbind get_mempolicy set_mempolicy migrate_pages move_pages
rt_tgsigqueueinfo perf_event_open accept4 recvmmsg 260 wait4 prlimit64 fanotify_init fanotify_mark name_to_handle_at
open_by_handle_at clock_adjtime syncfs setns sendmmsg process_vm_readv process_vm_writev kcmp finit_module
sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create bpf execveat userfaultfd membarrier mlock2
copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free statx io_pgetevents rseq kexec_file_load 424
pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig fsmount
fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2 mount_setattr
quotactl_fd landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret process_mrelease
futex_waitv set_mempolicy_home_node
"""),
        "arm32": _numbered("""
0 restart_syscall exit fork read write open close 8 creat link unlink execve chdir 14 mknod chmod lchown 19 lseek
getpid mount 23 setuid getuid 26 ptrace 29 pause 33 access nice 36 sync kill rename mkdir rmdir dup pipe times 45
brk setgid getgid 49 geteuid getegid acct umount2 54 ioctl fcntl 57 setpgid 60 umask chroot ustat dup2 getppid
getpgrp setsid sigaction 70 setreuid setregid sigsuspend sigpending sethostname setrlimit 77 getrusage gettimeofday
settimeofday getgroups setgroups 83 symlink 85 readlink uselib swapon reboot 91 munmap truncate ftruncate fchmod
fchown getpriority setpriority 99 statfs fstatfs 103 syslog setitimer getitimer stat lstat fstat 111 vhangup 114
wait4 swapoff sysinfo 118 fsync sigreturn clone setdomainname uname 124 adjtimex mprotect sigprocmask 128
init_module delete_module 131 quotactl getpgid fchdir bdflush sysfs personality 138 setfsuid setfsgid _llseek
getdents _newselect flock msync readv writev getsid fdatasync _sysctl mlock munlock mlockall munlockall
sched_setparam sched_getparam sched_setscheduler sched_getscheduler sched_yield sched_get_priority_max
sched_get_priority_min sched_rr_get_interval nanosleep mremap setresuid getresuid 168 poll nfsservctl setresgid
getresgid prctl rt_sigreturn rt_sigaction rt_sigprocmask rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend
pread64 pwrite64 chown getcwd capget capset sigaltstack sendfile 190 vfork ugetrlimit mmap2 truncate64 ftruncate64
stat64 lstat64 fstat64 lchown32 getuid32 getgid32 geteuid32 getegid32 setreuid32 setregid32 getgroups32 setgroups32
fchown32 setresuid32 getresuid32 setresgid32 getresgid32 chown32 setuid32 setgid32 setfsuid32 setfsgid32 getdents64
pivot_root mincore madvise fcntl64 224 gettid readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr
listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr tkill sendfile64 futex sched_setaffinity
sched_getaffinity io_setup io_destroy io_getevents io_submit io_cancel exit_group lookup_dcookie epoll_create
epoll_ctl epoll_wait remap_file_pages 256 set_tid_address timer_create timer_settime timer_gettime timer_getoverrun
timer_delete clock_settime clock_gettime clock_getres clock_nanosleep statfs64 fstatfs64 tgkill utimes
arm_fadvise64_64 pciconfig_iobase pciconfig_read pciconfig_write mq_open mq_unlink mq_timedsend mq_timedreceive
mq_notify mq_getsetattr waitid socket bind connect listen accept getsockname getpeername socketpair send sendto recv
recvfrom shutdown setsockopt getsockopt sendmsg recvmsg semop semget semctl msgsnd msgrcv msgget msgctl shmat shmdt
shmget shmctl add_key request_key keyctl semtimedop vserver ioprio_set ioprio_get inotify_init inotify_add_watch
inotify_rm_watch mbind get_mempolicy set_mempolicy openat mkdirat mknodat fchownat futimesat fstatat64 unlinkat
renameat linkat symlinkat readlinkat fchmodat faccessat pselect6 ppoll unshare set_robust_list get_robust_list
splice sync_file_range2 tee vmsplice move_pages getcpu epoll_pwait kexec_load utimensat signalfd timerfd_create
eventfd fallocate timerfd_settime timerfd_gettime signalfd4 eventfd2 epoll_create1 dup3 pipe2 inotify_init1 preadv
pwritev rt_tgsigqueueinfo perf_event_open recvmmsg accept4 fanotify_init fanotify_mark prlimit64 name_to_handle_at
open_by_handle_at clock_adjtime syncfs sendmmsg setns process_vm_readv process_vm_writev kcmp finit_module
sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create bpf execveat userfaultfd membarrier mlock2
copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free statx rseq io_pgetevents migrate_pages
kexec_file_load 403 clock_gettime64 clock_settime64 clock_adjtime64 clock_getres_time64 clock_nanosleep_time64
timer_gettime64 timer_settime64 timerfd_gettime64 timerfd_settime64 utimensat_time64 pselect6_time64 ppoll_time64
416 io_pgetevents_time64 recvmmsg_time64 mq_timedsend_time64 mq_timedreceive_time64 semtimedop_time64
rt_sigtimedwait_time64 futex_time64 sched_rr_get_interval_time64 pidfd_send_signal io_uring_setup io_uring_enter
io_uring_register open_tree move_mount fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2
pidfd_getfd faccessat2 process_madvise epoll_pwait2 mount_setattr quotactl_fd landlock_create_ruleset
landlock_add_rule landlock_restrict_self 448 process_mrelease futex_waitv set_mempolicy_home_node 983041
arm_breakpoint arm_cacheflush arm_usr26 arm_usr32 arm_set_tls arm_get_tls
"""),
    }
)


# Each of these words is a module ``calls_*.py`` with a table of its calls.
_MODULES = "memory files paths identity signals threads processes waiting timers sockets"
CALLS: MappingProxyType[str, KernelCall] = MappingProxyType(
    {
        name: call
        for module in _MODULES.split()
        for name, call in import_module(f"testbed.process.calls_{module}").CALLS.items()
    }
)

# What C libraries try first and do without, as on older kernels. Nothing is lost by it.
ABSENT = frozenset(
    (
        *("rseq", "clone3", "statx", "faccessat2", "close_range", "landlock_create_ruleset"),
        *("openat2", "epoll_pwait2", "futex_waitv"),
    )
)

# What this kernel does not let a process do: programs and processes of the host, its network, the machine. ENOSYS is
# the answer of a kernel that was built without something, which programs know how to do without.
_FORBIDDEN = {
    errno.ENOSYS: """
        execveat ptrace process_vm_readv process_vm_writev userfaultfd kcmp bpf seccomp splice tee vmsplice
        pidfd_open pidfd_send_signal pidfd_getfd name_to_handle_at open_by_handle_at fanotify_init fanotify_mark
        io_setup io_destroy io_getevents io_submit io_cancel io_uring_setup io_uring_enter io_uring_register
        shmget shmat shmdt shmctl semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open mq_unlink
        inotify_init inotify_init1 inotify_add_watch inotify_rm_watch request_key uselib sysfs ustat getdents
        capget capset mincore syslog get_mempolicy set_mempolicy mbind migrate_pages move_pages memfd_secret
        preadv2 pwritev2 pkey_alloc pkey_free pkey_mprotect mlock2 sched_setattr sched_getattr process_madvise
        landlock_add_rule landlock_restrict_self""",
    errno.EBADF: "sendmmsg recvmmsg",
    errno.EOPNOTSUPP: "setxattr lsetxattr fsetxattr",
    errno.EPERM: """
        mount umount2 fsopen fsmount fsconfig fspick open_tree move_mount mount_setattr vhangup pivot_root
        chroot swapon swapoff reboot sethostname setdomainname settimeofday clock_settime adjtimex init_module
        finit_module delete_module kexec_load perf_event_open iopl ioperm unshare setns keyctl add_key acct
        quotactl setgroups setgroups32""",
}
FORBIDDEN = MappingProxyType({name: number for number, names in _FORBIDDEN.items() for name in names.split()})
# What such a process may ask for, and is not told for reasons of its own: others, other machines, more than there is.
TOLD = frozenset(
    {
        *((name, number) for name in ("kill", "tkill", "tgkill") for number in (errno.ESRCH, errno.EPERM)),
        *((name, number) for name in ("clone", "fork", "vfork") for number in (errno.EAGAIN, errno.ENOSYS)),
        *((name, errno.ENETUNREACH) for name in ("connect", "sendto", "sendmsg")),
        ("bind", errno.EADDRNOTAVAIL),
    }
)
MOST_REFUSED = 1000  # refused calls that are kept; all are counted


def begin_call(process: Process) -> None:
    """The running thread has just made a call: who asks for what is noted, before anything of it is done."""
    abi, recorder = process.abi, process.recorder
    number = recorder[abi.number]
    name = CALL_NAMES[process.arch.name].get(number, "")
    arguments = tuple(recorder[register] for register in abi.arguments)
    process.current.calls[name or f"number {number}"] += 1
    process.current.call = (name, arguments, recorder[abi.result], recorder.last_pc())
    for register, source in UNICORN[process.arch.name].call_leaves:
        recorder[register] = recorder[source]


def perform(process: Process) -> int:
    """The result of the call that the running thread makes.

    Raises MustWait where it cannot be done yet, ProcessEnds where the process ends by it.
    """
    call = process.current.call
    assert call is not None
    name, arguments, _, pc = call
    try:
        if name in CALLS and name not in ABSENT:
            with refused_by_host():
                return CALLS[name](process, arguments) or 0
        if name and name not in ABSENT and name not in FORBIDDEN:
            name_code(process)
            where = describe(tuple(process.images), pc)
            raise ProcessEnds(None, f"system call {name} is not emulated, called at {where}")
        raise Refusal(FORBIDDEN.get(name, errno.ENOSYS))
    except Refusal as refusal:
        if name in FORBIDDEN or (name, refusal.number) in TOLD or refusal.path:
            note_refused(process, name, refusal, pc)
        return -refusal.number


def note_refused(process: Process, name: str, refusal: Refusal, pc: int) -> None:
    """Keep that a call was refused, why, at which step of its thread and pc: the first ones, of a path once."""
    thread = process.current
    told, step = thread.refused, thread.steps + process.recorder.total - process.piece_start - 1
    again = refusal.path and any(refusal.path == each.path for each in told)
    if len(told) < MOST_REFUSED and not again:
        told.append(RefusedCall(name, str(refusal), step, pc, refusal.path))
