"""The same for every step of a trace: rows coded as columns, applied by compiled code."""
