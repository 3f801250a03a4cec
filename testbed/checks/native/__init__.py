"""Rows held against the truth, compiled: every visit of every instruction."""
