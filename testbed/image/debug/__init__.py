"""Debug information: which function, line and inlined call each address of an image was made from.

It is read here and not by pyelftools, which reads the ELF files themselves. Of 300 programs with one to three damaged
bytes in these sections, pyelftools 0.33 left 55 with a bare KeyError or AssertionError, and 86 more with an error that
ends the reading. Here every read is bounded and every error names section and offset, and what is undamaged is still
found. Ranges, inlined calls, call sites and lines by address would have to be made from its entries all the same; and
a small program takes it four times as long.
"""

from testbed.image.debug.info import DebugInfo, debug_info, says_conventions

__all__ = ["DebugInfo", "debug_info", "says_conventions"]
