"""The letters of director strings (`testbed.generate.program`), with the fields of a function that they stand for."""

from __future__ import annotations

NUMBERED = {"r": "saved", "a": "alloca", "v": "vla", "o": "align", "s": "recursion"}
FLAGS = {"p": "pointer", "d": "sub_first", "e": "early", "m": "ends"}
ORDER = "rpdavoems"
