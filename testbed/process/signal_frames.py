"""The frames that Linux writes for signal handlers, whole, and what ``sigreturn`` reads back from them.

`testbed.arch.SignalFrame` says where the registers of a trace are. Besides, a frame has the siginfo, the alternate
stack, the blocked signals, what the processor said of a fault, and the floating-point state.

Source: Linux 6.1, arch/x86/kernel/signal.c and fpu/signal.c, arch/arm64/kernel/signal.c, arch/arm/kernel/signal.c.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unicorn import arm64_const as a64
from unicorn import arm_const as arm
from unicorn import x86_const as x86

from testbed.arch import Arch, PerArch
from testbed.process.recorder import ProcessRecorder

SIGINFO_SIZE = 128


@dataclass(frozen=True, slots=True)
class FrameParts:
    """Offsets in a frame of what no trace has.

    ``stack`` is ``uc_stack``, ``mask`` ``uc_sigmask``, ``old_mask`` its first word once more, ``fault`` where a fault
    was, ``trap`` and ``error`` what the processor said (None: no place for it). ``floating`` are (Unicorn's register,
    offset, bytes), counted from the extended state where the architecture has one. ``cleared`` are the flags that a
    handler starts without. ``plain_call``: a handler without SA_SIGINFO gets a frame without siginfo, which this
    system call returns from. ``sparse``: only a handler with SA_SIGINFO gets its second and third parameter.
    """

    stack: int
    mask: int
    fault: int
    floating: tuple[tuple[int, int, int], ...]
    old_mask: int | None = None
    trap: int | None = None
    error: int | None = None
    context_flags: int = 0
    cleared: int = 0
    plain_call: int | None = None
    plain_flags: int = 0
    sparse: bool = True
    result: str | None = None  # a register that is 0 at the handler's start
    x87: bool = False


FRAME_PARTS = PerArch(
    {
        "x86_64": FrameParts(
            stack=24,
            mask=304,
            fault=224,
            old_mask=216,
            trap=208,
            error=200,
            context_flags=6,  # UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS
            cleared=0x1_0500,  # RF, DF, TF
            sparse=False,
            result="rax",
            floating=(
                (x86.UC_X86_REG_FPCW, 0, 2),
                (x86.UC_X86_REG_FPSW, 2, 2),
                (x86.UC_X86_REG_MXCSR, 24, 4),
                *((x86.UC_X86_REG_XMM0 + i, 160 + 16 * i, 16) for i in range(16)),
            ),
            x87=True,
        ),
        "arm64": FrameParts(
            stack=144,
            mask=168,
            fault=304,
            floating=(
                (a64.UC_ARM64_REG_FPSR, 600, 4),
                (a64.UC_ARM64_REG_FPCR, 604, 4),
                *((a64.UC_ARM64_REG_Q0 + i, 608 + 16 * i, 16) for i in range(32)),
            ),
        ),
        "arm32": FrameParts(
            stack=136,
            mask=232,
            fault=228,
            old_mask=156,
            trap=148,
            error=152,
            cleared=0x0600_FC00,  # CPSR.IT
            plain_call=119,
            plain_flags=0x5AC3_C35A,
            floating=(
                *((arm.UC_ARM_REG_D0 + i, 368 + 8 * i, 8) for i in range(32)),
                (arm.UC_ARM_REG_FPSCR, 624, 4),
            ),
        ),
    }
)

_TAGS, _X87 = 4, 32  # in FXSAVE's area: which x87 registers are in use, and the first of them


def frame_bytes(
    arch: Arch,
    recorder: ProcessRecorder,
    values: Mapping[str, int],
    info: bytes,
    kernel: Mapping[str, bytes],
) -> tuple[bytearray, bytearray]:
    """A frame with siginfo, and the extended state above it, empty where there is none.

    ``kernel`` has the bytes of ``stack``, ``mask``, ``old_mask``, ``fault``, ``trap`` and ``error``.
    """
    layout, parts = arch.signal_frame, FRAME_PARTS[arch.name]
    frame = bytearray(layout.size)
    extended = bytearray(layout.extended.size if layout.extended else 0)
    for name, offset in layout.registers.items():
        size = max(arch.word, arch.by_name[name].bits // 8)
        frame[offset : offset + size] = values[name].to_bytes(size, "little")
    for offset, size, value in layout.constants:
        frame[offset : offset + size] = value.to_bytes(size, "little")
    frame[layout.context : layout.context + 4] = parts.context_flags.to_bytes(4, "little")
    frame[layout.number : layout.number + len(info)] = info
    for name, data in kernel.items():
        at = getattr(parts, name)
        if at is not None:
            frame[at : at + len(data)] = data
    area = extended if layout.extended else frame
    for number, offset, size in parts.floating:
        area[offset : offset + size] = (recorder.uc.reg_read(number) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    if parts.x87:
        _save_x87(recorder, extended)
    return frame, extended


def load_floating(arch: Arch, recorder: ProcessRecorder, area: bytes) -> None:
    """The floating-point state of a frame, or of the extended state, into the processor."""
    parts = FRAME_PARTS[arch.name]
    for number, offset, size in parts.floating:
        recorder.uc.reg_write(number, int.from_bytes(area[offset : offset + size], "little"))
    if parts.x87:
        _load_x87(recorder, area)


def _save_x87(recorder: ProcessRecorder, area: bytearray) -> None:
    """FXSAVE's part: a bit per register that is in use, and the registers from the stack's top on."""
    uc = recorder.uc
    top = uc.reg_read(x86.UC_X86_REG_FPSW) >> 11 & 7
    tags = uc.reg_read(x86.UC_X86_REG_FPTAG)
    area[_TAGS] = sum(1 << i for i in range(8) if tags >> 2 * i & 3 != 3)
    for i in range(8):
        mantissa, exponent = uc.reg_read(x86.UC_X86_REG_FP0 + (top + i) % 8)
        at = _X87 + 16 * i
        area[at : at + 10] = mantissa.to_bytes(8, "little") + (exponent & 0xFFFF).to_bytes(2, "little")
    area[28:32] = (0xFFFF).to_bytes(4, "little")  # which bits MXCSR has


def _load_x87(recorder: ProcessRecorder, area: bytes) -> None:
    uc = recorder.uc
    top = int.from_bytes(area[2:4], "little") >> 11 & 7
    for i in range(8):
        at = _X87 + 16 * i
        value = (int.from_bytes(area[at : at + 8], "little"), int.from_bytes(area[at + 8 : at + 10], "little"))
        uc.reg_write(x86.UC_X86_REG_FP0 + (top + i) % 8, value)
    uc.reg_write(x86.UC_X86_REG_FPTAG, sum((0 if area[_TAGS] >> i & 1 else 3) << 2 * i for i in range(8)))
