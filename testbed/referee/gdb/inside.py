"""What runs inside gdb's own Python, as a script: it reads requests, walks gdb's frames, writes what gdb says.

Nothing of the testbed is imported here. Requests and replies are lines of JSON at the two file descriptors that the
variable ``testbed_pipes`` names::

    {"open": [[file, bias], ...], "port": 1234}          -> {"version": "13.1"}
    {"registers": {...}, "all": {...}, "limit": 1024}    -> {"frames": [...], "stop": [name, text]}

Registers are asked for as {the asker's name: gdb's name}; ``all`` is read for a frame that a signal interrupted. A
frame is {"pc", "kind", "unwinder", "cfa", "registers"}.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import Any

import gdb  # type: ignore[import-untyped]

_CACHED = re.compile(r'\{level=(\d+),type=(\w+),unwinder="([^"]*)",pc=[^,]*,id=\{stack=(0x[0-9a-f]+)?')
_KINDS = {gdb.NORMAL_FRAME: "normal", gdb.SIGTRAMP_FRAME: "signal"}  # the others are not physical: inlined, tail calls


def open_images(files: list[list[Any]], port: int) -> None:
    """Forget the target and the files of before, take these."""
    with suppress(gdb.error):  # there was none
        run("disconnect")
    run("symbol-file")
    run("file")
    for i, (path, bias) in enumerate(files):
        name = '"' + re.sub(r'(["\\])', r"\\\1", path) + '"'
        if i == 0:
            run(f"exec-file {name}")
        run(f"symbol-file -o {bias:#x} {name}" if i == 0 else f"add-symbol-file {name} -o {bias:#x}")
    run(f"target remote 127.0.0.1:{port}")


def backtrace(registers: dict[str, str], everything: dict[str, str], limit: int) -> dict[str, Any]:
    """gdb's frames at the snapshot that the target shows now, and why there are no more."""
    run("maint flush register-cache")
    run("maint flush dcache")
    frames: list[Any] = []
    stop: tuple[str, str] | None = None
    try:
        frame = gdb.newest_frame()
        while frame is not None:
            if len(frames) >= limit:
                # A register of a frame is asked for through all the frames inside it: of so many it would take minutes.
                return {"frames": said(frames, {}, {}), "stop": ["limit", f"more than {limit} frames"]}
            frames.append(frame)
            frame = frame.older()
        reason = frames[-1].unwind_stop_reason() if frames else 0
        stop = (REASONS.get(reason, str(reason)), gdb.frame_stop_reason_string(reason))
    except gdb.MemoryError as error:
        stop = ("MEMORY_ERROR", str(error))
    except gdb.error as error:
        stop = ("error", str(error))
    return {"frames": said(frames, registers, everything), "stop": stop}


def said(frames: list[Any], registers: dict[str, str], everything: dict[str, str]) -> list[dict[str, Any]]:
    """The physical frames as plain values."""
    out = []
    found = by_level(len(frames))
    interrupted = False
    for i, frame in enumerate(frames):
        if frame.type() not in _KINDS:
            continue
        unwinder, cfa = found.get(frame.level(), ("", None))
        unwinder = "trampoline's code" if unwinder == "(null)" else unwinder
        names = everything if interrupted else registers if i else {}
        kind = _KINDS[frame.type()]
        values = {ours: value for ours, name in names.items() if (value := register(frame, name)) is not None}
        out.append({"pc": frame.pc(), "kind": kind, "unwinder": unwinder, "cfa": cfa, "registers": values})
        interrupted = kind == "signal"
    return out


def register(frame: Any, name: str) -> int | None:
    """A register as gdb shows it in a frame; None where it says that it is not saved or not available.

    Of a vector of two halves the low one; behind a signal frame newer versions show it as a union of its parts.
    """
    try:
        value = frame.read_register(name)
        if value.is_optimized_out:
            return None
        if value.type.strip_typedefs().code == gdb.TYPE_CODE_UNION:
            value = value["d"]["u"]
        return int(value[0] if value.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY else value)
    except (gdb.error, ValueError):
        return None


def by_level(count: int) -> dict[int, tuple[str, int | None]]:
    """For each frame the unwinder that gdb took and the stack address in its frame ID, which is the frame's CFA.

    Only the debug output of a second walk tells them; the frames are cached by now, so that it costs little.
    """
    run("set debug frame on")
    try:
        text = run(f"python walk_again({count})")
    finally:
        run("set debug frame off")
    found = {}
    for level, kind, unwinder, stack in _CACHED.findall(text):
        found[int(level)] = (unwinder, int(stack, 16) if stack and kind == "NORMAL_FRAME" else None)
    return found


def walk_again(count: int) -> None:
    """Visit the frames that are known, and no further one."""
    frame = gdb.newest_frame()
    with suppress(gdb.error):  # told by the first walk
        for _ in range(count - 1):
            frame = frame.older() if frame is not None else None


def run(command: str) -> str:
    """What gdb prints for a command."""
    return str(gdb.execute(command, to_string=True))


REASONS = {
    value: name.removeprefix("FRAME_UNWIND_")
    for name, value in vars(gdb).items()
    if name.startswith("FRAME_UNWIND_") and isinstance(value, int)
}


def main(requests: int, replies: int) -> None:
    """Answer requests, a line of JSON each, until the pipe ends: files to open, or registers to unwind from."""
    with os.fdopen(requests, encoding="ascii") as lines, os.fdopen(replies, "w", encoding="ascii") as out:
        for line in lines:
            request = json.loads(line)
            reply: dict[str, Any]
            try:
                if "open" in request:
                    open_images(request["open"], request["port"])
                    reply = {"version": gdb.VERSION}
                else:
                    reply = backtrace(request["registers"], request["all"], request["limit"])
            except gdb.error as error:
                reply = {"refused": str(error)}
            print(json.dumps(reply), file=out, flush=True)


main(*testbed_pipes)  # type: ignore[name-defined]  # noqa: F821
