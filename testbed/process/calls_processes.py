"""System calls about processes: fork, execve, and what waits for children."""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Mapping
from dataclasses import replace

from testbed.image import Image
from testbed.process.calls_memory import name_code
from testbed.process.calls_paths import path_at
from testbed.process.calls_threads import (
    CHILD_TID,
    CLEAR_TID,
    PARENT_TID,
    SET_TLS,
    THREAD,
    VFORK,
    VM,
    child_context,
    new_thread,
    no_longer,
)
from testbed.process.known_files import image_of_file
from testbed.process.recorder import ProcessRecorder
from testbed.process.shared_writes import share_writes
from testbed.process.signals import CONTINUED, cause, send_to_process, sent_info, tell_parent
from testbed.process.starting import MOST_STRINGS, Execution, execute
from testbed.process.state import (
    MOST_EVER,
    MOST_PROCESSES,
    SIGCHLD,
    SIGCONT,
    SIGHUP,
    KernelCall,
    Process,
    ProcessEnds,
    SignalAction,
)
from testbed.process.threads import GuestThread, MustWait, Refusal, Wait
from testbed.words.budget import free_garbage
from testbed.words.errors import TestbedError

_NO_HANG, _STOPPED, _ENDED, _GOES_ON, _NO_WAIT = 1, 2, 4, 8, 0x0100_0000  # WNOHANG, WUNTRACED, WEXITED, WCONTINUED
_BY_NUMBER, _BY_GROUP = 1, 2
_NO_CHILD_WAIT = 2  # SA_NOCLDWAIT
_KEPT_MACHINES = 16  # of processes that are over, before their memory is given back
_MOST_SCRIPTS = 4  # scripts that are the interpreters of scripts


# New processes.


def clone(process: Process, a: tuple[int, ...]) -> int:
    """``clone(flags, stack, ...)``: the number of the new thread or process, 0 in it.

    ENOSYS for processes that share memory, except for ``vfork``.
    """
    flags = a[0]
    if flags & VM and flags & (THREAD | VFORK):
        return new_thread(process, a)
    if flags & (VM | THREAD):
        raise Refusal(errno.ENOSYS)  # memory that two processes write
    return fork(process, a)


def fork(process: Process, a: tuple[int, ...]) -> int:
    """A child with a copy of everything. ``a`` is as for clone; its thread's track begins with its parent's steps."""
    flags, stack, parent_tid = a[:3]
    tls, child_tid = (a[3], a[4]) if process.abi.tls_first else (a[4], a[3])
    kernel, recorder, thread = process.kernel, process.recorder, process.current
    if len(kernel.living) >= MOST_PROCESSES or len(kernel.processes) >= MOST_EVER:
        raise Refusal(errno.EAGAIN)
    number = kernel.next_number()
    if flags & PARENT_TID:
        process.memory.write(parent_tid, process.pack(number, size=4))
    share_writes(process)
    kernel.is_native |= recorder.is_native
    own = ProcessRecorder(process.arch, kernel.left, kernel.piece, recorder.total, natively=kernel.is_native)
    memory = process.memory.copied(own.uc, own.journal_write)
    own.uc.context_restore(child_context(process, stack, tls if flags & SET_TLS else None))
    first = GuestThread(
        number,
        first=recorder.total,
        after=(*thread.after, *thread.pieces, (process.piece_start, recorder.total)),
        mask=thread.mask,
        alternate=thread.alternate,
        clear_on_exit=child_tid if flags & CLEAR_TID else 0,
    )
    child = replace(
        process,
        recorder=own,
        memory=memory,
        descriptors=process.descriptors.copy(),
        tree=process.tree,
        threads=[first],
        current=first,
        number=number,
        images=list(process.images),
        actions=dict(process.actions),
        parent=process,
        begun_by=process.number,
        change=0,
        comes=process,
        inherited=recorder.total,
        inherited_writes=process.inherited_writes + recorder.writes,
        timers={},
        piece_start=recorder.total,
        resumed=[(first, step) for who, step in process.resumed if who is thread],
        notes=[],
    )
    kernel.joins(number, process.number)
    if flags & CHILD_TID:
        memory.write(child_tid, process.pack(number, size=4))
    kernel.add(child)
    return number


# Another program.


def execve(process: Process, a: tuple[int, ...]) -> None:
    """The process goes on as another program, in memory of its own; a vforked child leaves its parent's."""
    path, argv, environment = path_at(process, a[0]), _strings(process, a[1]), _strings(process, a[2])
    if sum(len(text) + 1 + process.arch.word for text in (*argv, *environment)) > MOST_STRINGS:
        raise Refusal(errno.E2BIG)
    at, image, argv = _program(process, path, argv)
    variables = {name: value for name, _, value in (each.partition("=") for each in environment)}
    thread = process.current
    number = thread.number if thread.vfork_child else process.number
    try:
        after = execute(process, Execution(image, at, tuple(argv), variables), number)
    except TestbedError as error:
        raise Refusal(errno.ENOEXEC) from error
    after.descriptors.close_for_exec()
    after.actions = {n: SignalAction(1) for n, action in process.actions.items() if action.handler == 1}
    after.current.mask, after.current.pending = thread.mask, list(thread.pending)
    if thread.vfork_child:
        after.parent, after.begun_by, thread.waited_for, thread.status = process, process.number, True, 0
        process.kernel.joins(number, process.number)
        process.kernel.add(after)
        return
    raise ProcessEnds(None, f"it goes on as {at}", becomes=after)


def _strings(process: Process, address: int) -> list[str]:
    """The strings of an array of pointers that a null pointer ends."""
    found: list[str] = []
    while address:
        (at,) = process.words(address + len(found) * process.arch.word, 1)
        if not at:
            break
        found.append(os.fsdecode(process.memory.text(at, MOST_STRINGS)))
        if len(found) > MOST_STRINGS // process.arch.word:
            raise Refusal(errno.E2BIG)
    return found


def _program(process: Process, path: str, argv: list[str]) -> tuple[str, Image, list[str]]:
    """The file that a path means as a program, or the interpreter that a script names, and its arguments."""
    for _ in range(_MOST_SCRIPTS):
        node = process.tree.find(path, process.folder)
        if not stat.S_ISREG(node.mode) or node.host is None or not node.mode & 0o111:
            raise Refusal(errno.EACCES)
        with open(node.host, "rb") as file:
            head = file.read(256)
        if not head.startswith(b"#!"):
            try:
                image = image_of_file(node.host, process.reading)
            except TestbedError as error:
                raise Refusal(errno.ENOEXEC) from error
            if image.arch is not process.arch or head[:4] != b"\x7fELF":
                raise Refusal(errno.ENOEXEC)
            return node.path, image, argv
        words = os.fsdecode(head[2:].partition(b"\n")[0]).strip().split(None, 1)
        if not words:
            raise Refusal(errno.ENOEXEC)
        argv = [*words, path, *argv[1:]]
        path = words[0]
    raise Refusal(errno.ELOOP)


# Their ends.


def end_process(process: Process, ends: ProcessEnds) -> None:
    """A process is over: its files are closed, its memory and its machine are given back, its parent is told."""
    kernel = process.kernel
    stopped = {each: kernel.group_of(each.number) for each in kernel.living if each.stopped}
    watched = {group for group in stopped.values() if not kernel.is_orphaned(group)}
    process.current.ran(process.piece_start, process.recorder.total)
    share_writes(process)
    process.executed = process.own_steps
    process.ends = ends.with_traceback(None)  # which would keep the machine
    kernel.living.remove(process)
    kernel.ended += process.executed
    process.descriptors.close_all()
    no_longer(process)
    name_code(process)
    process.memory.release()
    if process is not kernel.processes[0]:
        process.recorded = process.recorder.taken()
        del process.recorder
        if not (len(kernel.processes) - len(kernel.living)) % _KEPT_MACHINES:
            free_garbage()
    if ends.becomes is not None:
        kernel.add(ends.becomes)
        kernel.turn = ends.becomes
        for each in kernel.processes:
            if each.parent is process:
                each.parent = ends.becomes
        return
    if not kernel.living:
        process.descriptors.close_sent()
    for each in kernel.processes:
        if each.parent is process:
            each.parent = None
    action = process.parent.actions.get(SIGCHLD, SignalAction()) if process.parent else SignalAction()
    process.waited_for = action.handler == 1 or bool(action.flags & _NO_CHILD_WAIT)
    tell_parent(process, process.wait_status or 0)
    for each, group in stopped.items():  # who would have let it go on is gone
        for number in (SIGHUP, SIGCONT) * (each in kernel.living and group in watched and kernel.is_orphaned(group)):
            send_to_process(each, number, sent_info(each.arch, 0, number, 0))


GuestChild = Process | GuestThread  # a vforked one is a thread until it becomes a program


def _children(process: Process, kind: int, wanted: int) -> list[GuestChild]:
    """Those that ``wait`` may still tell of: all, one, or those of a group."""
    kernel = process.kernel
    every: list[GuestChild] = [each for each in kernel.processes if each.parent is process]
    every += [thread for thread in process.threads if thread.vfork_child]
    return [
        child
        for child in every
        if not child.waited_for
        and not (isinstance(child, Process) and child.ends is not None and child.ends.becomes is not None)
        and (kind != _BY_NUMBER or child.number == wanted)
        and (kind != _BY_GROUP or kernel.group_of(child.number) == wanted)
    ]


def _news(child: GuestChild, options: int) -> int | None:
    """The wait status of a child of which there is something to tell that was asked for."""
    if child.wait_status is not None or isinstance(child, GuestThread):
        return child.wait_status if options & _ENDED else None
    asked = options & (_GOES_ON if child.change == CONTINUED else _STOPPED)
    return child.change if asked and child.change else None


def _waited_for(process: Process, kind: int, wanted: int, options: int) -> tuple[int, int]:
    """The number of a child and its wait status, which is told then; zeros where there is none yet with WNOHANG."""
    children = _children(process, kind, wanted)
    if not children:
        raise Refusal(errno.ECHILD)
    for child in children:
        status = _news(child, options)
        if status is not None:
            if not options & _NO_WAIT and child.wait_status is not None:
                child.waited_for = True
            elif not options & _NO_WAIT and isinstance(child, Process):
                child.change = 0
            return child.number, status
    if options & _NO_HANG:
        return 0, 0

    def one_has() -> bool:
        left = _children(process, kind, wanted)
        return not left or any(_news(child, options) is not None for child in left)

    raise MustWait(Wait(one_has, restart=True, what="wait for a child"))


def wait4(process: Process, a: tuple[int, ...]) -> int:
    """``wait4(pid, status, options, usage)``: the number of a child that ended, stopped or went on; 0 with WNOHANG."""
    wanted = process.signed(a[0])
    kind = 0 if wanted == -1 else _BY_NUMBER if wanted > 0 else _BY_GROUP
    who = abs(wanted) or process.kernel.group_of(process.number)
    number, status = _waited_for(process, kind, who, a[2] & ~_NO_WAIT | _ENDED)
    if number:
        process.memory.tell(a[1], process.pack(status, size=4))
        process.memory.tell(a[3], bytes(18 * process.arch.word))
    return number


def waitid(process: Process, a: tuple[int, ...]) -> None:
    """``waitid(kind, id, info, options)``: 0, and at ``info`` what became of which child; zeros with WNOHANG."""
    kind, wanted, info, options = a[:4]
    if kind > _BY_GROUP or not options & (_ENDED | _STOPPED | _GOES_ON):
        raise Refusal(errno.EINVAL)
    number, status = _waited_for(process, kind, wanted or process.kernel.group_of(process.number), options)
    told = sent_info(process.arch, number, SIGCHLD, *cause(status)) if number else struct.pack("<32x")
    process.memory.tell(info, told)


CALLS: Mapping[str, KernelCall] = {
    "clone": clone,
    "fork": lambda process, a: fork(process, (0, 0, 0, 0, 0)),
    "vfork": lambda process, a: new_thread(process, (VM | VFORK, 0, 0, 0, 0)),
    "execve": execve,
    "wait4": wait4,
    "waitid": waitid,
}
