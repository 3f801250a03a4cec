"""clang, as the writer of tables."""
