"""What the kernel does to what is followed: a signal frame keeps every register, and gives it back.

Source: the layout in the architecture's table, which is Linux's ``struct rt_sigframe``.
"""

from __future__ import annotations

from collections.abc import Sequence

from testbed.witness.labels import Labels


def labels_into_frame(labels: Labels, row: Sequence[int], after: Sequence[int]) -> None:
    """A signal arrives: the frame's words hold what the registers held."""
    arch = labels.arch
    layout, sp = arch.signal_frame, arch.index[arch.sp]
    frame = after[sp]
    for name, offset in layout.registers.items():
        if (label := labels.held.get(name)) is not None:
            labels.set(frame + offset, label)
    if layout.record is not None and arch.link is not None:
        pointer = arch.frame_pointers[0]
        for offset, name in ((0, pointer), (arch.word, arch.link)):
            if (label := labels.held.get(name)) is not None:
                labels.set(frame + layout.record + offset, label)
        labels.set(pointer, labels.stack())
    for name in layout.arguments:
        labels.set(name, None)
    # The frame lies right below the interrupted code's, or else the kernel took the alternate stack.
    extended = layout.extended.size + layout.extended.alignment if layout.extended else 0
    if not 0 <= row[sp] - frame <= layout.red_zone + extended + layout.size + layout.alignment + layout.skew:
        labels.set(arch.sp, None)


def labels_from_frame(labels: Labels, row: Sequence[int]) -> int | None:
    """``rt_sigreturn``: the registers hold what the frame's words hold; the label of pc."""
    arch = labels.arch
    frame = row[arch.index[arch.sp]] - arch.entry_cfa
    for name, offset in arch.signal_frame.registers.items():
        label = labels.held.get(frame + offset)
        if name != arch.pc:
            labels.set(name, label)
    return labels.held.get(frame + arch.signal_frame.registers[arch.pc])
