"""gdb's remote protocol: a snapshot that is looked at, a recorded run that is moved about in. Nothing executes."""

from testbed.remote.packets import converse, listen
from testbed.remote.replay import Replay
from testbed.remote.shown import Shown

__all__ = ["Replay", "Shown", "converse", "listen"]
