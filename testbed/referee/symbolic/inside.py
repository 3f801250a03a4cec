"""Runs in a process of its own, with symbolic and nothing of ours: unwind tables as Breakpad's STACK CFI text.

The arguments are the folder of packages that symbolic is in and two file descriptors, of requests and replies: lines of
JSON, ``{"file": path}`` and ``{"text": "STACK CFI INIT ...", "error": ""}``.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

sys.path.insert(0, sys.argv[1])

from symbolic.cfi import CfiCache
from symbolic.debuginfo import Archive
from symbolic.exceptions import SymbolicError


def text_of(path: str) -> dict[str, Any]:
    """A file's rows as symbolic writes them (``STACK CFI``), or its error."""
    try:
        objects = list(Archive.open(path).iter_objects())
        stream = CfiCache.from_object(objects[0]).open_stream().read()
    except SymbolicError as error:
        return {"text": "", "error": f"{type(error).__name__}: {error}"}
    start = stream.find(b"STACK CFI")  # behind a short binary header
    return {"text": stream[start:].decode("ascii", "replace") if start >= 0 else "", "error": ""}


def main() -> None:
    """Answer requests, a line of JSON each, until the pipe ends."""
    requests, replies = int(sys.argv[2]), int(sys.argv[3])
    with os.fdopen(requests, encoding="ascii") as asked, os.fdopen(replies, "w", encoding="ascii") as answers:
        for line in asked:
            print(json.dumps(text_of(json.loads(line)["file"])), file=answers, flush=True)


if __name__ == "__main__":
    main()
