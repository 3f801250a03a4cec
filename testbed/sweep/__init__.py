"""Many files: every entry of their unwind tables held against the instructions, without executing any."""
