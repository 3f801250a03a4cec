"""Unwind formats: bytes of a section to rows. No register has a value here, and no memory is read."""
