"""The names of generated programs: what a user types (``gen:12``, ``genc:f64c1+f``), and what the program is called."""

from __future__ import annotations

from testbed.program.model import Language

PREFIXES = {"gen": Language.ASSEMBLY, "genc": Language.C}


def is_generated(name: str) -> bool:
    """True for ``gen:...`` and ``genc:...``."""
    prefix, colon, _ = name.partition(":")
    return bool(colon) and prefix in PREFIXES


def called(name: str) -> str:
    """The name of the program that ``gen:SEED`` or ``gen:DIRECTOR`` stands for: ``gen_SEED``, a file's name."""
    prefix, _, text = name.partition(":")
    return f"{prefix}_{text.replace('+', '_')}"
