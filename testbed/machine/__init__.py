"""The machine: the only room that drives the emulator. From a loaded image to a recorded trace."""

from testbed.machine.python_hooks import record_light
from testbed.machine.recording import record
from testbed.machine.start import Machine, plant, start_machine
from testbed.machine.tape import Recorder, Tape

__all__ = ["Machine", "Recorder", "Tape", "plant", "record", "record_light", "start_machine"]
