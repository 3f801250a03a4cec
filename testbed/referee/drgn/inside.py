"""Runs in a process of its own, with drgn and nothing of ours: opens core files and tells drgn's stack traces.

The arguments are the folder of packages that drgn is in and two file descriptors, of requests and replies: lines of
JSON::

    {"core": path, "files": [[path, start, end], ...], "most": 1024}
    {"frames": [{"pc": 4259899, "interrupted": true, "registers": {"rip": 4259899, ...}}, ...], "error": ""}

A frame whose pc drgn does not know has ``pc`` null.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

sys.path.insert(0, sys.argv[1])

import drgn


def frames_of(request: dict[str, Any]) -> dict[str, Any]:
    """drgn's frames of a core file: pc, CFA and registers of each, or why it gave none."""
    program = drgn.Program()
    program.set_core_dump(request["core"])
    for number, (path, start, end) in enumerate(request["files"]):
        module = program.extra_module(path, number, create=True)
        module = module[0] if isinstance(module, tuple) else module
        module.address_ranges = [(start, end)]
        module.try_file(path, force=True)  # force: these files have no build id
    found: list[dict[str, Any]] = []
    try:
        for frame in next(iter(program.threads())).stack_trace():
            try:
                pc = frame.pc
            except LookupError:
                pc = None
            if frame.is_inline:
                continue  # no frame on the stack: debug information says that it was a call
            found.append({"pc": pc, "interrupted": frame.interrupted, "registers": frame.registers()})
            if len(found) >= request["most"]:
                break
    except Exception as error:  # what drgn raises is what it says; BadDataError is no class of its own package
        return {"frames": found, "error": f"{type(error).__name__}: {error}"}
    return {"frames": found, "error": ""}


def main() -> None:
    """Answer requests, a line of JSON each, until the pipe ends."""
    requests, replies = int(sys.argv[2]), int(sys.argv[3])
    with os.fdopen(requests, encoding="ascii") as asked, os.fdopen(replies, "w", encoding="ascii") as answers:
        for line in asked:
            print(json.dumps(frames_of(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
