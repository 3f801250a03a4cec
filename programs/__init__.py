"""The corpus: every ``NAME.c`` and ``NAME.ISA.S`` beside this file is a program (README.md has the format), and so is
every call shape that `programs.generated` lists. A program is read, or generated, when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from programs.generated import GENERATED
from testbed.program.model import Program, programs_in
from testbed.words.catalogue import joined

PROGRAMS: Mapping[str, Program] = joined(programs_in(Path(__file__).parent), GENERATED)
