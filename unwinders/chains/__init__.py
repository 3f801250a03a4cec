"""Unwinders that follow frame records, link registers and shadow stacks."""
