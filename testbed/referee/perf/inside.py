"""Runs inside `perf script`: tells the addresses that perf has for a sample, innermost first, as a line of JSON.

``perf script -s`` calls `process_event` for each sample. Where the line goes says an environment variable: standard
output is perf's own.
"""

from __future__ import annotations

import json
import os
from typing import Any

_REPLIES = os.fdopen(int(os.environ["TESTBED_REPLIES"]), "w", encoding="ascii")


def process_event(event: dict[str, Any]) -> None:
    """perf's callback for a sample: write its call chain, addresses from the innermost out, as a line of JSON."""
    print(json.dumps([each["ip"] for each in event["callchain"]]), file=_REPLIES, flush=True)
