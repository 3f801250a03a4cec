"""minidump-stackwalk."""
