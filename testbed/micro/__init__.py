"""Functions of any file called alone, without their program, its inputs or its operating system.

Source of the idea: Godefroid, "Micro Execution" (ICSE 2014); of forcing branches to reach more: Peng et al., "X-Force"
(USENIX Security 2014).
"""
