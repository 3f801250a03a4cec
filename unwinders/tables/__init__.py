"""Strategies that believe a table in the file."""
