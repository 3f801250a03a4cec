"""A confined child process that costs the same however large its parent is.

What `confining` gives has to be called between fork and exec, so that subprocess forks: copying the page tables of a
process that holds hundreds of megabytes takes longer than many a compile. Here a small Python is executed instead
(10 ms), which confines itself and becomes the tool.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from testbed.build.confinement import Confinement, taken_away

# Arguments: limits as kind:soft:hard, the descriptor of the Landlock rules or -1, the filter of system calls in
# hexadecimal, a descriptor for the error number where the tool cannot be executed, 1 where LC_CTYPE is not to be set;
# the file of the tool, and its arguments from the name on.
# Python ignores two signals, and a tool would inherit that; in the locale C it sets LC_CTYPE. Once it is confined it
# can import nothing more.
_BECOME = """
import _signal, ctypes, os, resource, sys
limits, rules, network, failed, plain = sys.argv[1:6]
for descriptor in (int(rules), int(failed)):
    if descriptor >= 0:
        os.set_inheritable(descriptor, False)
_signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
_signal.signal(_signal.SIGXFSZ, _signal.SIG_DFL)
if plain == "1":
    os.environ.pop("LC_CTYPE", None)
for limit in limits.split(","):
    kind, soft, hard = map(int, limit.split(":"))
    resource.setrlimit(kind, (soft, hard))
class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))
libc, content = ctypes.CDLL(None), bytes.fromhex(network)
libc.prctl(38, 1, 0, 0, 0)
if int(rules) >= 0 and libc.syscall(446, int(rules), 0):
    os._exit(126)
if content and libc.prctl(22, 2, ctypes.byref(Program(len(content) // 8, content)), 0, 0):
    os._exit(126)
try:
    os.execv(sys.argv[6], sys.argv[7:])
except OSError as error:
    os.write(int(failed), str(error.errno).encode())
os._exit(127)
"""


def start_confined(
    command: Sequence[str], what: Confinement, *, environment: Mapping[str, str], **options: Any
) -> subprocess.Popen[bytes]:
    """As subprocess.Popen, of a child from which ``what`` is taken first. Raises OSError where it cannot be run."""
    program = command[0] if os.path.dirname(command[0]) else shutil.which(command[0], path=environment.get("PATH"))
    if program is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    refused, failed = os.pipe()
    try:
        with taken_away(what) as taken:
            limits = ",".join(":".join(map(str, limit)) for limit in taken.limits)
            rules = -1 if taken.rules is None else taken.rules
            plain = "0" if "LC_CTYPE" in environment else "1"
            told = (limits, str(rules), taken.network.hex(), str(failed), plain)
            child = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _BECOME, *told, program, *command],
                env=environment,
                pass_fds=[failed, *(() if taken.rules is None else (taken.rules,))],
                **options,
            )
    finally:
        os.close(failed)
    with open(refused, "rb") as told_by_child:
        number = told_by_child.read()  # until the tool has taken the place of the small Python
    if number:
        child.communicate()
        raise OSError(int(number), os.strerror(int(number)), command[0])
    return child
