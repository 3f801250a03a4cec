"""Debug information: which function, line and inlined call each address of an image was made from."""

from testbed.image.debug.call_sites import CallSite, CallTarget
from testbed.image.debug.functions import Function, Inlined
from testbed.image.debug.info import DebugInfo, debug_info
from testbed.image.debug.lines import Line

__all__ = ["CallSite", "CallTarget", "DebugInfo", "Function", "Inlined", "Line", "debug_info"]
