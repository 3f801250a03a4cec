"""Linux perf."""
