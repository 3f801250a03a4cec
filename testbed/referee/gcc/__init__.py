"""GCC, as the writer of tables."""
