"""Real Linux programs as processes in the emulator, recorded as traces: see `testbed.process.process_run`."""

from testbed.process.process_run import ProcessRun, run_process
from testbed.process.tracks import Track

__all__ = ["ProcessRun", "Track", "run_process"]
