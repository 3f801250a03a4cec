"""Unwind tables held against what code really does: any function of any file, and every step of a watched run."""
