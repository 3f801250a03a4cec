"""The corpus: every ``NAME.c`` and ``NAME.ISA.S`` beside this file is a program. README.md has the format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from testbed.program import Program, read_programs

PROGRAMS: Mapping[str, Program] = read_programs(Path(__file__).parent)
