"""The corpus: every ``NAME.c`` and ``NAME.ISA.S`` beside this file is a program (README.md has the format), and so is
every call shape that `programs.generated` lists."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from programs.generated import GENERATED
from testbed.program.model import Program, read_programs

PROGRAMS: Mapping[str, Program] = MappingProxyType({**read_programs(Path(__file__).parent), **GENERATED})
