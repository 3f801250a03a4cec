"""Kernels: functions that run as Python or compiled, and their machine code on disk."""
