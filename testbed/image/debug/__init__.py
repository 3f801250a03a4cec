"""Debug information: which function, line and inlined call each address of an image was made from."""

from testbed.image.debug.info import DebugInfo, debug_info

__all__ = ["DebugInfo", "debug_info"]
