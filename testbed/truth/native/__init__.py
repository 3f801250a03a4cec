"""The rules of the truth compiled, for traces of millions of steps."""
