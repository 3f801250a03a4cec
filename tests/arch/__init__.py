"""Tests of the architecture tables."""
