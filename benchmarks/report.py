"""The results of one run of the suite: as JSON, as Markdown."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.table import FigureTable

_PACKAGES = ("unicorn", "numpy", "numba", "capstone", "ziglang")
_HEAD = """# Results of the benchmarks

Written by `python -m benchmarks {options}`, {date}; not edited by hand.

{machine}

A ratio is the median of paired rounds: the things compared were timed in turns in one process tree, in an order that
rotates, and each round gives one ratio. A range is the least and the most of the rounds. Absolute times are of this
machine, and of that day. Rounds: {rounds}.
"""


def described_machine() -> str:
    """The machine and the versions, in words."""
    parts = (f"{package} {_version(package)}" for package in _PACKAGES)
    return (
        f"{os.cpu_count()} cores, {_processor()}, {_memory():.0f} GB of memory, {platform.system()} "
        f"{platform.release().partition('-')[0]}. {platform.python_implementation()} {platform.python_version()}, "
        f"{', '.join(parts)}."
    )


def as_data(tables: Sequence[FigureTable], *, date: str, rounds: int) -> dict[str, Any]:
    """Everything measured, as plain data."""
    return {
        "date": date,
        "machine": described_machine(),
        "rounds": rounds,
        "tables": {table.key: table.data() for table in tables},
    }


def as_markdown(tables: Sequence[FigureTable], *, date: str, rounds: int, options: str) -> str:
    """The page that is committed as RESULTS.md."""
    head = _HEAD.format(options=options, date=date, machine=described_machine(), rounds=rounds)
    return "\n".join([head, *(table.markdown() for table in tables)])


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    name = facts.get("model name", platform.machine())
    family, speed = facts.get("cpu family"), facts.get("cpu MHz")
    more = [f"family {family}"] if family else []
    more += [f"{float(speed) / 1000:.1f} GHz"] if speed else []
    more += ["a virtual machine"] if "hypervisor" in facts.get("flags", "") else []
    return f"{name} ({', '.join(more)})" if more else name


def _memory() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9 if sys.platform == "linux" else 0.0


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
