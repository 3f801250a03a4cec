"""Hostile input: real files, texts and packets damaged on purpose, for everything of the testbed that reads them.

What comes of an input is one of two things: it is read, or there is a typed error (`testbed.words.errors`). Any other
exception, a crash, and more time or memory than `tests.hostile.trying` allows are failures.

``python -m tests.hostile`` tries many; ``corpus/`` holds the smallest inputs that failed once, and the suite tries them
all. Programs that are *generated* and judged are another thing: ``testbed fuzz``.
"""
