"""The truth about runs that are too long to hold, window by window."""
