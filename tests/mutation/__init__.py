"""How much of the referee the tests hold: small changes made on purpose, and whether a test notices each.

cosmic-ray finds the places and makes the changes. It was chosen over mutmut because each of its mutants is a plain
edit of one file, tested in a fresh process: it can be repeated by hand, and it reaches code that is imported while
pytest starts, or run in forked workers. mutmut instruments modules in place and decides inside one process, which such
code escapes. Kernels are changed as all code is: they run as plain Python then.
"""
