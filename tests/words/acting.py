"""A child for tests: it executes each request as Python, in which `say` writes an answer."""

import os
import sys
from typing import BinaryIO


def act(requests: BinaryIO, answers: BinaryIO) -> None:
    """Do what is asked until there are no more requests."""

    def say(text: object) -> None:
        answers.write(f"{text}\n".encode())
        answers.flush()

    for line in requests:
        exec(line, {"say": say, "answers": answers})


if __name__ == "__main__":
    act(*(os.fdopen(int(number), mode) for number, mode in zip(sys.argv[1:], ("rb", "wb"), strict=True)))  # type: ignore[arg-type]
