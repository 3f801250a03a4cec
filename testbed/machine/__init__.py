"""The machine: the only room that drives the emulator. From a loaded image to a recorded trace."""

from testbed.machine.recording import Recorder, Tape, record, record_light
from testbed.machine.start import Machine, initial_registers, start_machine

__all__ = ["Machine", "Recorder", "Tape", "initial_registers", "record", "record_light", "start_machine"]
