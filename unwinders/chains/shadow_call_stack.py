"""The shadow call stack: return addresses kept a second time, where no buffer overflow reaches.

Clang's ``-fsanitize=shadow-call-stack`` (arm64) reserves a register ``s`` for it::

    prologue of a function that stores its return address:   *s = link register,  s = s + word
    epilogue:                                                s = s - word,  link register = *s

So the callers are ``*(s - word)``, ``*(s - 2 * word)`` ... down to a word of zero. It says where control comes back
to and nothing else: no other register, no CFA. A function that has not pushed yet, or never does, keeps its return
address in the link register, and its caller is missing here. Source: https://clang.llvm.org/docs/ShadowCallStack.html
"""

from __future__ import annotations

from testbed.contract.assumption import ShadowStack
from testbed.contract.unwinder import Unwinder
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress
from unwinders.chains.frame_records import ReturnAddresses, listed

SECTION = ".shadow_call_stack"
MAX_FRAMES = 1024


def pushed(snapshot: Snapshot) -> ReturnAddresses:
    """The return addresses on the shadow call stack, from its pointer down."""
    arch = snapshot.arch
    assert arch.shadow_pointer is not None
    at = snapshot.register(arch.shadow_pointer)
    for _ in range(1, MAX_FRAMES):
        at -= arch.word
        return_address = snapshot.memory.unsigned(at & arch.word_mask, arch.word)
        if return_address == 0:
            return
        yield return_address, f"shadow stack, at {at:#x}"
    raise NoProgress(f"more than {MAX_FRAMES} frames")


SHADOW_CALL_STACK = Unwinder(
    name="shadow_call_stack",
    summary="clang's shadow call stack, read downwards from the register that points to it",
    unwind=listed(pushed),
    assumption=ShadowStack(),
    arches=frozenset({"arm64"}),
    needs=frozenset({SECTION}),
)
