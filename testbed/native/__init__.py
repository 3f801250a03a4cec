"""Compiled functions: the decorators that make them, and their machine code on disk."""
