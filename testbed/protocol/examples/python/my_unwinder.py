#!/usr/bin/env python3
"""An unwinder by frame pointers: follow the list of frame records. Nothing to build; try it:

    testbed protocol --check --unwinder-cmd "python3 my_unwinder.py"
    testbed run leaf_call --unwinder-cmd "python3 my_unwinder.py"

A record is two words: the caller's frame pointer, and the return address behind it.
"""

from testbed_host import serve

FRAME_POINTER = {"x86_64": "rbp", "arm64": "x29"}


def unwind(at):
    """The frames at a snapshot, innermost first, and why they end: None says at the root."""
    name = FRAME_POINTER[at.arch]
    frames = [{"pc": at.pc}]
    if name not in at.registers:
        return frames, "the frame pointer is unknown"
    fp, lowest = at.registers[name], at.sp
    while fp:
        if fp < lowest or fp % at.word:
            return frames, "the frame pointer leads nowhere"
        saved, pc = at.word_at(fp), at.word_at(fp + at.word)
        if saved is None or pc is None:
            return frames, "the frame record cannot be read"
        pc &= ~at.pac_mask
        if at.image_at(pc - 1) is None:
            return frames, "the return address lies in no program"
        if len(frames) == 1024:
            return frames, "too many frames"
        frames.append({"pc": pc, "registers": {name: saved}})
        fp, lowest = saved, fp + 2 * at.word
    return frames, None  # the outermost frame has a frame pointer of zero


serve(unwind, "frame_pointers_in_python", "1", list(FRAME_POINTER))
