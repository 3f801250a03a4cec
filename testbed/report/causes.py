"""Why strategies differ, each cause told once: a letter where it applies, the sentence and its reference below."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text


class Causes:
    """Letters for (sentence, reference), in the order in which they were asked for."""

    def __init__(self) -> None:
        self._letters: dict[tuple[str, str], str] = {}

    def letter(self, because: str, reference: str) -> str:
        """``[a]``, then ``[b]``; after ``[z]`` comes ``[aa]``."""
        if (because, reference) not in self._letters:
            self._letters[because, reference] = _letters(len(self._letters))
        return f"[{self._letters[because, reference]}]"

    def lines(self) -> Iterator[Text]:
        """A heading and every cause; nothing where there are none."""
        if self._letters:
            yield Text("\nwhy", "bold")
        for (because, reference), letter in self._letters.items():
            yield Text.assemble(f"[{letter}] {because}", (f"\n    {reference}", "dim"))


def _letters(number: int) -> str:
    return (_letters(number // 26 - 1) if number >= 26 else "") + chr(ord("a") + number % 26)
