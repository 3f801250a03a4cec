"""The benchmark suite: `python -m benchmarks`, from the root of the repository.

Every number that matters is a ratio of two things that were timed in turns in the same process tree, so that a busy
or slow machine changes both alike. Absolute times stand beside them for orientation.
"""
