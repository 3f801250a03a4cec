"""The code that calls a function alone: the harness, the stubs, the thread pointer. What it follows is the convention.

The harness is four instructions: call the register ``target``; come back to a no-operation; stop before the next one;
return, which is what a callee does that is answered and not executed.
A stub stands for a function of another file: it returns the word that lies behind its code. A function whose callers
rely on more than the ABI says has a stub of its own, which is executed wherever it is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from unicorn import arm64_const as a64
from unicorn import arm_const as arm
from unicorn import x86_const as x86

from testbed.arch import PerArch

STUB = 16  # bytes of a stub: 8 of code, a word of 8


@dataclass(frozen=True, slots=True)
class CallCode:
    """``harness``: code, and the offsets of the instruction after the call, of the one that is never executed,
    and of the return.

    ``stub`` is code of 8 bytes that returns the word behind it, ``own_stubs`` that of functions with a convention of
    their own, by name, of up to `STUB` bytes. ``thread`` is Unicorn's register of the thread pointer.
    ``clones`` are Linux's numbers of clone and clone3. ``moves_sp``: calls may begin at another SP than the one before;
    where a call leaves its target in the link register, that is taken for somebody who is not back yet.
    ``kernel_page`` is what Linux maps for every process at a fixed address: (address, {offset: code}).
    """

    target: str
    harness: bytes
    back: int
    stop: int
    answer: int
    stub: bytes
    thread: int
    clones: frozenset[int]
    kernel_page: tuple[int, tuple[tuple[int, bytes], ...]] | None = None
    signs: tuple[bytes, ...] = ()  # instructions that sign return addresses: such code runs on a CPU that does
    own_stubs: Mapping[str, bytes] = field(default_factory=dict)
    moves_sp: bool = True


def _words(*words: int) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)


CALL_CODE = PerArch(
    {
        # call *%r11; nop; nop.  mov 1(%rip), %rax; ret.
        "x86_64": CallCode(
            "r11",
            bytes.fromhex("41ffd39090c3"),
            3,
            4,
            5,
            bytes.fromhex("488b0501000000c3"),
            x86.UC_X86_REG_FS_BASE,
            frozenset({56, 435}),
        ),
        # blr x16; nop; nop.  ldr x0, #8; ret.
        "arm64": CallCode(
            "x16",
            _words(0xD63F_0200, 0xD503_201F, 0xD503_201F, 0xD65F_03C0),
            4,
            8,
            12,
            _words(0x5800_0040, 0xD65F_03C0),
            a64.UC_ARM64_REG_TPIDR_EL0,
            frozenset({220, 435}),
            signs=(_words(0xD503_233F), _words(0xD503_237F)),  # paciasp, pacibsp
        ),
        # blx lr; nop; nop.  ldr r0, [pc]; bx lr.
        "arm32": CallCode(
            "lr",
            _words(0xE12F_FF3E, 0xE320_F000, 0xE320_F000, 0xE12F_FF1E),
            4,
            8,
            12,
            _words(0xE59F_0000, 0xE12F_FF1E),
            arm.UC_ARM_REG_C13_C0_3,
            frozenset({120, 435}),
            moves_sp=False,
            # Documentation/arm/kernel_user_helpers.rst: get_tls, cmpxchg (always succeeds), memory_barrier.
            kernel_page=(
                0xFFFF_0000,
                (
                    (0xFE0, _words(0xEE1D_0F70, 0xE12F_FF1E)),
                    (0xFC0, _words(0xE582_1000, 0xE290_0000, 0xE3B0_0000, 0xE12F_FF1E)),
                    (0xFA0, _words(0xE12F_FF1E)),
                ),
            ),
            # The caller has pushed lr; it comes back with that in lr, and the word gone (GCC: ARM_FUNCTION_PROFILER in
            # gcc/config/arm/linux-eabi.h; glibc: sysdeps/arm/arm-mcount.S). mov r12, lr; pop {lr}; bx r12.
            own_stubs={"__gnu_mcount_nc": _words(0xE1A0_C00E, 0xE49D_E004, 0xE12F_FF1C)},
        ),
    }
)
