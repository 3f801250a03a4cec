"""Tests of testbed/machine."""
