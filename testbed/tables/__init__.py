"""Unwind tables held against each other and against a run."""
