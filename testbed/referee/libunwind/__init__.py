"""nongnu libunwind."""
