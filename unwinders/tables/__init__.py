"""Unwinders that believe a table in the file."""
