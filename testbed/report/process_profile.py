"""Sampled profiles of a process for speedscope: the true one and each strategy's, one profile each.

The format is speedscope's "sampled" one: frames by name, and per sample the indexes of its frames, outermost first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed.profiling.samples import SampledProfile
from testbed.report.timeline import SPEEDSCOPE


def profile_data(title: str, profiles: Sequence[SampledProfile]) -> dict[str, Any]:
    """The profiles as JSON data; a sample weighs as many steps as lie between two."""
    frames: dict[str, int] = {}
    made = []
    for each in profiles:
        stacks = sorted(each.stacks.items())
        weights = [count * each.every for _, count in stacks]
        samples = [[frames.setdefault(name, len(frames)) for name in stack] for stack, _ in stacks]
        made.append(
            {
                "type": "sampled",
                "name": each.name,
                "unit": "none",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        )
    return {
        "$schema": SPEEDSCOPE,
        "name": title,
        "exporter": "testbed",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": made,
    }


def write_profile(title: str, profiles: Sequence[SampledProfile], path: Path) -> None:
    """Write them to ``path``."""
    path.write_text(json.dumps(profile_data(title, profiles), separators=(",", ":")) + "\n", encoding="utf-8")
