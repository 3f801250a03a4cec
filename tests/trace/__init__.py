"""Tests of recorded traces and of their files."""
