"""gdb's remote protocol: a snapshot that is looked at, a recorded run that is moved about in. Nothing executes."""

from testbed.remote.packets import Answer, listen, serve, serving
from testbed.remote.replay import Replay
from testbed.remote.snapshot_target import ShownSnapshot, triple

__all__ = ["Answer", "Replay", "ShownSnapshot", "listen", "serve", "serving", "triple"]
