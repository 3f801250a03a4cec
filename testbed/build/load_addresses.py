"""Where assembly programs lie in memory, whoever assembles them: equal code then means equal bytes."""

from __future__ import annotations

PAGE = 0x1000
IMAGE_BASE = 0x40_0000  # the file header
TEXT_BASE = 0x41_0000  # the first instruction
ZEROED_BASE = 0x48_0000  # .bss: near enough for any branch, far enough for any program
