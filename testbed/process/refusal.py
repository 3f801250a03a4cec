"""A system call that Linux would refuse: the error number that the program gets."""

from __future__ import annotations

import errno


class Refusal(Exception):
    """Raised inside a system call; the program sees ``-number``. Never leaves the room.

    ``path`` is what the host has and the run does not show, where an open is refused for that.
    """

    path = ""

    def __init__(self, number: int) -> None:
        super().__init__(errno.errorcode.get(number, str(number)))
        self.number = number
