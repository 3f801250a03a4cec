"""One call of keystone 0.9.2, in a process of its own.

keystone does not only refuse what it cannot assemble: a misaligned branch target ends the whole process ("LLVM
ERROR"), ``strd #8, [d0]`` is a segmentation fault, ``rep`` before a register never returns. A typing error in a
source must not do that to a test run or a notebook. A child process costs 60 ms, once per build.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from testbed.build.confined import SYSTEM
from testbed.build.confined_start import start_confined
from testbed.build.confinement import Confinement
from testbed.build.keystone_isas import KeystoneIsa
from testbed.words.errors import ToolchainMissing

_CPU_SECONDS = 3  # an ordinary source takes 0.002
_MEMORY = 2 << 30  # bytes
_REFUSED = 3  # the child's exit status where keystone gave an error code

# Arguments: the folder with the keystone package, the names of keystone's architecture and mode, the address.
_CHILD = f"""
import sys
sys.path.insert(0, sys.argv[1])
import keystone
try:
    opened = keystone.Ks(*(getattr(keystone, name) for name in sys.argv[2:4]))
    code, _ = opened.asm(sys.stdin.read(), int(sys.argv[4]), as_bytes=True)
except keystone.KsError as error:
    print(error, end="", file=sys.stderr)
    sys.exit({_REFUSED})
sys.stdout.buffer.write(code or b"")
"""


def call_keystone(isa: KeystoneIsa, text: str, address: int) -> tuple[bytes, str]:
    """The bytes of ``text`` at ``address``, and "" or the reason for which there are none.

    Raises ToolchainMissing where the package is not installed.
    """
    spec = find_spec("keystone")
    if spec is None or not spec.submodule_search_locations:
        raise ToolchainMissing("keystone", "pip install keystone-engine==0.9.2")
    folder = Path(next(iter(spec.submodule_search_locations))).parent
    command = [sys.executable, "-I", "-S", "-c", _CHILD, str(folder), isa.arch, isa.mode, str(address)]
    python = (Path(sys.executable).resolve().parent, Path(sys.prefix), Path(sys.base_prefix))
    what = Confinement(_CPU_SECONDS, _MEMORY, 0, (*SYSTEM, *python, folder))
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with start_confined(command, what, environment=os.environ, **pipes) as child:
        code, said = child.communicate(text.encode())
    printed = said.decode("utf-8", "replace").strip().splitlines()
    if child.returncode == _REFUSED:
        return b"", printed[-1] if printed else "refused"
    if child.returncode < 0:
        return b"", f"it died of {signal.Signals(-child.returncode).name}"
    if child.returncode:
        return b"", printed[-1] if printed else f"it ended with status {child.returncode}"
    return (code, "") if code else (b"", "nothing was assembled")
