"""Unwinders that only run inside a process, executed in the emulator as a profiler executes them."""
