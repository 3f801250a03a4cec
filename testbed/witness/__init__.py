"""A second witness of the truth: who calls whom, found by following every return address from its birth to its use.

It shares nothing with `testbed.truth`, which watches effects: no rule, no table, no code.
"""

from testbed.witness.stacks import attest
from testbed.witness.testimony import Seen, Testimony, Whereabouts

__all__ = ["Seen", "Testimony", "Whereabouts", "attest"]
