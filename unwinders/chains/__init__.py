"""Strategies that follow frame records, link registers and shadow stacks."""
